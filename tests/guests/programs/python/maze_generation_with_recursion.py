import random
random.seed(11)
W, H = 10, 5
walls = {(x, y): {"E", "S"} for x in range(W) for y in range(H)}
visited = set()
def carve(x, y):
    visited.add((x, y))
    options = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    random.shuffle(options)
    for dx, dy in options:
        nx, ny = x + dx, y + dy
        if 0 <= nx < W and 0 <= ny < H and (nx, ny) not in visited:
            if dx: walls[min(x, nx), y].discard("E")
            else: walls[x, min(y, ny)].discard("S")
            carve(nx, ny)
carve(0, 0)
print("+" + "--+" * W)
for y in range(H):
    print("|" + "".join("  " + ("|" if "E" in walls[x, y] else " ") for x in range(W)))
    print("+" + "".join(("--" if "S" in walls[x, y] else "  ") + "+" for x in range(W)))
