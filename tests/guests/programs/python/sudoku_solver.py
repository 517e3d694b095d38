puzzle = """
530070000
600195000
098000060
800060003
400803001
700020006
060000280
000419005
000080079
"""
grid = [[int(ch) for ch in line] for line in puzzle.split()]

def candidates(r, c):
    used = set(grid[r]) | {grid[i][c] for i in range(9)}
    br, bc = 3 * (r // 3), 3 * (c // 3)
    used |= {grid[i][j] for i in range(br, br + 3) for j in range(bc, bc + 3)}
    return [d for d in range(1, 10) if d not in used]

def solve():
    empties = [(len(candidates(r, c)), r, c) for r in range(9) for c in range(9) if grid[r][c] == 0]
    if not empties:
        return True
    _, r, c = min(empties)
    for d in candidates(r, c):
        grid[r][c] = d
        if solve():
            return True
    grid[r][c] = 0
    return False

print(solve())
for row in grid:
    print(*row)
