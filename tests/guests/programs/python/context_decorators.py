"""Decorators and context managers: timing with a fake clock, retry, validation, caching, class decorators, contextvars."""
import contextlib
import contextvars
import functools
import inspect
import io


def retry(times, *errors):
    def wrap(f):
        @functools.wraps(f)
        def inner(*a, **k):
            for attempt in range(1, times + 1):
                try:
                    return f(*a, **k)
                except errors as e:
                    print(f"{f.__name__} attempt {attempt}: {e}")
            raise RuntimeError(f"{f.__name__} failed {times} times")

        return inner

    return wrap


def validate(f):
    hints = f.__annotations__
    signature = inspect.signature(f)

    @functools.wraps(f)
    def inner(*a, **k):
        bound = signature.bind(*a, **k)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name in hints and not isinstance(value, hints[name]):
                raise TypeError(f"{name}: expected {hints[name].__name__}, got {value!r}")
        return f(*bound.args, **bound.kwargs)

    return inner


calls = iter([ValueError("first"), ValueError("second"), "fine"])


@retry(3, ValueError)
def fetch():
    """Get the next answer."""
    answer = next(calls)
    if isinstance(answer, Exception):
        raise answer
    return answer


@validate
def area(w: int, h: int = 2, *, unit: str = "cm") -> str:
    return f"{w * h} {unit}2"


print(fetch(), fetch.__name__, fetch.__doc__, fetch.__wrapped__ is not fetch)
print(area(3), area(3, h=4, unit="m"), inspect.signature(area))
for bad in (lambda: area("3"), lambda: area(1, 2, 3), lambda: area()):
    try:
        bad()
    except TypeError as e:
        print("TypeError:", e)


def auto_repr(cls):
    cls.__repr__ = lambda self: f"{cls.__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"
    return cls


@auto_repr
class P:
    def __init__(self):
        self.x, self.y = 1, "two"


print(P())


class Indenter:
    level = 0

    def __enter__(self):
        Indenter.level += 1
        return self

    def __exit__(self, kind, value, tb):
        Indenter.level -= 1
        return kind is KeyError

    def print(self, text):
        print("  " * (self.level - 1) + text)


with Indenter() as i:
    i.print("a")
    with i:
        i.print("b")
        raise KeyError("swallowed")
    i.print("c")
buffer = io.StringIO()
with contextlib.redirect_stdout(buffer):
    print("captured")
print(repr(buffer.getvalue()), Indenter.level)
with contextlib.closing(io.StringIO("x")) as f, contextlib.nullcontext(5) as five:
    print(f.read(), five)
var = contextvars.ContextVar("var", default="unset")
ctx = contextvars.copy_context()
ctx.run(var.set, "inside")
print(var.get(), ctx[var])


class Lazy:
    @functools.cached_property
    def value(self):
        print("computing")
        return 42


l = Lazy()
print(l.value, l.value, [functools.cmp_to_key(lambda a, b: b - a)(1) < functools.cmp_to_key(lambda a, b: b - a)(2)])
