"""Word ladder by BFS, anagram groups and a boggle solver."""
from collections import defaultdict, deque
from string import ascii_lowercase

WORDS = "cat cot cog dog dot hat hot hog bat bot log lot cop cap cab tac act god good goad load lead read dear dare".split()


def ladder(start, goal):
    words, queue = set(WORDS), deque([[start]])
    seen = {start}
    while queue:
        path = queue.popleft()
        if path[-1] == goal:
            return path
        for i in range(len(path[-1])):
            for c in ascii_lowercase:
                nxt = path[-1][:i] + c + path[-1][i + 1 :]
                if nxt in words and nxt not in seen:
                    seen.add(nxt)
                    queue.append([*path, nxt])
    return None


print(" -> ".join(ladder("cat", "dog")))
print(ladder("cat", "read"))
groups = defaultdict(list)
for w in WORDS:
    groups["".join(sorted(w))].append(w)
for key, group in sorted(groups.items()):
    if len(group) > 1:
        print(key, sorted(group))
BOARD = ["doga", "goad", "tach", "oclb"]


def boggle(board, words):
    prefixes = {w[:i] for w in words for i in range(1, len(w) + 1)}
    found = set()

    def walk(r, c, text, used):
        text += board[r][c]
        if text not in prefixes:
            return
        if text in words:
            found.add(text)
        for dr in (-1, 0, 1):
            for dc in (-1, 0, 1):
                nr, nc = r + dr, c + dc
                if 0 <= nr < 4 and 0 <= nc < 4 and (nr, nc) not in used:
                    walk(nr, nc, text, used | {(nr, nc)})

    for r in range(4):
        for c in range(4):
            walk(r, c, "", {(r, c)})
    return found


print(sorted(boggle(BOARD, set(WORDS))))
