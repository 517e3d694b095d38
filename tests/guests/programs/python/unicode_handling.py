import unicodedata
s = "naïve café — ½ Straße 日本 🎉 e\u0301"
print(len(s), s.upper(), s.casefold())
print([hex(ord(c)) for c in "é🎉"], "🎉".encode("utf-8"), "é".encode("utf-16-le"))
print(unicodedata.normalize("NFC", "e\u0301") == "é", unicodedata.name("½"), unicodedata.numeric("½"))
print([unicodedata.category(c) for c in "a1 _—é"])
print(s.encode("ascii", "xmlcharrefreplace").decode()[:40], s.encode("ascii", "replace").decode()[:12])
print("ǆ".title(), "ß".upper(), "İ".lower().encode(), "٣".isdigit(), int("٣"))
