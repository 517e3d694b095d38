def slide(row):
    tiles = [t for t in row if t]
    out, score = [], 0
    while tiles:
        if len(tiles) > 1 and tiles[0] == tiles[1]:
            out.append(tiles[0] * 2); score += tiles[0] * 2; tiles = tiles[2:]
        else:
            out.append(tiles.pop(0))
    return out + [0] * (4 - len(out)), score

def move(board, direction):
    rotations = {"left": 0, "up": 1, "right": 2, "down": 3}[direction]
    for _ in range(rotations):
        board = [list(r) for r in zip(*board)][::-1]
    rows = [slide(r) for r in board]
    board, score = [r for r, _ in rows], sum(s for _, s in rows)
    for _ in range((4 - rotations) % 4):
        board = [list(r) for r in zip(*board)][::-1]
    return board, score

board = [[2, 2, 4, 4], [0, 2, 0, 2], [4, 4, 4, 4], [2, 0, 0, 8]]
for d in ("left", "up", "right", "down"):
    after, score = move(board, d)
    print(d, score)
    for row in after:
        print("".join(f"{t or '.':>4}" for t in row))
