"""LZW and LZ77 compression, Burrows-Wheeler and move-to-front; checks against gzip, bz2 and lzma."""
import bz2
import gzip
import lzma


def lzw(text):
    table = {chr(i): i for i in range(256)}
    word, out = "", []
    for c in text:
        if word + c in table:
            word += c
        else:
            out.append(table[word])
            table[word + c] = len(table)
            word = c
    return out + [table[word]] if word else out


def unlzw(codes):
    table = {i: chr(i) for i in range(256)}
    previous = table[codes[0]]
    out = [previous]
    for code in codes[1:]:
        entry = table.get(code, previous + previous[0])
        out.append(entry)
        table[len(table)] = previous + entry[0]
        previous = entry
    return "".join(out)


def lz77(data, window=20):
    i, out = 0, []
    while i < len(data):
        best = (0, 0)
        for j in range(max(0, i - window), i):
            k = 0
            while i + k < len(data) - 1 and data[j + k] == data[i + k]:
                k += 1
            best = max(best, (k, i - j))
        out.append((best[1], best[0], data[i + best[0]]))
        i += best[0] + 1
    return out


def bwt(s):
    s += "$"
    return "".join(r[-1] for r in sorted(s[i:] + s[:i] for i in range(len(s))))


def ibwt(s):
    table = [""] * len(s)
    for _ in s:
        table = sorted(c + row for c, row in zip(s, table))
    return next(r for r in table if r.endswith("$"))[:-1]


def mtf(s):
    alphabet, out = sorted(set(s)), []
    for c in s:
        i = alphabet.index(c)
        out.append(i)
        alphabet.insert(0, alphabet.pop(i))
    return out


text = "TOBEORNOTTOBEORTOBEORNOT"
codes = lzw(text)
print(codes, unlzw(codes) == text, len(text), len(codes))
print(lz77("abracadabra abracadabra"))
b = bwt("banana bandana")
print(b, ibwt(b), mtf(b))
data = b"pack me " * 200
for module in (gzip, bz2, lzma):
    packed = module.compress(data)
    print(module.__name__, len(packed) < 100, module.decompress(packed) == data)
with gzip.open("t.gz", "wt") as f:
    f.write("line\n" * 3)
print(gzip.open("t.gz", "rt").readlines(), len(gzip.compress(b"x", mtime=0)))
