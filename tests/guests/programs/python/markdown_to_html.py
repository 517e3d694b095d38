"""A small Markdown converter: headings, lists, code fences, emphasis, links, tables, escaping."""
import html
import re
import sys


def inline(text):
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"(?<!\*)\*(?!\*)(.+?)\*", r"<em>\1</em>", text)
    return re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r'<a href="\2">\1</a>', text)


def convert(source):
    out, lines, i = [], source.splitlines(), 0
    while i < len(lines):
        line = lines[i]
        if line.startswith("```"):
            code = []
            i += 1
            while not lines[i].startswith("```"):
                code.append(html.escape(lines[i]))
                i += 1
            out.append(f'<pre class="{line[3:] or "text"}">' + "\n".join(code) + "</pre>")
        elif m := re.match(r"(#{1,6})\s+(.*)", line):
            out.append(f"<h{len(m[1])}>{inline(m[2])}</h{len(m[1])}>")
        elif re.match(r"[-*] ", line):
            items = []
            while i < len(lines) and re.match(r"[-*] ", lines[i]):
                items.append(f"  <li>{inline(lines[i][2:])}</li>")
                i += 1
            out += ["<ul>", *items, "</ul>"]
            continue
        elif "|" in line and i + 1 < len(lines) and re.fullmatch(r"[\s|:-]+", lines[i + 1]):
            cells = lambda row: [inline(c.strip()) for c in row.strip("|").split("|")]
            out.append("<table>\n  <tr>" + "".join(f"<th>{c}</th>" for c in cells(line)) + "</tr>")
            i += 2
            while i < len(lines) and "|" in lines[i]:
                out.append("  <tr>" + "".join(f"<td>{c}</td>" for c in cells(lines[i])) + "</tr>")
                i += 1
            out.append("</table>")
            continue
        elif line.strip():
            paragraph = [line]
            while i + 1 < len(lines) and lines[i + 1].strip() and not re.match(r"[#`*-]", lines[i + 1]):
                i += 1
                paragraph.append(lines[i])
            out.append(f"<p>{inline(' '.join(paragraph))}</p>")
        i += 1
    return "\n".join(out)


print(convert(sys.stdin.read()))
