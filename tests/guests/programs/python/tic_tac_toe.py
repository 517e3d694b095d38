"""Perfect tic-tac-toe by minimax with memoisation; plays against itself and from given openings."""
from functools import lru_cache

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def winner(board):
    for a, b, c in LINES:
        if board[a] != " " and board[a] == board[b] == board[c]:
            return board[a]
    return None


def moves(board):
    return [i for i, cell in enumerate(board) if cell == " "]


@lru_cache(maxsize=None)
def minimax(board, player):
    win = winner(board)
    if win:
        return (1 if win == "X" else -1), None
    if " " not in board:
        return 0, None
    best = None
    for move in moves(board):
        after = board[:move] + player + board[move + 1 :]
        score, _ = minimax(after, "O" if player == "X" else "X")
        if best is None or (score > best[0] if player == "X" else score < best[0]):
            best = (score, move)
    return best


def show(board):
    rows = [" | ".join(board[i : i + 3]) for i in (0, 3, 6)]
    return "\n---------\n".join(rows)


def play(board, player):
    while winner(board) is None and " " in board:
        _, move = minimax(board, player)
        board = board[:move] + player + board[move + 1 :]
        player = "O" if player == "X" else "X"
    return board


final = play(" " * 9, "X")
print(show(final))
print("winner:", winner(final) or "draw")
for opening in ("X        ", "XO       ", "X O X    "):
    player = "X" if opening.count("X") == opening.count("O") else "O"
    score, move = minimax(opening, player)
    print(repr(opening), player, "plays", move, "score", score)
print("positions:", minimax.cache_info().currsize)
