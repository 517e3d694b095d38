import heapq, itertools
counter = itertools.count()
class Scheduler:
    def __init__(self): self.now, self.queue = 0, []
    def at(self, delay, fn, *args): heapq.heappush(self.queue, (self.now + delay, next(counter), fn, args))
    def run(self, until):
        while self.queue and self.queue[0][0] <= until:
            self.now, _, fn, args = heapq.heappop(self.queue)
            fn(*args)
s = Scheduler()
def tick(n):
    print(f"t={s.now} tick {n}")
    if n: s.at(2, tick, n - 1)
s.at(1, tick, 3); s.at(4, print, "other"); s.run(6)
print(len(s.queue), "left")
