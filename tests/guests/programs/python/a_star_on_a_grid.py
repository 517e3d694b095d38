import heapq
maze = [
    "S.#.....",
    "..#.###.",
    "....#...",
    ".####.#.",
    "......#E",
]
rows, cols = len(maze), len(maze[0])
find = lambda ch: next((r, c) for r in range(rows) for c in range(cols) if maze[r][c] == ch)
start, end = find("S"), find("E")
h = lambda p: abs(p[0] - end[0]) + abs(p[1] - end[1])
frontier, came, cost = [(h(start), start)], {start: None}, {start: 0}
while frontier:
    _, cur = heapq.heappop(frontier)
    if cur == end:
        break
    for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        nxt = cur[0] + dr, cur[1] + dc
        if 0 <= nxt[0] < rows and 0 <= nxt[1] < cols and maze[nxt[0]][nxt[1]] != "#":
            new = cost[cur] + 1
            if new < cost.get(nxt, 1e9):
                cost[nxt] = new
                came[nxt] = cur
                heapq.heappush(frontier, (new + h(nxt), nxt))
path, node = set(), end
while node:
    path.add(node)
    node = came[node]
print("length", cost[end])
for r in range(rows):
    print("".join("*" if (r, c) in path and maze[r][c] == "." else maze[r][c] for c in range(cols)))
