from itertools import count, takewhile, islice, chain, product, zip_longest, cycle, starmap, tee

class Countdown:
    def __init__(self, n): self.n = n
    def __iter__(self):
        while self.n > 0:
            yield self.n
            self.n -= 1

def primes():
    found = []
    for n in count(2):
        if all(n % p for p in takewhile(lambda p: p * p <= n, found)):
            found.append(n)
            yield n

def averager():
    total, n, avg = 0, 0, None
    while True:
        x = yield avg
        total, n = total + x, n + 1
        avg = total / n

print(list(Countdown(5)), list(islice(primes(), 12)))
avg = averager(); next(avg)
print([avg.send(x) for x in (10, 20, 60)])
print(list(chain("ab", [1])), list(product("ab", repeat=2)), list(zip_longest([1, 2], "a", fillvalue="-")))
print(list(islice(cycle("abc"), 7)), list(starmap(pow, [(2, 3), (3, 2)])))
a, b = tee(range(3)); print(sum(a), list(b))
def walk(tree):
    for item in tree:
        if isinstance(item, list):
            yield from walk(item)
        else:
            yield item
print(list(walk([1, [2, [3, [4]], 5]])))
