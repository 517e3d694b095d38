"""Unicode: normalisation, categories, width-aware table, encodings, bytes, emoji, sorting by key."""
import codecs
import unicodedata

rows = [("Name", "City", "Notes"), ("Zoë", "Malmö", "café"), ("李雷", "北京", "你好"), ("Ωmega", "Αθήνα", "ß ﬁ ½"), ("👩‍💻", "🌍", "e\u0301")]


def width(text):
    return sum(0 if unicodedata.combining(c) or c == "\u200d" else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


columns = [max(width(r[i]) for r in rows) for i in range(3)]
for r in rows:
    print(" | ".join(cell + " " * (w - width(cell)) for cell, w in zip(r, columns)))
for ch in "aÉ1½☃👍\u200d":
    print(f"U+{ord(ch):04X} {unicodedata.category(ch)} {unicodedata.name(ch, '?')}")
print(unicodedata.normalize("NFC", "e\u0301") == "é", len(unicodedata.normalize("NFD", "é")), unicodedata.normalize("NFKC", "ﬁ½"))
strip = lambda s: "".join(c for c in unicodedata.normalize("NFD", s) if not unicodedata.combining(c))
print(strip("Crème Brûlée Ångström"), sorted(["éa", "eb", "Ea", "ez"], key=lambda s: strip(s).lower()))
for enc in ("utf-8", "utf-16-le", "latin-1", "cp1252", "utf-7", "ascii"):
    try:
        print(enc, "naïve €".encode(enc))
    except UnicodeEncodeError as e:
        print(enc, "cannot:", e.reason, e.start, e.object[e.start : e.end])
print("naïve".encode("ascii", "ignore"), "naïve".encode("ascii", "xmlcharrefreplace"), "☃".encode("ascii", "backslashreplace"))
print(b"caf\xe9".decode("latin-1"), b"caf\xe9".decode("utf-8", "replace"), b"\xff\xfeh\x00i\x00".decode("utf-16"))
print(codecs.encode("Hello", "rot13"), "ÀÉ".lower(), "straße".upper(), "ŉ".upper(), "Σας".casefold() == "σασ")
print("๓".isdigit(), int("٣"), unicodedata.numeric("½"), "x²".isidentifier(), "é".isalpha(), "\u00a0".isspace(), "abc\u0000".isprintable())
print(ascii("é☃👍"), "\N{SNOWMAN}", "a\tb".expandtabs(4), repr("\x7f\u200b"), "👍"[0] == "👍", len("👩‍💻"))
print("İstanbul".lower(), [hex(ord(c)) for c in "İ".lower()], "ΟΔΟΣ".lower(), bytes(range(3)).hex(" "), bytearray(b"ab")[0])
print("%s %r %5.2f|%-6s|%+d|%%" % ("é", "é", 3.14159, "ab", 5), "{0!r:>8}|{1:^7}|{x[k]}".format("a", "b", x={"k": 1}))
