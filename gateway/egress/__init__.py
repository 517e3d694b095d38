"""Egress: the one way out. `Egress.request` fetches a URL, guarded against everything that is not a public web server.

    response = await Egress(decide=policy).request("GET", "https://example.com/", timeout_ms=5000, max_response_bytes=1 << 20)

`targets` says which URLs and addresses, `client` shows the way of a request, `exchanges` speaks HTTP/1.1.
"""

from gateway.egress.client import Decide, Egress, Resolve, Response, resolve
from gateway.egress.errors import EgressError, EgressFailed, EgressRefused
from gateway.egress.targets import Target, parse

__all__ = [
    "Decide",
    "Egress",
    "EgressError",
    "EgressFailed",
    "EgressRefused",
    "Resolve",
    "Response",
    "Target",
    "parse",
    "resolve",
]
