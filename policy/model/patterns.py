"""Patterns as authors write them: `like`, `starts`, `ends`, `any segment …`; and what is wrong with one.

Rules: a pattern is a beginning, an ending, or both around one `*`; there are no other wildcards, so that every question about
patterns has an answer (`solver/pattern_cells.py`). What it can never match, or always matches, is refused.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache

from policy.model.kinds import Fault, Kind
from policy.text.literals import host_fault, is_composed, is_path

MAX_PATTERN_CHARS = 1024


def make_pattern(kind: Kind, word: str, text: str) -> str | Fault:
    """The canonical form of a pattern (`text/matching.py`), or what is wrong with it."""
    if not text or len(text) > MAX_PATTERN_CHARS:
        return _fault(f"`{word}` takes between 1 and {MAX_PATTERN_CHARS:,} characters", "write what the text must hold")
    wild = "" if word == "like" else next((sign for sign in ("*?" if kind.separator else "*") if sign in text), "")
    if wild:
        return _fault(f"`{wild}` is no wildcard after `{word}`: {text}", "leave it out, or use `like` with one `*`")
    if not is_composed(text) or any(joins(char) for char in text):
        return _fault(f"`{text}` holds a character that joins the one before it", "compare the whole text with `==`")
    return _SHAPERS[word](kind, text)


def _shape_like(kind: Kind, text: str) -> str | Fault:
    if text.count("*") != 1:
        hint = "one `*` stands for any run of characters" if "*" in text else f"compare the whole with `==`, or write `{text}*`"
        return _fault(f"`like` takes one `*`: {text}", hint)
    if text == "*":
        return _fault("`*` alone matches everything", "leave the condition out")
    if kind.separator == "/":
        if "?" in text:
            return _fault(f"`?` is no wildcard: {text}", "one `*` stands for any run of characters in a segment")
        if not is_path(text.replace("*", "x")):
            return _fault(f"`{text}` is not an absolute, normalised path", 'as in `/data/*.csv`; or write `ends ".csv"`')
    return _find_host_pattern_fault(text) or text if kind.separator == "." else text


def _find_host_pattern_fault(text: str) -> Fault | None:
    """THREAT[TM-POL-014]: a `*` next to a public suffix would match names that everyone can register."""
    label, dot, parent = text[text.index("*") :].partition(".")
    if label == "*" and text.startswith("*"):
        return _fault(f"`{text}` covers a whole label", f'write `in {{ "{text}" }}` for all names below')
    code = host_fault(text.replace("*", "x")) or (host_fault(f"*.{parent}") if dot else "HP035")
    if code == "HP035":
        return Fault(code, f"everyone can have a name like {text}", "name the hosts")
    return Fault(code, f"`{text}` is no pattern of host names", "as in `build-*.acme.example`") if code else None


def _shape_end(kind: Kind, text: str) -> str | Fault:
    if kind.separator == "/" and not is_path("/x" + text):
        return _fault(f"no path ends with {text}", 'as in `ends ".pem"` or `ends "/.env"`')
    return "*" + text


def _shape_segment(text: str, canonical: str) -> str | Fault:
    bare = canonical.replace("/", "")
    whole = canonical.startswith("/") and canonical.endswith("/")
    if "/" in text or not is_path("/" + (bare if whole else f"x{bare}x")):
        return _fault(f"no segment of a path is or holds {text}", "write one segment without `/`, as in `.env`")
    return canonical


_SHAPERS: Mapping[str, Callable[[Kind, str], str | Fault]] = {
    "like": _shape_like,
    "starts": lambda kind, text: text + "*",
    "ends": _shape_end,
    "segment ==": lambda kind, text: _shape_segment(text, f"/{text}/"),
    "segment in": lambda kind, text: _shape_segment(text, f"/{text}/"),
    "segment starts": lambda kind, text: _shape_segment(text, f"/{text}"),
    "segment ends": lambda kind, text: _shape_segment(text, f"{text}/"),
}
PATTERN_WORDS = frozenset(_SHAPERS)


def _fault(message: str, hint: str) -> Fault:
    return Fault("HP049", message, hint)


def joins(char: str) -> bool:
    """Whether a character can melt with the one before it when a text is composed. INVARIANT: a pattern has none, so that what is
    put together from two composed texts at the edge of a pattern is composed."""
    return not char.isascii() and (unicodedata.combining(char) != 0 or char in _find_joining())


@lru_cache(maxsize=1)
def _find_joining() -> frozenset[str]:
    """The second characters of all compositions: those that Unicode lists, and the vowels and finals of Hangul."""
    found = {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
    for code in range(0x80, 0x110000):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            found.add(chr(int(parts[1], 16)))
    return frozenset(found)


def write_patterns(field: str, op: str, args: tuple[str, ...]) -> str:
    """A condition with patterns in the words of the language."""
    if op == "segment":
        whole = args[0].startswith("/") and args[0].endswith("/")
        word = "any segment " + (("==" if len(args) == 1 else "in") if whole else "starts" if args[0][0] == "/" else "ends")
        texts = [arg.strip("/") for arg in args]
    else:
        ends, starts = all(arg[0] == "*" for arg in args), all(arg[-1] == "*" for arg in args)
        word = "like" if op != "like" or ends == starts else "ends" if ends else "starts"
        texts = [arg if word == "like" else arg.replace("*", "") for arg in args]
    quoted = [f'"{text}"' for text in texts]
    return f"{field} {word} " + (quoted[0] if len(quoted) == 1 else "{ " + ", ".join(quoted) + " }")
