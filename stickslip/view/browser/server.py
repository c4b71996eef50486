"""The web server of a viewer: on exactly the asked port, quiet, and not shared with the world."""

from __future__ import annotations

import errno
import io
import ipaddress
import socket
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from stickslip.extras import MissingPackage, needed

if TYPE_CHECKING:
    from viser import ViserServer

PORTS = 65535
"""The largest port."""


class ViewerError(RuntimeError):
    """The viewer cannot be opened; the message says what to do."""


def open_server(host: str = "127.0.0.1", port: int = 8080) -> ViserServer:
    """A server of viser at `host` and `port` (0: any that is free); `close_server` ends it.

    viser would take the next port when one is in use, and wait for ever on a host that is not this machine's;
    here both are a ViewerError, as is a viser that is not installed.
    """
    try:
        server_class: Any = needed("viser", "the viewer").ViserServer
    except MissingPackage as error:
        raise ViewerError(str(error)) from None

    class LocalServer(server_class):  # type: ignore[misc]
        """Whoever reaches a server of viser may ask it to open a tunnel to the world; not this one."""

        def request_share_url(self, verbose: bool = True) -> None:
            return None

    address = _address(host, port)
    with _silence():
        server = LocalServer(host=address, port=port, label="stickslip", verbose=False)
    if port not in (0, server.get_port()):  # somebody took it meanwhile
        close_server(server)
        raise _in_use(host, port)
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    return server


class Served(ABC):
    """What a server shows until it is closed; use it in a `with` statement."""

    def __init__(self, host: str, port: int):
        self._server: Any = open_server(host, port)
        self.url = server_url(self._server)
        """Where to point a browser."""
        self.port = int(self._server.get_port())
        """The port at which it serves."""
        try:
            self._open()
        except BaseException:  # nobody would be left to end the server
            close_server(self._server)
            raise

    @abstractmethod
    def _open(self) -> None:
        """Build the scene and the panel."""

    @abstractmethod
    def close(self) -> None:
        """End the server; once is enough."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def close_server(server: ViserServer) -> None:
    """End a server and the connections to it; without a word."""
    with _silence():
        server.stop()


def server_url(server: ViserServer) -> str:
    """Where to point a browser of this machine."""
    address = ipaddress.ip_address(server.get_host())
    if address.is_unspecified:
        address = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")
    return f"http://{address if address.version == 4 else f'[{address}]'}:{server.get_port()}"


def is_local(host: str) -> bool:
    """Whether only this machine reaches servers at `host`."""
    try:
        return ipaddress.ip_address(_address(host, 0)).is_loopback
    except ViewerError:
        return False


@contextmanager
def _silence() -> Iterator[None]:
    """viser greets and takes its leave on stdout; in notebooks its console displays that past stdout."""
    import rich

    console = rich.get_console()
    quiet, console.quiet = console.quiet, True
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        console.quiet = quiet


def _address(host: str, port: int) -> str:
    """The address of a host of this machine at which the port is free; ViewerError if there is none."""
    if not 0 <= port <= PORTS:
        raise ViewerError(f"port {port} is no port: take one from 1 to {PORTS}, or 0 for any that is free")
    try:
        found = socket.getaddrinfo(host or "?", port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ViewerError(
            f"host {host!r} is not known: take 127.0.0.1, or an address of this machine"
        ) from None
    family, kind, protocol, _, where = sorted(found, key=lambda one: one[0] != socket.AF_INET)[0]
    try:
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(where)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise _in_use(host, port) from None
        if error.errno == errno.EADDRNOTAVAIL:
            raise ViewerError(f"host {host!r} is not an address of this machine: take 127.0.0.1") from None
        reason = (error.strerror or str(error)).lower()
        raise ViewerError(f"port {port} on {host} cannot be opened: {reason}") from None
    return str(where[0])


def _in_use(host: str, port: int) -> ViewerError:
    return ViewerError(f"port {port} on {host} is in use: take another with --port N (0: any that is free)")
