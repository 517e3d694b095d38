"""Dijkstra, BFS, topological sort, union-find MST and cycle detection."""
import heapq
from collections import deque
from graphlib import CycleError, TopologicalSorter

EDGES = [("A", "B", 4), ("A", "C", 1), ("C", "B", 2), ("B", "D", 5), ("C", "D", 8), ("D", "E", 3), ("E", "F", 1), ("B", "F", 12)]
graph = {}
for u, v, w in EDGES:
    graph.setdefault(u, {})[v] = w
    graph.setdefault(v, {})[u] = w


def dijkstra(start):
    dist, previous, heap = {start: 0}, {}, [(0, start)]
    while heap:
        d, node = heapq.heappop(heap)
        if d > dist[node]:
            continue
        for nxt, w in graph[node].items():
            if d + w < dist.get(nxt, float("inf")):
                dist[nxt] = d + w
                previous[nxt] = node
                heapq.heappush(heap, (dist[nxt], nxt))
    return dist, previous


def path(previous, target):
    out = [target]
    while out[-1] in previous:
        out.append(previous[out[-1]])
    return out[::-1]


def bfs(start):
    seen, queue, order = {start}, deque([(start, 0)]), []
    while queue:
        node, depth = queue.popleft()
        order.append((node, depth))
        for n in sorted(graph[node]):
            if n not in seen:
                seen.add(n)
                queue.append((n, depth + 1))
    return order


class DisjointSet:
    def __init__(self, items):
        self.parent = {i: i for i in items}

    def find(self, x):
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        self.parent[a] = b
        return True


dist, prev = dijkstra("A")
for node in sorted(dist):
    print(node, dist[node], "->".join(path(prev, node)))
print(bfs("A"))
sets = DisjointSet(graph)
mst = [(w, u, v) for w, u, v in sorted((w, u, v) for u, v, w in EDGES) if sets.union(u, v)]
print(mst, sum(w for w, *_ in mst))
tasks = {"deploy": {"test", "build"}, "test": {"build"}, "build": {"fetch"}, "fetch": set()}
print(list(TopologicalSorter(tasks).static_order()))
try:
    list(TopologicalSorter({"a": {"b"}, "b": {"a"}}).static_order())
except CycleError as e:
    print("cycle", sorted(set(e.args[1])))
