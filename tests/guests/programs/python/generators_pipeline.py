"""Lazy pipelines with generators, itertools, send/throw/close, contextlib and yield from."""
import itertools as it
from contextlib import ExitStack, contextmanager, suppress


def naturals(start=1):
    while True:
        yield start
        start += 1


def primes():
    composites = {}
    for n in naturals(2):
        if n not in composites:
            yield n
            composites[n * n] = [n]
        else:
            for p in composites.pop(n):
                composites.setdefault(n + p, []).append(p)


def running_average():
    total, count, average = 0, 0, None
    while True:
        try:
            value = yield average
        except ValueError:
            total, count = 0, 0
            average = None
            continue
        total, count = total + value, count + 1
        average = total / count


def flatten(items):
    for item in items:
        if isinstance(item, (list, tuple)):
            yield from flatten(item)
        else:
            yield item


def chunked(iterable, n):
    iterator = iter(iterable)
    while chunk := list(it.islice(iterator, n)):
        yield chunk


@contextmanager
def tag(name, out):
    out.append(f"<{name}>")
    try:
        yield name
    finally:
        out.append(f"</{name}>")


print(list(it.takewhile(lambda p: p < 60, primes())))
print(list(it.islice((p for p in primes() if str(p) == str(p)[::-1] and p > 10), 5)))
avg = running_average()
next(avg)
print([avg.send(x) for x in (10, 20, 60)], avg.throw(ValueError), avg.send(7))
avg.close()
with suppress(StopIteration):
    avg.send(1)
    print("not reached")
print(list(flatten([1, [2, (3, [4, []]), 5], "six"])))
print(list(chunked(range(11), 4)))
out = []
with ExitStack() as stack:
    for name in ("html", "body", "p"):
        stack.enter_context(tag(name, out))
    out.append("hi")
print("".join(out))
print([(k, len(list(g))) for k, g in it.groupby("aaabbcaaa")])
print(list(it.accumulate([1, 2, 3, 4], lambda a, b: a * b)), list(it.pairwise("abcd")))
print(list(it.batched("ABCDEFG", 3)), list(it.zip_longest("ab", "xyz", fillvalue="-")))
print(["".join(p) for p in it.permutations("abc", 2)], len(list(it.combinations(range(8), 3))))


def tree():
    result = yield from inner()
    yield f"inner returned {result}"


def inner():
    yield 1
    return "done"


print(list(tree()))
