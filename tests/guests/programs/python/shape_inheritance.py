"""Multiple inheritance, MRO, mixins, operator overloading, __slots__, __format__, functools.singledispatch."""
import functools
import math
import operator


class Describable:
    def describe(self):
        return f"{type(self).__name__} with area {self.area():.2f}"


class Comparable:
    def __eq__(self, o):
        return self.area() == o.area()

    def __lt__(self, o):
        return self.area() < o.area()

    __hash__ = object.__hash__


class Shape(Describable, Comparable):
    def area(self):
        raise NotImplementedError(f"{type(self).__name__}.area")


class Square(Shape):
    def __init__(self, s):
        self.s = s

    def area(self):
        return self.s**2


class Circle(Shape):
    def __init__(self, r):
        self.r = r

    def area(self):
        return math.pi * self.r**2

    def describe(self):
        return super().describe().upper()


class Vector:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, o):
        return Vector(self.x + o.x, self.y + o.y) if isinstance(o, Vector) else NotImplemented

    def __mul__(self, k):
        return self.x * k.x + self.y * k.y if isinstance(k, Vector) else Vector(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __iter__(self):
        return iter((self.x, self.y))

    def __format__(self, spec):
        return "<" + ", ".join(format(v, spec) for v in self) + ">"

    def __bool__(self):
        return any(self)

    def __call__(self, **kw):
        return Vector(**{"x": self.x, "y": self.y, **kw})

    def __repr__(self):
        return f"Vector({self.x}, {self.y})"


@functools.singledispatch
def size(x):
    return f"? {type(x).__name__}"


@size.register(list)
@size.register(tuple)
def _(x):
    return f"{len(x)} items"


@size.register
def _(x: Shape):
    return x.area()


shapes = [Circle(1), Square(1.5), Square(3)]
print([s.describe() for s in sorted(shapes)], max(shapes).s)
print([c.__name__ for c in Circle.__mro__])
try:
    Shape().describe()
except NotImplementedError as e:
    print("not implemented:", e)
v, w = Vector(3, 4), Vector(1, -2)
print(v + w, v * w, 2 * v, f"{v:.1f}", bool(Vector(0, 0)), math.hypot(*v), v(y=0))
try:
    v + 1
except TypeError as e:
    print(e)
try:
    v.z = 1
except AttributeError as e:
    print(type(e).__name__)
print(size([1, 2]), size((1,)), size(Square(2)), size("x"))
print(functools.reduce(operator.add, [Vector(i, i) for i in range(4)]), functools.partial(pow, 2)(10))
print(sorted(shapes, key=operator.methodcaller("area"))[0] is shapes[1], operator.attrgetter("s")(shapes[1]), hash(shapes[0]) == hash(shapes[0]))


class Meta(type):
    def __call__(cls, *a):
        if not hasattr(cls, "_one"):
            cls._one = super().__call__(*a)
        return cls._one


class Single(metaclass=Meta):
    pass


print(Single() is Single(), type(Single).__name__, isinstance(Single(), Single), issubclass(bool, int))
