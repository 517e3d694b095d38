import random
random.seed(3)
W, H, MINES = 9, 6, 10
mines = set(random.sample([(x, y) for x in range(W) for y in range(H)], MINES))
def near(x, y):
    return sum((x + dx, y + dy) in mines for dx in (-1, 0, 1) for dy in (-1, 0, 1) if (dx, dy) != (0, 0))
def reveal(x, y, seen):
    stack = [(x, y)]
    while stack:
        x, y = stack.pop()
        if (x, y) in seen or not (0 <= x < W and 0 <= y < H) or (x, y) in mines:
            continue
        seen.add((x, y))
        if near(x, y) == 0:
            stack += [(x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
    return seen
start = next((x, y) for y in range(H) for x in range(W) if (x, y) not in mines and near(x, y) == 0)
seen = reveal(*start, set())
for y in range(H):
    print("".join(str(near(x, y) or "·") if (x, y) in seen else "■" for x in range(W)))
print(len(seen), "revealed")
