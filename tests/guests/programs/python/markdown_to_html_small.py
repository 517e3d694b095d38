import re, html

source = """# Title

Some *emphasis*, **strong** text and `code <b>`.

- first
- second with [a link](https://example.com/?a=1&b=2)

> quoted
"""

def inline(text):
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"\*(.+?)\*", r"<em>\1</em>", text)
    return re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r'<a href="\2">\1</a>', text)

out, in_list = [], False
for line in source.splitlines():
    if in_list and not line.startswith("- "):
        out.append("</ul>"); in_list = False
    if m := re.match(r"(#{1,6}) (.*)", line):
        out.append(f"<h{len(m[1])}>{inline(m[2])}</h{len(m[1])}>")
    elif line.startswith("- "):
        if not in_list:
            out.append("<ul>"); in_list = True
        out.append(f"  <li>{inline(line[2:])}</li>")
    elif line.startswith("> "):
        out.append(f"<blockquote>{inline(line[2:])}</blockquote>")
    elif line.strip():
        out.append(f"<p>{inline(line)}</p>")
print("\n".join(out))
