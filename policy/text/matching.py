"""What each comparison says about a text: the reference meaning, which the interpreter, the solver and tests share.

in           the text is one of the constants
host         a name, or `*.` and a name: every name strictly below it
under        a path, or what lies below it, segment by segment
like         one `*`, any run of characters, also none
like/ like.  the same, but the run stays within one segment of a path, one label of a host
segment      `/x/`: a segment is x; `/x`: one begins with x; `x/`: one ends with x

and about two texts:

    same         they are equal
    beneath      a path is, or lies below, a folder of which one segment is the other text
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from policy.text.literals import is_under, matches_host

Texts = tuple[str, ...]


def is_like(text: str, pattern: str, separator: str = "") -> bool:
    """Whether a text begins and ends as a pattern with one `*` says. INVARIANT: the two ends do not share a character."""
    head, _, tail = pattern.partition("*")
    if len(text) < len(head) + len(tail) or not text.startswith(head) or not text.endswith(tail):
        return False
    return not separator or text.count(separator) == pattern.count(separator)


def has_segment(path: str, parts: Texts) -> bool:
    slashed = path + "/"
    return any(part in slashed for part in parts)


MATCHES: Mapping[str, Callable[[str, Texts], bool]] = {
    "in": lambda text, args: text in args,
    "host": matches_host,
    "under": lambda text, args: any(is_under(text, prefix) for prefix in args),
    "like": lambda text, args: any(is_like(text, pattern) for pattern in args),
    "like/": lambda text, args: any(is_like(text, pattern, "/") for pattern in args),
    "like.": lambda text, args: any(is_like(text, pattern, ".") for pattern in args),
    "segment": has_segment,
}
PATTERNS = frozenset({"like", "like/", "like.", "segment"})
"""Comparisons that look inside a text rather than at its whole or its beginning."""


def is_beneath(path: str, segment: str, head: str, tail: str) -> bool:
    """THREAT[TM-POL-015]: the other text is one segment. What is none, as `a/b`, `..` or nothing, names no folder."""
    return bool(segment) and "/" not in segment and is_under(path, f"{head}{segment}{tail}")


RELATIONS: Mapping[str, Callable[[str, str, Texts], bool]] = {
    "same": lambda text, other, args: text == other,
    "beneath": lambda text, other, args: is_beneath(text, other, args[1], args[2]),
}
"""Comparisons of two fields. The first of `args` is the other field's name; for `beneath` what stands around it follows."""
