"""Backtracking: N queens, a sudoku solver, subset sum and a knight's tour."""


def queens(n, row=0, cols=frozenset(), d1=frozenset(), d2=frozenset(), placed=()):
    if row == n:
        yield placed
        return
    for c in range(n):
        if c not in cols and row + c not in d1 and row - c not in d2:
            yield from queens(n, row + 1, cols | {c}, d1 | {row + c}, d2 | {row - c}, (*placed, c))


def sudoku(grid):
    best = None
    for i in range(81):
        if grid[i] == "0":
            r, c = divmod(i, 9)
            used = {grid[r * 9 + k] for k in range(9)} | {grid[k * 9 + c] for k in range(9)}
            used |= {grid[(r // 3 * 3 + a) * 9 + c // 3 * 3 + b] for a in range(3) for b in range(3)}
            options = [d for d in "123456789" if d not in used]
            if best is None or len(options) < len(best[1]):
                best = (i, options)
    if best is None:
        return grid
    i, options = best
    for d in options:
        if solved := sudoku(grid[:i] + d + grid[i + 1 :]):
            return solved
    return None


def subsets(numbers, target):
    if target == 0:
        return [[]]
    if not numbers or target < 0:
        return []
    head, *tail = numbers
    return [[head, *s] for s in subsets(tail, target - head)] + subsets(tail, target)


def knight(n):
    moves = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)]
    board, pos = {(0, 0): 1}, (0, 0)
    for step in range(2, n * n + 1):
        free = lambda p: [(p[0] + a, p[1] + b) for a, b in moves if 0 <= p[0] + a < n and 0 <= p[1] + b < n and (p[0] + a, p[1] + b) not in board]
        options = free(pos)
        if not options:
            return board, False
        pos = min(options, key=lambda p: (len(free(p)), p))
        board[pos] = step
    return board, True


solutions = list(queens(6))
print(len(solutions), solutions[0], len(list(queens(8))))
print("\n".join(" ".join("Q" if c == q else "." for c in range(6)) for q in solutions[0]))
puzzle = "530070000600195000098000060800060003400803001700020006060000280000419005000080079"
answer = sudoku(puzzle)
for r in range(9):
    print(" ".join(answer[r * 9 : r * 9 + 9]))
print(subsets([3, 34, 4, 12, 5, 2], 9))
board, whole = knight(6)
print("tour complete" if whole else f"stuck at {len(board)}")
print("\n".join(" ".join(f"{board.get((r, c), 0):2}" for c in range(6)) for r in range(6)))
