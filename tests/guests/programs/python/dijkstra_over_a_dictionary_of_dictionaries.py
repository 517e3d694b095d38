import heapq

def dijkstra(graph, start):
    distances = {node: float("inf") for node in graph}
    distances[start] = 0
    previous = {}
    queue = [(0, start)]
    while queue:
        dist, node = heapq.heappop(queue)
        if dist > distances[node]:
            continue
        for neighbor, weight in graph[node].items():
            candidate = dist + weight
            if candidate < distances[neighbor]:
                distances[neighbor] = candidate
                previous[neighbor] = node
                heapq.heappush(queue, (candidate, neighbor))
    return distances, previous

def path_to(previous, end):
    path = [end]
    while path[-1] in previous:
        path.append(previous[path[-1]])
    return path[::-1]

graph = {
    "A": {"B": 7, "C": 9, "F": 14},
    "B": {"A": 7, "C": 10, "D": 15},
    "C": {"A": 9, "B": 10, "D": 11, "F": 2},
    "D": {"B": 15, "C": 11, "E": 6},
    "E": {"D": 6, "F": 9},
    "F": {"A": 14, "C": 2, "E": 9},
}
distances, previous = dijkstra(graph, "A")
for node, d in sorted(distances.items()):
    print(f"{node}: {d:>3}  via {' -> '.join(path_to(previous, node))}")
