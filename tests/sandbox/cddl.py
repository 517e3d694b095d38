"""A small CDDL (RFC 8610) validator: the part that docs/snapshots.md uses, and nothing else.

Types: `tstr bstr uint bool null`, text and number literals, ranges `a..b`, `.size n`, `.cbor name`, `#6.n(type)`, maps with
`key: type`, `? key: type`, `n => type` and `* type => type`, arrays with `name: type` and `* type`, choices with `/`,
parentheses, rules' names. Anything else in the text is an error here, so the page cannot say what is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import cbor2

_TOKEN = re.compile(r'\s+|;[^\n]*|("[^"]*"|#6\.\d+|\.\.|\.[a-z]+|=>|[A-Za-z_][\w-]*|\d+|[=/{}\[\]():,*?])')


class Mismatch(Exception):
    """A value is not what the schema says; the message says where."""


def _tokens(text: str) -> list[str]:
    found, position = [], 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise SyntaxError(f"not understood: {text[position : position + 30]!r}")
        if token[1]:
            found.append(token[1])
        position = token.end()
    return found


class Schema:
    def __init__(self, text: str) -> None:
        self._left = _tokens(text)
        self._rules: dict[str, Any] = {}
        while self._left:
            name = self._take()
            self._take("=")
            assert name not in self._rules, name
            self._rules[name] = self._choice()

    def _take(self, expected: str | None = None) -> str:
        token = self._left.pop(0)
        if expected is not None and token != expected:
            raise SyntaxError(f"{token!r} where {expected!r} should be, before {self._left[:6]}")
        return token

    def _next(self, *tokens: str) -> bool:
        return self._left[: len(tokens)] == list(tokens)

    def _choice(self) -> Any:
        options = [self._single()]
        while self._next("/"):
            self._take()
            options.append(self._single())
        return options[0] if len(options) == 1 else ("choice", options)

    def _single(self) -> Any:
        token = self._take()
        if token == "(":
            inner = self._choice()
            self._take(")")
            return inner
        if token.startswith("#6."):
            self._take("(")
            inner = self._choice()
            self._take(")")
            return ("tag", int(token[3:]), inner)
        if token in "{[":
            return self._members("}" if token == "{" else "]")
        if token.startswith('"'):
            return ("literal", token[1:-1])
        if token.isdigit():
            if self._next(".."):
                self._take()
                return ("range", int(token), int(self._take()))
            return ("literal", int(token))
        if self._next(".size"):
            self._take()
            return ("size", token, int(self._take()))
        if self._next(".cbor"):
            self._take()
            return ("cbor", token, self._take())
        return ("name", token)

    def _members(self, end: str) -> Any:
        members = []
        while not self._next(end):
            many = self._take() if self._next("*") or self._next("?") else ""
            key: Any = None
            if len(self._left) > 1 and self._left[1] == ":":
                key = ("literal", self._take())
                self._take(":")
                value = self._choice()
            else:
                value = self._choice()
                if self._next("=>"):
                    self._take()
                    key, value = value, self._choice()
            members.append((many, key, value))
            if self._next(","):
                self._take()
        self._take(end)
        return ("map" if end == "}" else "array", members)

    def check(self, rule: str, data: bytes) -> None:
        self._check(self._rules[rule], cbor2.loads(data), rule)

    def _check(self, kind: Any, value: Any, place: str) -> None:
        getattr(self, f"_check_{kind[0]}")(kind, value, place)

    def _check_choice(self, kind: Any, value: Any, place: str) -> None:
        why = []
        for option in kind[1]:
            try:
                return self._check(option, value, place)
            except Mismatch as mismatch:
                why.append(str(mismatch))
        raise Mismatch("; ".join(why))

    def _check_name(self, kind: Any, value: Any, place: str) -> None:
        name = kind[1]
        if name in self._rules:
            return self._check(self._rules[name], value, place)
        fits = {
            "tstr": isinstance(value, str),
            "bstr": isinstance(value, bytes),
            "uint": isinstance(value, int) and not isinstance(value, bool) and value >= 0,
            "bool": isinstance(value, bool),
            "null": value is None,
        }
        if not fits[name]:
            raise Mismatch(f"{place} is {value!r:.40}, not {name}")
        return None

    def _check_literal(self, kind: Any, value: Any, place: str) -> None:
        if type(value) is not type(kind[1]) or value != kind[1]:
            raise Mismatch(f"{place} is {value!r:.40}, not {kind[1]!r}")

    def _check_range(self, kind: Any, value: Any, place: str) -> None:
        self._check(("name", "uint"), value, place)
        if not kind[1] <= value <= kind[2]:
            raise Mismatch(f"{place} is {value}, not in {kind[1]}..{kind[2]}")

    def _check_size(self, kind: Any, value: Any, place: str) -> None:
        self._check(("name", kind[1]), value, place)
        if len(value) != kind[2]:
            raise Mismatch(f"{place} has {len(value)} bytes, not {kind[2]}")

    def _check_cbor(self, kind: Any, value: Any, place: str) -> None:
        self._check(("name", kind[1]), value, place)
        self._check(self._rules[kind[2]], cbor2.loads(value), f"{place}<{kind[2]}>")

    def _check_tag(self, kind: Any, value: Any, place: str) -> None:
        if not isinstance(value, cbor2.CBORTag) or value.tag != kind[1]:
            raise Mismatch(f"{place} has no tag {kind[1]}")
        self._check(kind[2], value.value, place)

    def _check_array(self, kind: Any, value: Any, place: str) -> None:
        if not isinstance(value, (list, tuple)):
            raise Mismatch(f"{place} is no array")
        left = list(value)
        for many, _, inner in kind[1]:
            if many:
                for item in left:
                    self._check(inner, item, f"{place}[*]")
                left = []
            elif not left:
                raise Mismatch(f"{place} has too few items")
            else:
                self._check(inner, left.pop(0), f"{place}[{len(value) - len(left) - 1}]")
        if left:
            raise Mismatch(f"{place} has too many items")

    def _check_map(self, kind: Any, value: Any, place: str) -> None:
        if not isinstance(value, Mapping):
            raise Mismatch(f"{place} is no map")
        left = dict(value)
        for many, key, inner in kind[1]:
            if many != "*":
                if key[1] not in left and many == "?":
                    continue
                if key[1] not in left:
                    raise Mismatch(f"{place} lacks {key[1]!r}")
                self._check(inner, left.pop(key[1]), f"{place}.{key[1]}")
        for name, item in left.items():
            wild = [(key, inner) for many, key, inner in kind[1] if many == "*"]
            if not wild:
                raise Mismatch(f"{place} has {name!r}, which is not described")
            self._check(wild[0][0], name, f"a key of {place}")
            self._check(wild[0][1], item, f"{place}.{name}")
