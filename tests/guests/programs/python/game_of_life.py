"""Conway's Game of Life on a set of cells: glider, blinker, and detection of a cycle."""
from collections import Counter


def step(cells):
    near = Counter((x + dx, y + dy) for x, y in cells for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy)
    return frozenset(c for c, n in near.items() if n == 3 or (n == 2 and c in cells))


def parse(text):
    return frozenset((x, y) for y, row in enumerate(text.splitlines()) for x, c in enumerate(row) if c == "#")


def show(cells, w, h):
    return "\n".join("".join("#" if (x, y) in cells else "." for x in range(w)) for y in range(h))


def cycle(cells, limit=500):
    seen = {}
    for generation in range(limit):
        if cells in seen:
            return seen[cells], generation - seen[cells]
        seen[cells] = generation
        cells = step(cells)
    return None


glider = parse(".#.\n..#\n###")
g = glider
for i in range(5):
    print(f"generation {i}, {len(g)} alive")
    print(show(g, 6, 6))
    g = step(g)
blinker = parse("...\n###\n...")
print("blinker cycle", cycle(blinker))
pent = frozenset((x, 10) for x in range(10))
print("pentadecathlon", cycle(pent))
r = parse(".##\n##.\n.#.")
sizes = []
for _ in range(100):
    sizes.append(len(r))
    r = step(r)
print("r-pentomino", sizes[::10])
