import inspect
def greet(name: str, *args: int, greeting="hi", **kw) -> str:
    """Say hello."""
    return f"{greeting} {name}"
sig = inspect.signature(greet)
print(sig, list(sig.parameters), sig.parameters["greeting"].default, sig.return_annotation)
print(inspect.getdoc(greet), greet.__annotations__, greet.__kwdefaults__)
class A:
    x = 1
    def m(self): pass
print([n for n, _ in inspect.getmembers(A, inspect.isfunction)], vars(A)["x"], dir(A())[-2:])
print(inspect.isgeneratorfunction(lambda: (yield)), callable(A), type(A).__name__)
bound = sig.bind("Bo", 1, 2, greeting="yo", extra=3)
print(bound.arguments)
