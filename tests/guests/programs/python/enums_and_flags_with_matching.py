from enum import Enum, IntEnum, Flag, auto

class Color(Enum):
    RED = "r"
    GREEN = "g"
    BLUE = "b"
    @property
    def pretty(self): return self.name.title()

class Perm(Flag):
    R = auto(); W = auto(); X = auto()

class Level(IntEnum):
    LOW = 1
    HIGH = 10

print(list(Color), Color("g"), Color["BLUE"].pretty)
p = Perm.R | Perm.W
print(Perm.R in p, Perm.X in p, (p & ~Perm.R).name, Level.HIGH > Level.LOW, sorted([Level.HIGH, 5, Level.LOW]))

def describe(value):
    match value:
        case Color.RED:
            return "stop"
        case {"type": "point", "x": x, "y": y}:
            return f"point at {x},{y}"
        case [first, *rest] if rest:
            return f"list starting {first} then {len(rest)}"
        case int() | float() as n if n < 0:
            return "negative"
        case str(s):
            return f"text of {len(s)}"
        case _:
            return "something"

for v in (Color.RED, {"type": "point", "x": 1, "y": 2}, [1, 2, 3], -5, "hey", None, 7):
    print(describe(v))
