"""Regular expressions: groups, lookaround, substitution with functions, verbose, split, templating, validation."""
import re

text = "Contact: jane.doe@example.com, +1 (555) 010-9999; bob@mail.co.uk / 555.123.4567. IBAN DE89 3704 0044 0532 0130 00"
print(re.findall(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", text))
print([m.group() for m in re.finditer(r"(?:\+\d\s)?\(?\d{3}\)?[ .-]\d{3}[.-]\d{4}", text)])
print(re.sub(r"(?<=\w)[\w.]*(?=@)", lambda m: "*" * len(m.group()), text)[:40])
date = re.compile(r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)")
print(date.sub(r"\g<d>/\g<m>/\g<y>", "from 2024-01-31 to 2024-02-29"))
print(re.split(r"\s*([,;])\s*", "a , b;c;  d"))
password = re.compile(r"""
    ^(?=.*[a-z])      # a small letter
     (?=.*[A-Z])      # a capital
     (?=.*\d)         # a digit
     (?!.*\s)         # no space
     .{8,}$""", re.VERBOSE)
for p in ("Secret12", "secret12", "Sec 1234X", "Short1"):
    print(p, bool(password.match(p)))
print(re.sub(r"([a-z])([A-Z])", r"\1_\2", "someCamelCaseName").lower())
print(re.sub(r"_(\w)", lambda m: m[1].upper(), "snake_case_name"))
print(re.findall(r"\b(\w)(\w*)\1\b", "abca xyz level noon aa a"))
template = "Hello {{ name }}, you owe {{amount}}; {{missing}}"
values = {"name": "Sam", "amount": 12.5}
print(re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda m: str(values.get(m[1], m[0])), template))
m = re.fullmatch(r"(\d+)(?:\.(\d+))?", "42")
print(m.groups(), m.groups(default="0"), m.span(), m.lastindex)
print(re.match(r"(a+)+b", "aaaaaaaaaaaaaaaaab").group())
print(re.findall(r"^\w+", "one\ntwo\nthree", re.M), re.search("o.t", "o\nt", re.S) is not None)
print(re.escape("1+1=2?"), re.sub("(?i)HELLO", "bye", "Hello hello"))
tokens = re.Scanner([(r"\d+", lambda s, t: ("INT", int(t))), (r"[a-z]+", lambda s, t: ("ID", t)), (r"[-+*/]", lambda s, t: ("OP", t)), (r"\s+", None)])
print(tokens.scan("x1 + 42*y ?"))
print(re.findall(r"(?<!\d)\d{2}(?!\d)", "1 22 333 44"))
try:
    re.compile("(unclosed")
except re.error as e:
    print(e, e.pos)
print(re.subn("a", "b", "banana", count=2))
