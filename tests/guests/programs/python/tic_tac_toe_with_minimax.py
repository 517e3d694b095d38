WINS = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

def winner(b):
    for x, y, z in WINS:
        if b[x] != " " and b[x] == b[y] == b[z]:
            return b[x]
    return "draw" if " " not in b else None

def minimax(b, player, memo={}):
    key = "".join(b) + player
    if key in memo:
        return memo[key]
    w = winner(b)
    if w:
        return ({"X": 1, "O": -1, "draw": 0}[w], None)
    best = None
    for i in range(9):
        if b[i] == " ":
            b[i] = player
            score, _ = minimax(b, "O" if player == "X" else "X")
            b[i] = " "
            if best is None or (score > best[0] if player == "X" else score < best[0]):
                best = (score, i)
    memo[key] = best
    return best

board, player = [" "] * 9, "X"
while not winner(board):
    _, move = minimax(board, player)
    board[move] = player
    player = "O" if player == "X" else "X"
for r in range(3):
    print(" | ".join(board[3 * r:3 * r + 3]))
    if r < 2:
        print("-" * 9)
print("Result:", winner(board))
