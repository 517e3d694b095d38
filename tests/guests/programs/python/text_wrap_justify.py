"""Justify text to a width, count words, find the longest palindrome and make an index."""
import string
import textwrap
from collections import defaultdict

TEXT = """It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of
foolishness, it was the epoch of belief, it was the epoch of incredulity, it was the season of Light,
it was the season of Darkness, it was the spring of hope, it was the winter of despair."""


def justify(text, width):
    lines, line = [], []
    for word in text.split():
        if sum(map(len, line)) + len(line) + len(word) > width:
            gaps = max(len(line) - 1, 1)
            spaces = width - sum(map(len, line))
            for i in range(spaces):
                line[i % gaps] += " "
            lines.append("".join(line))
            line = []
        line.append(word)
    lines.append(" ".join(line))
    return lines


for row in justify(TEXT, 42):
    print(f"|{row:<42}|")
words = TEXT.lower().translate(str.maketrans("", "", string.punctuation)).split()
counts = defaultdict(int)
for w in words:
    counts[w] += 1
for w, n in sorted(counts.items(), key=lambda p: (-p[1], p[0]))[:6]:
    print(f"{w:>8} {n}")
index = defaultdict(list)
for number, line in enumerate(TEXT.splitlines(), 1):
    for w in line.lower().split():
        w = w.strip(string.punctuation)
        if len(w) > 6 and number not in index[w]:
            index[w].append(number)
print({k: index[k] for k in sorted(index)})


def longest_palindrome(s):
    best = ""
    for centre in range(len(s)):
        for lo, hi in ((centre, centre), (centre, centre + 1)):
            while lo >= 0 and hi < len(s) and s[lo] == s[hi]:
                lo, hi = lo - 1, hi + 1
            best = max(best, s[lo + 1 : hi], key=len)
    return best


print(longest_palindrome("forgeeksskeegfor"), longest_palindrome("abacdfgdcaba"))
print(textwrap.fill(TEXT, 50, initial_indent="* ", subsequent_indent="  "))
print(textwrap.shorten(TEXT, 40, placeholder="…"))
print(textwrap.dedent("""
    a
      b
    c""").strip())
print("ßtraße".casefold(), "İ".lower().encode(), "ǆ".title(), "naïve café".title(), "x".center(7, "·"))
