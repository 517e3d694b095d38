from dataclasses import dataclass, field, asdict, replace

@dataclass(order=True)
class Task:
    priority: int
    name: str = field(compare=False)
    tags: list[str] = field(default_factory=list, compare=False)
    done: bool = field(default=False, compare=False)

tasks = [Task(3, "write"), Task(1, "plan", ["now"]), Task(2, "test")]
for t in sorted(tasks):
    print(t)
print(asdict(tasks[1]))
print(replace(tasks[0], done=True))

@dataclass(frozen=True, slots=True)
class Vec:
    x: float
    y: float
    def __add__(self, other): return Vec(self.x + other.x, self.y + other.y)
    def __abs__(self): return (self.x ** 2 + self.y ** 2) ** 0.5

v = Vec(3, 4) + Vec(0, 0)
print(v, abs(v), hash(v) == hash(Vec(3, 4)))
try:
    v.x = 1
except Exception as e:
    print(type(e).__name__, e)
