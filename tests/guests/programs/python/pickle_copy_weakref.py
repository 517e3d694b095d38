"""Copying, pickling, weak references, garbage collection, identity, slots, sys functions."""
import copy
import gc
import pickle
import shelve
import sys
import weakref
from collections import ChainMap, OrderedDict, UserDict, deque
from types import MappingProxyType, SimpleNamespace


class Node:
    def __init__(self, name, *children):
        self.name, self.children, self.parent = name, list(children), None
        for c in children:
            c.parent = weakref.ref(self)

    def __getstate__(self):
        return {"name": self.name, "children": self.children}

    def __setstate__(self, state):
        self.__dict__.update(state, parent=None)
        for c in self.children:
            c.parent = weakref.ref(self)

    def walk(self, depth=0):
        yield "  " * depth + self.name
        for c in self.children:
            yield from c.walk(depth + 1)


tree = Node("root", Node("a", Node("a1")), Node("b"))
again = pickle.loads(pickle.dumps(tree))
print("\n".join(again.walk()), again.children[0].parent().name, again is tree)
orig = {"list": [1, [2, 3]], "t": (4,)}
shallow, deep = copy.copy(orig), copy.deepcopy(orig)
orig["list"][1].append(99)
print(shallow["list"], deep["list"])
ref = weakref.ref(tree)
cache = weakref.WeakValueDictionary(t=tree)
del tree
gc.collect()
print(ref() is None, dict(cache))
finalized = []
obj = Node("leaf")
weakref.finalize(obj, finalized.append, "gone")
del obj
gc.collect()
print(finalized)
with shelve.open("store") as db:
    db["k"] = {"deep": [1, 2]}
with shelve.open("store") as db:
    print(dict(db), "zz" in db)
cm = ChainMap({"a": 1}, {"a": 2, "b": 3})
print(cm["a"], cm["b"], dict(cm.new_child({"b": 0})), list(cm.maps))
d = deque(range(5), maxlen=3)
d.rotate(1)
d.appendleft(9)
print(d, d.maxlen)
print(SimpleNamespace(x=1))
proxy = MappingProxyType({"k": 1})
try:
    proxy["k"] = 2
except TypeError as e:
    print(e)


class Upper(UserDict):
    def __setitem__(self, key, value):
        super().__setitem__(key.upper(), value)


print(Upper(a=1, b=2), OrderedDict(a=1) == {"a": 1}, sys.getsizeof([]) > 0, sys.intern("x") is sys.intern("x"), a is b if (a := (b := [])) is None else a is b)
print(pickle.loads(pickle.dumps({"s": {1, 2}, "f": 1.5, "c": 1j, "b": b"x", "r": range(3), "fn": len})))
try:
    pickle.dumps(lambda: 1)
except (pickle.PicklingError, AttributeError) as e:
    print("cannot pickle lambda")
print(sys.version_info >= (3, 11), sys.maxsize > 2**31 - 2, sys.byteorder, sys.float_info.dig, __name__)
