moves = []
def hanoi(n, a, b, c):
    if n:
        hanoi(n - 1, a, c, b)
        moves.append((a, c))
        hanoi(n - 1, b, a, c)

hanoi(4, "A", "B", "C")
print(len(moves))
print(" ".join(f"{a}>{b}" for a, b in moves))
