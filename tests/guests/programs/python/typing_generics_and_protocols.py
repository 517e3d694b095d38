from typing import Generic, TypeVar, Protocol, runtime_checkable, get_type_hints, Optional, Union, NamedTuple, TypedDict

T = TypeVar("T")

class Stack(Generic[T]):
    def __init__(self) -> None:
        self._items: list[T] = []
    def push(self, item: T) -> "Stack[T]":
        self._items.append(item)
        return self
    def pop(self) -> Optional[T]:
        return self._items.pop() if self._items else None

@runtime_checkable
class Speaks(Protocol):
    def speak(self) -> str: ...

class Dog:
    def speak(self) -> str: return "woof"

class Employee(NamedTuple):
    name: str
    id: int = 3

class Movie(TypedDict, total=False):
    title: str
    year: int

s: Stack[int] = Stack()
print(s.push(1).push(2).pop(), s.pop(), s.pop())
print(isinstance(Dog(), Speaks), isinstance(5, Speaks))
print(Employee("Guido"), Employee("x")._asdict())
m: Movie = {"title": "Alien"}
print(m, get_type_hints(Employee), sorted(Movie.__annotations__))
