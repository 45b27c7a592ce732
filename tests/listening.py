"""A server of a test's own on loopback, whose handler says what it answers."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Quiet(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@contextmanager
def listening(handler: type[Quiet], *, tls: Path | None = None) -> Iterator[str]:
    """The address at which it listens; `tls` is a folder with a certificate and its key."""
    listener = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls / "cert.pem", tls / "key.pem")
        listener.socket = context.wrap_socket(listener.socket, server_side=True)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{listener.server_port}"
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()
