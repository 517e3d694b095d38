"""Typing features: Protocol, TypedDict, NamedTuple, overload, Literal, ParamSpec, match statement, get_type_hints."""
from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import Any, Callable, ClassVar, Final, Literal, NamedTuple, Protocol, TypedDict, runtime_checkable


@runtime_checkable
class Shape(Protocol):
    def area(self) -> float: ...


@dataclass
class Circle:
    r: float
    PI: ClassVar[float] = 3.14159

    def area(self) -> float:
        return self.PI * self.r**2


@dataclass
class Rect:
    w: float
    h: float

    def area(self) -> float:
        return self.w * self.h


class Point(NamedTuple):
    x: int
    y: int = 0

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)


class Movie(TypedDict, total=False):
    title: str
    year: int


Mode = Literal["r", "w"]
LIMIT: Final = 10


def describe(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "bool"
        case int(n) if n < 0:
            return f"negative {n}"
        case int() | float():
            return "number"
        case str(s) if s.isupper():
            return f"SHOUT {s}"
        case [] | ():
            return "empty sequence"
        case [x]:
            return f"one item {x!r}"
        case [first, *rest]:
            return f"starts with {first!r}, {len(rest)} more"
        case {"type": "user", "name": name, **extra}:
            return f"user {name} {sorted(extra)}"
        case Circle(r=r) if r > 10:
            return "big circle"
        case Rect(w=w, h=h) if w == h:
            return f"square {w}"
        case Shape():
            return f"shape of {value.area():.1f}"
        case Point(x=0):
            return "on the axis"
        case _:
            return type(value).__name__


for v in [None, True, -4, 2.5, "HEY", "hey", [], [1], (1, 2, 3), {"type": "user", "name": "al", "age": 3}, Circle(11), Rect(2, 2), Rect(2, 3), Point(0, 4), {1}]:
    print(describe(v))
print(Point(1) + Point(2, 3), Point(1)._asdict(), Point._fields)
m: Movie = {"title": "Alien"}
print(m, Movie.__optional_keys__ == frozenset({"title", "year"}))
print(isinstance(Circle(1), Shape), isinstance("x", Shape))


def call(f: Callable[[int], str], mode: Mode = "r") -> str | None:
    return f(LIMIT) if mode == "r" else None


print(typing.get_type_hints(call)["return"], typing.get_args(Mode))
print(call(lambda n: "*" * n), call(str, "w"))


class Stack[T]:
    def __init__(self) -> None:
        self.items: list[T] = []

    def push(self, item: T) -> Stack[T]:
        self.items.append(item)
        return self


type Pair[A] = tuple[A, A]
print(Stack[int]().push(1).push(2).items, Stack.__type_params__, Pair.__name__)
