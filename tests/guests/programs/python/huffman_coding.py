import heapq
from collections import Counter

def huffman(text):
    heap = [[freq, [ch, ""]] for ch, freq in sorted(Counter(text).items())]
    heapq.heapify(heap)
    while len(heap) > 1:
        lo, hi = heapq.heappop(heap), heapq.heappop(heap)
        for pair in lo[1:]:
            pair[1] = "0" + pair[1]
        for pair in hi[1:]:
            pair[1] = "1" + pair[1]
        heapq.heappush(heap, [lo[0] + hi[0]] + lo[1:] + hi[1:])
    return dict(sorted(heap[0][1:], key=lambda p: (len(p[1]), p)))

text = "this is an example of a huffman tree"
codes = huffman(text)
for ch, code in codes.items():
    print(repr(ch), code)
encoded = "".join(codes[c] for c in text)
print(len(text) * 8, "->", len(encoded))
reverse, out, buf = {v: k for k, v in codes.items()}, "", ""
for bit in encoded:
    buf += bit
    if buf in reverse:
        out += reverse[buf]
        buf = ""
print(out)
