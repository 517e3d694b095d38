import pickle, copy, shelve, os
class Point:
    def __init__(self, x, y): self.x, self.y = x, y
    def __eq__(self, o): return (self.x, self.y) == (o.x, o.y)
    def __repr__(self): return f"Point({self.x}, {self.y})"
data = {"p": Point(1, 2), "nested": [[1], {2: (3,)}]}
again = pickle.loads(pickle.dumps(data))
print(again, again == data)
shallow, deep = copy.copy(data), copy.deepcopy(data)
data["nested"][0].append(99)
print(shallow["nested"], deep["nested"])
with shelve.open("store") as db:
    db["a"] = data["p"]
    db["b"] = [1, 2]
with shelve.open("store") as db:
    print(sorted(db), db["a"])
