"""Constants of the language: units, hosts and paths in normal form.

The one place where `policy` decides whether a host or a path is well formed: total functions that return None (or a code of the
check that failed) instead of raising.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

SIZE_UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
DURATION_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
RATE_UNITS_S = {"s": 1, "min": 60, "h": 3600, "day": 86_400}
INT_MIN, INT_MAX = -(2**63), 2**63 - 1

_QUANTITY = re.compile(r"(-?[0-9][0-9_]*)/?([A-Za-z]*)")
_ARGUMENT = re.compile(r"-?[0-9][0-9_]{0,19}|[0-9][0-9_]{0,19}([A-Za-z]+)")
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\Z")
_IP = re.compile(r"\[?[0-9a-f]*:[0-9a-f:.]*\]?\Z|(.*\.)?(\d+|0x[0-9a-f]*)\.*\Z")
"""Addresses, in all spellings: a name whose last label is a number is one to those who look it up."""
_SEGMENT_BAD = re.compile(r"[\x00-\x1f\x7f]|//|/\.\.?(?:/|\Z)")

# Names below which a registry sells others. Single labels are always public here; these are the common ones with more than one.
_SUFFIXES = """
co.uk org.uk ac.uk gov.uk me.uk ltd.uk com.au net.au org.au edu.au co.nz org.nz net.nz co.jp ne.jp or.jp ac.jp co.kr
or.kr com.br net.br org.br com.mx com.ar com.co com.tr com.cn net.cn org.cn com.tw com.hk com.sg com.my co.in net.in
org.in co.za co.il com.ua co.id com.ph com.vn com.pl com.es com.pt com.ru eu.com us.com uk.com de.com github.io
gitlab.io githubusercontent.com herokuapp.com netlify.app vercel.app pages.dev workers.dev web.app firebaseapp.com
appspot.com cloudfront.net amazonaws.com s3.amazonaws.com elasticbeanstalk.com azurewebsites.net blob.core.windows.net
cloudapp.net azureedge.net blogspot.com fly.dev onrender.com render.com glitch.me repl.co replit.app surge.sh now.sh
ngrok.io ngrok.app ngrok-free.app trycloudflare.com r2.dev run.app a.run.app deno.dev edgeone.app digitaloceanspaces.com
ondigitalocean.app readthedocs.io myshopify.com wordpress.com translate.goog duckdns.org dyndns.org no-ip.org
"""
_PUBLIC_SUFFIXES = frozenset(_SUFFIXES.split())


def parse_quantity(text: str) -> tuple[int, str]:
    """`4_000MiB` → (4000, 'MiB'). The grammar guarantees the form."""
    match = _QUANTITY.match(text)
    assert match is not None
    digits = match.group(1).replace("_", "")
    # INVARIANT: bounded digits, because int() of a long text is quadratic; what has more is out of every range.
    too_large = INT_MIN - 1 if digits[0] == "-" else INT_MAX + 1
    return (int(digits) if len(digits) <= 20 else too_large), match.group(2)


def read_quantity(text: str, units: Mapping[str, int]) -> int | None:
    """A number from a command line, with one of `units` or without; None for anything else."""
    match = _ARGUMENT.fullmatch(text)
    unit = (match.group(1) if match else None) or ""
    if match is None or (unit and unit not in units):
        return None
    return int(text.removesuffix(unit)) * units.get(unit, 1)


def duration_ms(text: str) -> int:
    number, unit = parse_quantity(text)
    return number * DURATION_UNITS_MS[unit]


def host_fault(pattern: str) -> str | None:
    """The code of what is wrong with a host pattern, or None."""
    host = pattern
    if "*" in pattern:
        if not pattern.startswith("*.") or "*" in pattern[1:]:
            return "HP036"
        host = pattern[2:]
    if _IP.match(host.lower()):
        return "HP037"
    if not _HOST.match(host):
        return "HP038"
    if pattern != host and ("." not in host or host in _PUBLIC_SUFFIXES):
        return "HP035"
    return None


@lru_cache(maxsize=8192)
def is_host(text: str) -> bool:
    """A concrete, normalised host name: lower-case ASCII labels, no port, no final dot, not an address."""
    return text.__class__ is str and _HOST.match(text) is not None and _IP.match(text) is None


def is_composed(text: str) -> bool:
    """One spelling for each text. THREAT[TM-POL-010]: a decomposed name would pass a rule about the composed one."""
    return text.isascii() or unicodedata.is_normalized("NFC", text)


def compose(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def normalise_host(text: str) -> str:
    """The spelling under which rules know a host: names have no case, and a final dot says only that the name is complete."""
    return text.lower().removesuffix(".")


@lru_cache(maxsize=8192)
def is_path(text: str) -> bool:
    """An absolute path in normal form: no empty, `.` or `..` segment, no final slash, no control character, Unicode composed.

    THREAT[TM-POL-010]: a decomposed spelling of a path would pass a rule about the composed one.
    """
    if text.__class__ is not str or not text.startswith("/") or len(text) > 4096:
        return False
    if not is_composed(text):
        return False
    return text == "/" or (not text.endswith("/") and _SEGMENT_BAD.search(text) is None)


def matches_host(host: str, patterns: tuple[str, ...]) -> bool:
    """Exact names match themselves; `*.x` matches names strictly below x, label by label."""
    return any(host.endswith(p[1:]) and len(host) >= len(p) if p.startswith("*.") else host == p for p in patterns)


def is_under(path: str, prefix: str) -> bool:
    return prefix == "/" or path == prefix or path.startswith(prefix + "/")
