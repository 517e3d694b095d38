import re
from urllib.parse import urlparse, parse_qs, urlencode, quote, urljoin

EMAIL = re.compile(r"^[\w.+-]+@[\w-]+(\.[\w-]+)+$")
for e in ["a@b.co", "first.last+tag@sub.example.org", "no-at.example.com", "two@@x.com", "a@b"]:
    print(f"{e:32} {'valid' if EMAIL.match(e) else 'invalid'}")
u = urlparse("https://user:pw@example.com:8443/a/b;p?q=1&q=2&r=%C3%A9#frag")
print(u.scheme, u.hostname, u.port, u.path, parse_qs(u.query), u.fragment)
print(urlencode({"name": "Ann & Bob", "n": 5}), quote("a b/ü"), urljoin("https://x.org/a/b.html", "../c.png"))
