def lcs(a, b):
    table = [[""] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            if x == y:
                table[i + 1][j + 1] = table[i][j] + x
            else:
                table[i + 1][j + 1] = max(table[i + 1][j], table[i][j + 1], key=len)
    return table[-1][-1]

def levenshtein(a, b):
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            current.append(min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (x != y)))
        previous = current
    return previous[-1]

pairs = [("kitten", "sitting"), ("AGGTAB", "GXTXAYB"), ("intention", "execution"), ("", "abc")]
for a, b in pairs:
    print(f"{a!r:12} {b!r:12} lcs={lcs(a, b)!r} distance={levenshtein(a, b)}")
