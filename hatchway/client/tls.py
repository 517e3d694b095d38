"""Which gateways the clients believe, and how they show who they are, over HTTPS.

    Client("https://gateway.example:8484", verify="ca.pem", cert=("client.pem", "client.key"))

Rules: certificates are always checked, by the usual authorities or only by the ones named. Defaults are HATCHWAY_CA and
HATCHWAY_CERT. A client's certificate is a PEM file with its key, or two: as a text CERTIFICATE:KEY. Slow imports are inside of
functions.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any, TypeAlias, Union

if TYPE_CHECKING:
    from ssl import SSLContext

    from sandbox.errors import RequestError

Place: TypeAlias = str | os.PathLike[str]
Verify: TypeAlias = Union[Place, "SSLContext", None]
Cert: TypeAlias = Place | tuple[Place, Place] | None


def build_trust(url: str, verify: Verify, cert: Cert) -> SSLContext | bool:
    """What an HTTP client checks with; True is its own default. Plain HTTP gets a context without authorities: reading the usual
    ones takes longer than many a request."""
    import ssl

    import httpx2 as httpx

    verify = os.environ.get("HATCHWAY_CA") or None if verify is None else verify
    cert = os.environ.get("HATCHWAY_CERT") or None if cert is None else cert
    if verify is None and cert is None:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if url.startswith("http:") else True
    if isinstance(verify, bool):
        raise _refuse("verify must name a file with certificates", "certificates are always checked")
    if isinstance(verify, ssl.SSLContext):
        context = verify
    elif verify is None:
        context = httpx.create_ssl_context(trust_env=False)
    else:
        context = _load_authorities(verify)
    if cert is not None:
        _load_certificate(context, cert)
    return context


def _load_authorities(verify: Place) -> SSLContext:
    import ssl

    try:
        path = os.fspath(verify)
        is_folder = os.path.isdir(path)
        return ssl.create_default_context(capath=path if is_folder else None, cafile=None if is_folder else path)
    except (OSError, TypeError) as error:  # an ssl.SSLError is an OSError
        raise _refuse(f"no certificates of authorities in {str(verify)[:200]}: {_explain(error)}") from None


def _load_certificate(context: SSLContext, cert: Cert) -> None:
    parts: tuple[Any, ...] = cert if isinstance(cert, tuple) else (cert, None)
    if isinstance(cert, str) and not os.path.exists(cert) and ":" in cert:
        parts = tuple(cert.split(":", 1))
    try:
        certificate, key = parts
        context.load_cert_chain(certificate, key, password="")
    except (OSError, TypeError, ValueError) as error:
        where = " and ".join(str(part)[:200] for part in parts if part is not None)
        said = f"no certificate with its key in {where}: {_explain(error)}"
        raise _refuse(said, "PEM, not encrypted; two files are written CERTIFICATE:KEY") from None


def _refuse(message: str, hint: str | None = None) -> RequestError:
    from sandbox.errors import RequestError

    return RequestError("INVALID_ARGUMENT", message, hint)


def _explain(error: Exception) -> str:
    return getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error) or "it is not PEM"


def add_options(parser: argparse.ArgumentParser, default: str | None) -> None:
    """Where a gateway is, who asks it, and which certificates count."""
    for option, metavar, help in (
        ("--url", "URL", "the gateway (default HATCHWAY_URL, or http://127.0.0.1:8484)"),
        ("--token", "TOKEN", "an API token (default HATCHWAY_TOKEN; other users of the machine can see what is typed here)"),
        ("--tenant", "ID", "for an admin: the tenant to act for (default HATCHWAY_TENANT, or the token's own)"),
        ("--ca", "FILE", "PEM: trust these certificate authorities and no others (default HATCHWAY_CA, or the usual ones)"),
        ("--cert", "FILE[:KEY]", "PEM: the certificate to show, with its key (default HATCHWAY_CERT)"),
    ):
        parser.add_argument(option, default=default, metavar=metavar, help=help)
