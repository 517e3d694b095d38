from html.parser import HTMLParser

page = """<html><head><title>Shop</title></head><body>
<ul id="items"><li class="item">Tea <b>$4</b></li><li class="item sold">Pot <b>$12</b></li></ul>
<a href="/next?page=2&amp;x=1">Next</a><!-- hidden --><br/></body></html>"""

class Scraper(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.items, self.stack, self.title = [], [], [], ""
    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.stack.append(tag)
        if tag == "a": self.links.append(attrs.get("href"))
        if tag == "li": self.items.append([attrs["class"].split(), ""])
    def handle_startendtag(self, tag, attrs): pass
    def handle_endtag(self, tag):
        while self.stack and self.stack.pop() != tag: pass
    def handle_data(self, data):
        if "title" in self.stack: self.title += data
        elif "li" in self.stack: self.items[-1][1] += data

s = Scraper()
s.feed(page)
print(s.title, s.links)
for classes, text in s.items: print(text.strip(), classes)
