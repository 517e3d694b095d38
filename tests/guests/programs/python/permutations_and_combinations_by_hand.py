def permutations(items):
    if not items:
        yield []
    for i, item in enumerate(items):
        for rest in permutations(items[:i] + items[i + 1:]):
            yield [item] + rest

def combinations(items, k):
    if k == 0:
        yield ()
    elif items:
        for rest in combinations(items[1:], k - 1):
            yield (items[0],) + rest
        yield from combinations(items[1:], k)

import itertools
print(list(permutations([1, 2, 3])))
print(list(combinations("abcd", 2)))
assert [tuple(p) for p in permutations([1, 2, 3, 4])] == list(itertools.permutations([1, 2, 3, 4]))
assert list(combinations("abcde", 3)) == list(itertools.combinations("abcde", 3))
print("matches itertools")
