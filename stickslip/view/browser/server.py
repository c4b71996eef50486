"""Web server of the viewer: on exactly the requested port, by default reachable only from this machine.

Other web pages in a browser of this machine cannot read it: requests with foreign host names are refused, and
orders require a header that pages of other origins cannot send.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
import threading
from abc import ABC, abstractmethod
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

PORTS = 65535
"""Largest port number."""
HTML, TEXT, BYTES = "text/html; charset=utf-8", "text/plain; charset=utf-8", "application/octet-stream"


class ViewerError(RuntimeError):
    """The viewer cannot be opened; the message says what to do."""


class Answer(NamedTuple):
    """Answer to a request."""

    body: bytes
    kind: str = TEXT
    """Media type of the body."""
    status: int = 200


NOTHING = Answer(b"not found", status=404)


class Served(ABC):
    """Base class of servers, which run until they are closed; use it in a `with` statement."""

    def __init__(self, host: str, port: int):
        address = _address(host, port)
        self._names = {host.lower(), "localhost"}
        self._ended = threading.Event()
        self._server = _opened(host, address, port, self._answered, self._ended)
        self.port = int(self._server.server_address[1])
        """Port of the server."""
        self.url = _url(address, self.port)
        """Address of the page."""
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.name = "stickslip viewer"
        self._thread.start()

    @abstractmethod
    def answer(self, path: str, query: dict[str, str]) -> Answer:
        """Answer a request for a path."""

    def order(self, name: str) -> None:  # noqa: B027 (only pages with buttons give orders)
        """Execute the order of a button of the page."""

    def wait(self) -> None:
        """Wait until the server is closed; a KeyboardInterrupt is raised to the caller."""
        while not self._ended.wait(0.5):
            pass

    def close(self) -> None:
        """End the server; repeated calls have no effect."""
        if not self._ended.is_set():
            self._ended.set()
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    def _answered(self, request: BaseHTTPRequestHandler) -> Answer:
        """Check that a request comes from a page of this server, and answer it."""
        host = urlsplit(f"//{request.headers.get('Host', '')}").hostname or ""
        if host not in self._names and not _is_address(host):
            return Answer(b"this name is not of this machine", status=403)
        parts = urlsplit(request.path)
        if request.command == "POST":
            if "X-Stickslip" not in request.headers:
                return Answer(b"not from a page of the viewer", status=403)
            self.order(request.headers["X-Stickslip"])
            return Answer(b"done")
        return self.answer(parts.path, {key: values[0] for key, values in parse_qs(parts.query).items()})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def is_local(host: str) -> bool:
    """Whether servers at `host` are reachable only from this machine."""
    try:
        return ipaddress.ip_address(_address(host, 0)).is_loopback
    except ViewerError:
        return False


def _opened(host: str, address: str, port: int, answer: Any, ended: threading.Event) -> ThreadingHTTPServer:
    """Open a server; raise a ViewerError if the port cannot be used."""

    class Handler(BaseHTTPRequestHandler):
        """Forwards requests to `answer`, without logging."""

        protocol_version = "HTTP/1.1"
        timeout = 60.0

        def do_GET(self) -> None:
            reply = answer(self)
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.kind)
            self.send_header("Content-Length", str(len(reply.body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("X-Frame-Options", "SAMEORIGIN")
            if ended.is_set():  # the next request may be for another server at this port
                self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)

        do_HEAD = do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        """Server with one daemon thread per connection."""

        daemon_threads = True
        block_on_close = False
        address_family = socket.AF_INET6 if ":" in address else socket.AF_INET

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Ignore errors of closed connections."""

        def server_bind(self) -> None:
            """Bind the socket without a lookup of the host name, which may be slow."""
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind(self.server_address)
            self.server_address = self.socket.getsockname()

    try:
        return Server((address, port), Handler)
    except OSError as error:
        raise _unopened(host, port, error) from None


def _url(address: str, port: int) -> str:
    """Address of the page for a browser on this machine."""
    ip = ipaddress.ip_address(address)
    if ip.is_unspecified:
        ip = ipaddress.ip_address("127.0.0.1" if ip.version == 4 else "::1")
    return f"http://{ip if ip.version == 4 else f'[{ip}]'}:{port}"


def _is_address(host: str) -> bool:
    """Whether a host name is a numeric address, which DNS rebinding cannot use."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _address(host: str, port: int) -> str:
    """Address of a host of this machine; raise a ViewerError for unknown hosts and invalid ports."""
    if not 0 <= port <= PORTS:
        raise ViewerError(f"port {port} is no port: take one from 1 to {PORTS}, or 0 for any that is free")
    try:
        addresses = socket.getaddrinfo(host or "?", port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ViewerError(
            f"host {host!r} is not known: take 127.0.0.1, or an address of this machine"
        ) from None
    return str(sorted(addresses, key=lambda address: address[0] != socket.AF_INET)[0][4][0])


def _unopened(host: str, port: int, error: OSError) -> ViewerError:
    """Error of a server that cannot be opened, with a remedy."""
    if error.errno == errno.EADDRINUSE:
        return ViewerError(
            f"port {port} on {host} is in use: take another with --port N (0: any that is free)"
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return ViewerError(f"host {host!r} is not an address of this machine: take 127.0.0.1")
    reason = (error.strerror or str(error)).lower()
    return ViewerError(f"port {port} on {host} cannot be opened: {reason}")
