def step(live):
    from collections import Counter
    counts = Counter((x + dx, y + dy) for x, y in live for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy)
    return {cell for cell, n in counts.items() if n == 3 or (n == 2 and cell in live)}

def show(live, size=6):
    for y in range(size):
        print("".join("#" if (x, y) in live else "." for x in range(size)))
    print()

live = {(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)}
for generation in range(4):
    print("Generation", generation)
    show(live)
    live = step(live)
