"""Parse XML with ElementTree and HTML with html.parser; build XML; escape."""
import html
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from xml.dom import minidom

doc = """<?xml version="1.0"?>
<catalog xmlns:x="urn:x">
  <book id="b1" lang="en"><title>XML &amp; You</title><price currency="EUR">12.50</price><x:note>n</x:note></book>
  <book id="b2"><title>Zen</title><price currency="USD">7</price></book>
</catalog>"""
root = ET.fromstring(doc)
for book in root.findall("book"):
    print(book.get("id"), book.findtext("title"), float(book.find("price").text), book.find("price").attrib)
print(root.find("./book[@id='b2']/title").text, [e.tag for e in root.iter()][-3:])
print(sum(float(p.text) for p in root.iter("price")), root.find("book/{urn:x}note").text)
new = ET.SubElement(root, "book", id="b3")
ET.SubElement(new, "title").text = 'a < b & "c"'
root.remove(root.find("book[@id='b1']"))
ET.indent(root)
print(ET.tostring(root, encoding="unicode"))
try:
    ET.fromstring("<a><b></a>")
except ET.ParseError as e:
    print("parse error", e.position)
print(minidom.parseString("<r><c k='v'>t</c></r>").documentElement.firstChild.toxml())


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.text, self.stack = [], [], []

    def handle_starttag(self, tag, attrs):
        self.stack.append(tag)
        if tag == "a":
            self.links.append(dict(attrs).get("href"))

    def handle_endtag(self, tag):
        while self.stack and self.stack.pop() != tag:
            pass

    def handle_data(self, data):
        if data.strip() and "script" not in self.stack:
            self.text.append(data.strip())


p = Links()
p.feed("<html><body><h1>Hi&nbsp;there</h1><p>See <a href='/x?a=1&amp;b=2'>this</a> or <a href=y>that</a><br><script>var a = '<b>';</script></body>")
print(p.links, p.text)
print(html.escape("<a href='x'>"), html.unescape("&lt;&eacute;&#x263a;&notanentity;"))
