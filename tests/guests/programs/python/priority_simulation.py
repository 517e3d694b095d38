"""Discrete event simulation of a bank queue with a seeded random generator."""
import heapq
import random
from dataclasses import dataclass, field
from statistics import fmean, quantiles


@dataclass(order=True)
class Event:
    time: float
    order: int
    kind: str = field(compare=False)
    customer: int = field(compare=False, default=0)


class Bank:
    def __init__(self, tellers, seed):
        self.rng = random.Random(seed)
        self.free, self.queue, self.waits, self.events, self.order = tellers, [], [], [], 0
        self.arrived = {}

    def push(self, time, kind, customer=0):
        self.order += 1
        heapq.heappush(self.events, Event(time, self.order, kind, customer))

    def run(self, customers):
        t = 0.0
        for c in range(customers):
            t += self.rng.expovariate(1 / 2.0)
            self.push(t, "arrive", c)
        while self.events:
            e = heapq.heappop(self.events)
            if e.kind == "arrive":
                self.arrived[e.customer] = e.time
                self.queue.append(e.customer)
            else:
                self.free += 1
            while self.free and self.queue:
                c = self.queue.pop(0)
                self.free -= 1
                self.waits.append(e.time - self.arrived[c])
                self.push(e.time + max(0.2, self.rng.gauss(5, 1.5)), "leave", c)
        return e.time


for tellers in (2, 3, 4):
    bank = Bank(tellers, seed=2024)
    end = bank.run(200)
    q = quantiles(bank.waits, n=20)
    print(f"{tellers} tellers: end {end:8.3f} mean wait {fmean(bank.waits):7.3f} p95 {q[18]:7.3f} max {max(bank.waits):7.3f}")
rng = random.Random(1)
print([rng.randint(1, 6) for _ in range(10)], rng.choice("abcdef"), rng.sample(range(100), 5))
deck = [r + s for s in "♠♥♦♣" for r in "A23456789TJQK"]
rng.shuffle(deck)
print(" ".join(deck[:7]))
print(rng.choices(["win", "lose"], weights=[1, 3], k=8), round(rng.random(), 12), round(rng.triangular(0, 10, 5), 6))
print(f"{rng.getrandbits(40):x}", rng.randbytes(4).hex(), round(rng.betavariate(2, 3), 9))
