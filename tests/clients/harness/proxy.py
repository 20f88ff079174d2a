"""A forwarding proxy that adds our Authorization header, because the conformance suite cannot be told to send one.

Everything else passes through as it came, Host and Origin included: the suite attacks with those.
"""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}


def reserve_proxy() -> "QuietServer":
    """Takes a port before there is anything to forward to: Mnemon has to be told at its start which pages may call."""
    return QuietServer(("127.0.0.1", 0), BaseHTTPRequestHandler)


def origins_of(server: "QuietServer") -> list[str]:
    """The suite calls from pages of the proxy's own address, under either name of this machine."""
    return [f"http://{host}:{server.server_port}" for host in ("127.0.0.1", "localhost")]


@contextmanager
def proxy_with_key(server: "QuietServer", upstream_url: str, key: str) -> Iterator[str]:
    """Yields the proxy's own base address."""
    server.RequestHandlerClass = handler_for(urlsplit(upstream_url).netloc, key)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, *_arguments: object) -> None:
        """The suite drops connections as it pleases; what matters to it shows in its own results."""


def handler_for(upstream: str, key: str) -> type[BaseHTTPRequestHandler]:
    class Forward(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            connection = http.client.HTTPConnection(upstream, timeout=60)
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in HOP_BY_HOP:
                    connection.putheader(name, value)
            connection.putheader("Authorization", f"Bearer {key}")
            if body:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            self.answer(connection.getresponse())
            connection.close()

        def answer(self, response: http.client.HTTPResponse) -> None:
            body = response.read()
            self.send_response_only(response.status)
            for name, value in response.getheaders():
                if name.lower() not in HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = do_OPTIONS = forward

        def log_message(self, *_arguments: object) -> None:
            """Silent: the report is the only output."""

    return Forward
