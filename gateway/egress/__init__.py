"""Egress: the one way out. `Egress.request` fetches a URL, guarded against everything that is not a public web server.

In reading order: `targets` (which URLs and addresses), `client` (the way of a request), `http1_exchange` (HTTP/1.1 over one
connection), `proxy` (for programs without a network), `peer_gateway` (the client for another gateway, and its event stream),
`errors`.
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
