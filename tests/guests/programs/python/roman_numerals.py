"""Roman numerals both ways, number words, and base conversion."""
PAIRS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()


def to_roman(n: int) -> str:
    if not 0 < n < 4000:
        raise ValueError(f"out of range: {n}")
    out = ""
    for value, letters in PAIRS:
        count, n = divmod(n, value)
        out += letters * count
    return out


def from_roman(text: str) -> int:
    values = dict((b, a) for a, b in PAIRS)
    numbers = [values[c] for c in text]
    return sum(-a if a < b else a for a, b in zip(numbers, numbers[1:] + [0]))


def words(n: int) -> str:
    if n < 0:
        return "minus " + words(-n)
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10] + ("-" + ONES[n % 10] if n % 10 else "")
    for size, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if n >= size:
            rest = n % size
            return words(n // size) + f" {name}" + (f" {'and ' if rest < 100 else ''}{words(rest)}" if rest else "")


def base(n, b):
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    return (base(n // b, b) if n >= b else "") + digits[n % b]


for n in (1, 4, 9, 14, 40, 90, 400, 1994, 2024, 3999):
    assert from_roman(to_roman(n)) == n
    print(f"{n:>5} {to_roman(n):<10} {words(n)}")
print(words(-1_000_042), "|", words(7_654_321), base(255, 2), base(123456, 36))
try:
    to_roman(4000)
except ValueError as e:
    print("ValueError:", e)
