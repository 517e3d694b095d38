"""Parse and build HTTP messages, URLs, cookies, MIME mail and JSON Web data without a network."""
import email
import email.message
import http.cookies
import http.client
import io
import mimetypes
import socket
import urllib.error
import urllib.parse
import urllib.request
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from http import HTTPStatus

u = urllib.parse.urlparse("https://user@example.com:8443/a/b;p?q=1&q=2&e=%C3%A9#frag")
print(u.scheme, u.hostname, u.port, u.path, u.params, u.fragment, urllib.parse.parse_qs(u.query))
print(urllib.parse.urlencode({"a": "x y", "b": ["1", "2"]}, doseq=True), urllib.parse.quote("a/b ü"), urllib.parse.unquote_plus("a+b%21"))
print(urllib.parse.urljoin("http://h/a/b/c", "../d?x"), urllib.parse.urlunparse(u._replace(netloc="h", query="")))
print(HTTPStatus(404).phrase, HTTPStatus.OK.value, http.client.responses[503])
c = http.cookies.SimpleCookie("a=1; b=\"two words\"")
c["s"] = "x"
c["s"]["path"] = "/"
c["s"]["httponly"] = True
print({k: v.value for k, v in c.items()}, c["s"].OutputString())
m = MIMEMultipart("alternative")
m["Subject"], m["From"], m["To"] = "Grüße", "a@x.org", "b@y.org"
m.attach(MIMEText("plain text", "plain"))
m.attach(MIMEText("<b>html</b>", "html"))
parsed = email.message_from_string(m.as_string())
print(parsed.is_multipart(), [p.get_content_type() for p in parsed.walk()], email.header.decode_header(parsed["Subject"])[0][1] if hasattr(email, "header") else "")
print(parsed.get_payload(0).get_payload().strip(), mimetypes.guess_type("x.tar.gz"), mimetypes.guess_type("a.json")[0])
req = urllib.request.Request("http://example.invalid/api", data=b"{}", headers={"X-Key": "k"}, method="PUT")
print(req.get_method(), req.full_url, req.get_header("X-key"), req.host)
try:
    urllib.request.urlopen(req, timeout=2)
except urllib.error.URLError as e:
    print("no network:", type(e).__name__)
except OSError as e:
    print("no network at all:", type(e).__name__)
try:
    socket.create_connection(("example.invalid", 80), timeout=1)
except OSError as e:
    print("OSError is right:", isinstance(e, OSError))
headers = http.client.parse_headers(io.BytesIO(b"Content-Type: text/html\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n"))
print(headers.get_content_type(), headers.get_all("Set-Cookie"))
