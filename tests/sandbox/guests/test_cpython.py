"""How deep Python may go through C code: what ends first can be caught."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hatchway import Sandbox
from sandbox.engine.memory import GuestMemory
from sandbox.guests.cpython import widen_stack

LIMITS = {"wall_ms": 60_000, "cpu_ms": 60_000, "memory_mb": 256}
SOURCES = {
    "elif": "n = 400\nif n < 0: x = 0\n" + "".join(f"elif n == {i}: x = {i}\n" for i in range(401)) + "x",
    "sum": f"one = 1\n{' + '.join(['one'] * 2000)}",
    "nested ifs": "".join(f"{' ' * i}if True:\n" for i in range(95)) + f"{' ' * 95}x = 95\nx",
    "nested calls": f"def f(x): return x + 1\n{'f(' * 150}0{')' * 150}",
}
CLASS = "class A:\n  def __init__(self, n): self.n = n\n"
THROUGH_C = {
    "cache": "import functools\n@functools.cache\ndef f(n): return n and 1 + f(n - 1)\nf(DEPTH)",
    "operator": f"{CLASS}  def __add__(self, o): return self.n and A(self.n - 1) + o\nA(DEPTH) + 1",
    "map": "def f(n): return n and list(map(f, [n - 1]))[0]\nf(DEPTH)",
    "text": f"{CLASS}  def __str__(self): return self.n and f'{{A(self.n - 1)}}' or ''\nstr(A(DEPTH))",
}
KEY = "def f(n): return n and sorted([n - 1], key=f) and n\nf(DEPTH)"


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Sandbox(limits=LIMITS) as box:
        yield box


@pytest.mark.parametrize(("kind", "value"), [("elif", 400), ("sum", 2000), ("nested ifs", 95), ("nested calls", 150)])
def test_source_that_python_compiles_elsewhere_compiles(box: Sandbox, kind: str, value: int) -> None:
    assert box.run(SOURCES[kind]).check().result == value


@pytest.mark.parametrize("kind", THROUGH_C)
def test_recursion_through_c_code_goes_as_deep_as_the_sessions_own_limit(box: Sandbox, kind: str) -> None:
    assert box.run(THROUGH_C[kind].replace("DEPTH", "400")).error is None
    refused = box.run(THROUGH_C[kind].replace("DEPTH", "1100")).error
    assert refused is not None and refused.code == "STACK_OVERFLOW" and "maximum recursion depth exceeded" in refused.message


@pytest.mark.parametrize("kind", [*THROUGH_C, "key"])
def test_end_of_the_c_stack_can_be_caught(kind: str) -> None:
    *before, last = (THROUGH_C.get(kind) or KEY).replace("DEPTH", "9000").split("\n")
    program = "\n".join([*before, "try:", f"  {last}", "except RecursionError as error: found = str(error)", "found"])
    with Sandbox(limits={**LIMITS, "max_stack_depth": 10_000}) as box:
        assert box.run(program).check().result.startswith("Stack overflow")


def test_memory_without_cpython_is_left_alone() -> None:
    class Nothing(GuestMemory):
        def __init__(self) -> None: ...

        size_bytes = 64

        def read(self, address: int, length: int) -> bytes:
            return bytes(length)

    assert not widen_stack(Nothing())
