"""A cooperative scheduler with generators, priorities, and simulated time; then an elevator."""
import heapq
import itertools


class Scheduler:
    def __init__(self):
        self.now, self.queue, self.tick, self.log = 0, [], itertools.count(), []

    def spawn(self, task, delay=0):
        heapq.heappush(self.queue, (self.now + delay, next(self.tick), task))

    def run(self):
        while self.queue:
            self.now, _, task = heapq.heappop(self.queue)
            try:
                command = next(task)
            except StopIteration as stop:
                self.log.append(f"{self.now:>4} {task.__name__} returned {stop.value}")
                continue
            match command:
                case ("sleep", n):
                    self.spawn(task, n)
                case ("spawn", child):
                    self.spawn(child)
                    self.spawn(task)
                case ("say", text):
                    self.log.append(f"{self.now:>4} {text}")
                    self.spawn(task)
                case other:
                    task.throw(ValueError(f"bad command {other!r}"))


def worker(name, n):
    for i in range(n):
        yield "say", f"{name} step {i}"
        yield "sleep", 10 + i
    return name


def parent():
    for k in range(2):
        yield "spawn", worker(f"w{k}", 2)
        yield "sleep", 5
    return "parent"


s = Scheduler()
s.spawn(parent())
s.run()
print("\n".join(s.log))


def elevator(requests, start=0):
    """SCAN order."""
    up = sorted(f for f in requests if f >= start)
    down = sorted((f for f in requests if f < start), reverse=True)
    path, pos, total = up + down, start, 0
    for f in path:
        total += abs(f - pos)
        pos = f
    return path, total


print(elevator([4, 9, 1, 7, 2], start=5))


def bad():
    try:
        yield "dance",
    except ValueError as e:
        print("told:", e)
        return


b = Scheduler()
b.spawn(bad())
try:
    b.run()
except StopIteration as e:
    print("stopped", e.value)
