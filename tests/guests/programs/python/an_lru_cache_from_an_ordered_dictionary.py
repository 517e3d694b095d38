from collections import OrderedDict

class LRU:
    def __init__(self, capacity):
        self.capacity, self.data, self.hits, self.misses = capacity, OrderedDict(), 0, 0
    def get(self, key):
        if key in self.data:
            self.hits += 1
            self.data.move_to_end(key)
            return self.data[key]
        self.misses += 1
        return None
    def put(self, key, value):
        self.data[key] = value
        self.data.move_to_end(key)
        if len(self.data) > self.capacity:
            evicted, _ = self.data.popitem(last=False)
            print("evicted", evicted)

cache = LRU(2)
cache.put("a", 1); cache.put("b", 2); cache.get("a"); cache.put("c", 3)
print(cache.get("b"), cache.get("a"), cache.get("c"), cache.hits, cache.misses, list(cache.data))
