def line(x0, y0, x1, y1):
    dx, dy = abs(x1 - x0), -abs(y1 - y0)
    sx, sy = (1 if x0 < x1 else -1), (1 if y0 < y1 else -1)
    err = dx + dy
    while True:
        yield x0, y0
        if (x0, y0) == (x1, y1): return
        e2 = 2 * err
        if e2 >= dy: err += dy; x0 += sx
        if e2 <= dx: err += dx; y0 += sy

canvas = [[" "] * 24 for _ in range(10)]
for a, b in [((0, 0), (23, 9)), ((0, 9), (23, 0)), ((0, 5), (23, 5))]:
    for x, y in line(*a, *b): canvas[y][x] = "#"
print("\n".join("".join(r).rstrip() for r in canvas))
