from collections import defaultdict, deque

def topo_sort(edges):
    graph, indegree = defaultdict(list), defaultdict(int)
    nodes = set()
    for a, b in edges:
        graph[a].append(b)
        indegree[b] += 1
        nodes |= {a, b}
    queue = deque(sorted(n for n in nodes if indegree[n] == 0))
    order = []
    while queue:
        node = queue.popleft()
        order.append(node)
        for nxt in graph[node]:
            indegree[nxt] -= 1
            if indegree[nxt] == 0:
                queue.append(nxt)
    if len(order) != len(nodes):
        raise ValueError("cycle detected")
    return order

print(topo_sort([("shirt", "tie"), ("tie", "jacket"), ("trousers", "shoes"), ("trousers", "belt"), ("belt", "jacket")]))
try:
    topo_sort([(1, 2), (2, 3), (3, 1)])
except ValueError as e:
    print("Error:", e)
