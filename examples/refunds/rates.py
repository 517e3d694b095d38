"""A web service with exchange rates, for the example alone."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Rates(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"currency": self.path.rsplit("/", 1)[-1], "per_eur": 1.1}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


def serve(port: int = 0) -> ThreadingHTTPServer:
    return ThreadingHTTPServer(("127.0.0.1", port), Rates)
