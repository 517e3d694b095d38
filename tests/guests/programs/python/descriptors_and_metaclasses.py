class Positive:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, obj, kind=None): return self if obj is None else getattr(obj, self.name)
    def __set__(self, obj, value):
        if value <= 0:
            raise ValueError(f"{self.name[1:]} must be positive")
        setattr(obj, self.name, value)

class Registry(type):
    plugins = {}
    def __new__(mcls, name, bases, ns):
        cls = super().__new__(mcls, name, bases, ns)
        if bases:
            mcls.plugins[name.lower()] = cls
        return cls

class Plugin(metaclass=Registry): pass
class Csv(Plugin): pass
class Json(Plugin): pass

class Box:
    width = Positive()
    height = Positive()
    def __init__(self, w, h): self.width, self.height = w, h
    def __getattr__(self, name):
        if name == "area":
            return self.width * self.height
        raise AttributeError(name)

print(sorted(Registry.plugins), Box(2, 3).area)
try:
    Box(2, -3)
except ValueError as e:
    print(e)
print(hasattr(Box(1, 1), "volume"), getattr(Box(1, 1), "volume", "none"))
