grid = """
##..#
#...#
..##.
#...#
"""
cells = [list(line) for line in grid.strip().splitlines()]
rows, cols = len(cells), len(cells[0])
seen = set()

def fill(r, c):
    stack, size = [(r, c)], 0
    while stack:
        r, c = stack.pop()
        if (r, c) in seen or not (0 <= r < rows and 0 <= c < cols) or cells[r][c] != "#":
            continue
        seen.add((r, c))
        size += 1
        stack += [(r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)]
    return size

sizes = [s for r in range(rows) for c in range(cols) if (s := fill(r, c))]
print("components:", len(sizes), "sizes:", sizes)
