from abc import ABC, abstractmethod
import math

class Shape(ABC):
    @abstractmethod
    def area(self) -> float: ...
    @abstractmethod
    def perimeter(self) -> float: ...
    def __lt__(self, other): return self.area() < other.area()
    def __repr__(self): return f"{type(self).__name__}(area={self.area():.2f}, perimeter={self.perimeter():.2f})"

class Circle(Shape):
    def __init__(self, r): self.r = r
    def area(self): return math.pi * self.r ** 2
    def perimeter(self): return 2 * math.pi * self.r

class Rect(Shape):
    def __init__(self, w, h): self.w, self.h = w, h
    def area(self): return self.w * self.h
    def perimeter(self): return 2 * (self.w + self.h)

class Square(Rect):
    def __init__(self, s): super().__init__(s, s)

for s in sorted([Circle(2), Rect(3, 5), Square(2.5)]):
    print(s)
try:
    Shape()
except TypeError as e:
    print("TypeError" if "abstract" in str(e) else e)
print(issubclass(Square, Shape), Square.__mro__[1].__name__)
