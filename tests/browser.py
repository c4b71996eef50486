"""Headless Chromium for tests of pages, controlled over a pipe by its DevTools protocol.

The browser ends with the process that started it, because its pipe breaks. Only the loopback host is
resolved, so that no request of a page leaves the machine.
"""

import base64
import contextlib
import fcntl
import io
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

FLAGS = (
    "--headless", "--no-sandbox", "--no-first-run", "--no-default-browser-check", "--disable-quic",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-breakpad", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
    "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--remote-debugging-pipe",
)  # fmt: skip
HAND_OVER = """
import os, sys
for k, fd in enumerate(sys.argv[1:3]):
    os.dup2(int(fd), 3 + k)
    os.close(int(fd))
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Script that starts Chromium with its pipes at descriptors 3 and 4, which are free only in a new process."""
LONG = 60.0
"""Time limit of waiting [s]; software WebGL on a busy machine is slow."""
KEYS = {
    " ": ("Space", 32),
    "Enter": ("Enter", 13),
    "ArrowLeft": ("ArrowLeft", 37),
    "ArrowRight": ("ArrowRight", 39),
}


class Chromium:
    """The browser: its process group, and the exchange of messages with it."""

    def __init__(self, profile: Path) -> None:
        """Start the browser with a new profile in the folder `profile`."""
        assert CHROMIUM is not None
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        self._rest, self._count = b"", 0
        self.events: list[dict[str, Any]] = []
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (theirs_in, theirs_out)]
        hand_over = [sys.executable, "-I", "-S", "-c", HAND_OVER, *map(str, high)]
        command = [*hand_over, CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._log = (profile.parent / f"{profile.name}.log").open("wb")
        self._process = subprocess.Popen(
            command, pass_fds=high, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._log,
        )  # fmt: skip
        for fd in (theirs_in, theirs_out, *high):
            os.close(fd)
        self.call("Browser.getVersion")

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a message and return the result; events that arrive before it are stored."""
        self._count += 1
        number = self._count
        message = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        until = time.monotonic() + LONG
        while True:
            for answer in self._messages(until - time.monotonic()):
                if answer.get("id") == number:
                    assert "error" not in answer, f"{method}: {answer['error']['message']}"
                    return dict(answer["result"])
            assert time.monotonic() < until, f"Chromium did not answer {method} within {LONG:g} s"

    def _messages(self, seconds: float) -> list[dict[str, Any]]:
        """Return received messages, after waiting at most `seconds`; events are also added to `events`."""
        if select.select([self._in], [], [], max(0.0, seconds))[0]:
            data = os.read(self._in, 1 << 20)
            assert data, "Chromium has ended"
            self._rest += data
        *complete, self._rest = self._rest.split(b"\0")
        messages = [json.loads(message) for message in complete]
        self.events += [message for message in messages if "method" in message]
        return messages

    @contextlib.contextmanager
    def page(self, url: str | Path, width: int = 900, height: int = 600) -> Iterator["Page"]:
        """Context with a loaded page of an address or a file."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        try:
            for domain in ("Page", "Runtime", "Log", "Network"):
                page.call(f"{domain}.enable")
            metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            page.call("Emulation.setDeviceMetricsOverride", **metrics)
            page.call("Page.navigate", url=url.as_uri() if isinstance(url, Path) else url)
            page.wait("document.readyState === 'complete' && location.href !== 'about:blank'")
            yield page
        finally:
            self.call("Target.closeTarget", targetId=target)

    def close(self) -> None:
        """End the browser and its descendants, which are in its session."""
        for fd in (self._out, self._in):
            os.close(fd)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()


class Page:
    """An open page: evaluation of JavaScript, screenshots and input."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser, self._session = browser, session

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send any message of the protocol to this page; return the result."""
        return self._browser.call(method, self._session, **params)

    def js(self, expression: str) -> Any:
        """Return the value of an expression as JSON data; promises are awaited."""
        options = {"returnByValue": True, "awaitPromise": True, "userGesture": True}
        answer = self.call("Runtime.evaluate", expression=expression, **options)
        assert "exceptionDetails" not in answer, f"{expression}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def wait(self, condition: str, seconds: float = LONG) -> Any:
        """Wait until an expression is true and return its value; the test fails after `seconds`."""
        value = self.found(condition, seconds)
        assert value, f"not within {seconds:g} s: {condition}\n{self.faults()}"
        return value

    def found(self, condition: str, seconds: float) -> Any:
        """Wait until an expression is true and return its value, or a false value after `seconds`."""
        until = time.monotonic() + seconds
        plain = f"(found => found instanceof Node ? true : found)({condition})"
        while not (value := self.js(plain)) and time.monotonic() < until:
            time.sleep(0.05)
        return value

    def frames(self, count: int = 2) -> None:
        """Wait until the page has drawn `count` frames."""
        step = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        for _ in range(count):
            self.js(f"{step}.then(() => true)")

    def picture(self) -> np.ndarray:
        """Return a screenshot as bytes of red, green and blue, shape (height, width, 3)."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        pixels = matplotlib.image.imread(io.BytesIO(data), format="png")
        return np.round(255.0 * pixels[:, :, :3]).astype(np.uint8)

    def place(self, selector: str) -> tuple[float, float, float, float]:
        """Return left, top, width and height of the first element of a selector [px]."""
        box = "(e => {const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height];})"
        left, top, width, height = self.js(f"{box}(document.querySelector({json.dumps(selector)}))")
        return left, top, width, height

    def click(self, x: float, y: float) -> None:
        """Press and release at a point of the page."""
        self.drag((x, y))

    def drag(self, *points: tuple[float, float]) -> None:
        """Press at the first point, move through the others, release at the last."""
        self._mouse("mouseMoved", *points[0])
        self._mouse("mousePressed", *points[0], button="left", clickCount=1)
        for point in points[1:]:
            self._mouse("mouseMoved", *point, button="left", buttons=1)
        self._mouse("mouseReleased", *points[-1], button="left", clickCount=1)

    def _mouse(self, kind: str, x: float, y: float, **options: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **options)

    def press(self, key: str) -> None:
        """Press and release a key of `KEYS`."""
        code, number = KEYS[key]
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        names = {"key": key, "code": code, "windowsVirtualKeyCode": number}
        self.call("Input.dispatchKeyEvent", type="keyDown", **names, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **names)

    def write(self, selector: str, text: str) -> None:
        """Replace the text of an input element, as if typed."""
        self.js(
            f"(e => {{e.focus(); e.select(); return 1;}})(document.querySelector({json.dumps(selector)}))"
        )
        self.call("Input.insertText", text=text)

    def faults(self) -> list[str]:
        """Return errors on the console, uncaught exceptions, and errors of the browser."""
        errors = []
        for params in self._events("Runtime.exceptionThrown"):
            details = params["exceptionDetails"]
            errors.append(str(details.get("exception", {}).get("description", details["text"])))
        for params in self._events("Runtime.consoleAPICalled"):
            if params["type"] in ("error", "assert"):
                errors.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        entries = [params["entry"] for params in self._events("Log.entryAdded")]
        return errors + [f"{e['text']} {e.get('url', '')}" for e in entries if e["level"] == "error"]

    def requests(self) -> list[str]:
        """Return the requested addresses, without data within the page."""
        urls = [params["request"]["url"] for params in self._events("Network.requestWillBeSent")]
        return [url for url in urls if not url.startswith(("data:", "blob:"))]

    def _events(self, method: str) -> list[dict[str, Any]]:
        self.js("1")  # receive all previous events
        events = (e for e in self._browser.events if e.get("sessionId") == self._session)
        return [e["params"] for e in events if e["method"] == method]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A browser for the tests of one file."""
    browser = Chromium(tmp_path_factory.mktemp("chromium") / "profile")
    try:
        yield browser
    finally:
        browser.close()
