def solve(n):
    solutions = []
    cols, diag1, diag2 = set(), set(), set()
    board = []

    def place(row):
        if row == n:
            solutions.append(board[:])
            return
        for col in range(n):
            if col in cols or row - col in diag1 or row + col in diag2:
                continue
            cols.add(col); diag1.add(row - col); diag2.add(row + col)
            board.append(col)
            place(row + 1)
            board.pop()
            cols.remove(col); diag1.remove(row - col); diag2.remove(row + col)

    place(0)
    return solutions

for n in range(1, 8):
    print(n, len(solve(n)))
for row in solve(6)[0]:
    print("." * row + "Q" + "." * (5 - row))
