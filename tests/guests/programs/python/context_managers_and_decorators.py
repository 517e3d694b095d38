import functools, contextlib

def logged(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        print(f"-> {fn.__name__}{args}{kwargs or ''}")
        result = fn(*args, **kwargs)
        print(f"<- {result!r}")
        return result
    return wrapper

def retry(times):
    def deco(fn):
        @functools.wraps(fn)
        def wrapper(*a):
            for attempt in range(1, times + 1):
                try:
                    return fn(*a)
                except ValueError as e:
                    print(f"attempt {attempt} failed: {e}")
            raise RuntimeError("gave up")
        return wrapper
    return deco

@logged
def add(a, b=2):
    """Adds."""
    return a + b

calls = 0
@retry(3)
def flaky(x):
    global calls
    calls += 1
    if calls < 3:
        raise ValueError(f"call {calls}")
    return x * 2

@contextlib.contextmanager
def tag(name):
    print(f"<{name}>")
    try:
        yield name.upper()
    finally:
        print(f"</{name}>")

add(1)
add(1, b=5)
print(add.__name__, add.__doc__)
print(flaky(21))
with tag("b") as t, contextlib.suppress(ZeroDivisionError):
    print(t)
    1 / 0
with contextlib.ExitStack() as stack:
    for n in "xy":
        stack.enter_context(tag(n))
