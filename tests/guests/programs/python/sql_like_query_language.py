import re
table = [{"name": "ann", "age": 31, "city": "Oslo"}, {"name": "bob", "age": 25, "city": "Rome"}, {"name": "cid", "age": 42, "city": "Oslo"}]

def query(sql, rows):
    m = re.fullmatch(r"SELECT (.+?)(?: WHERE (\w+) ?(=|>|<) ?('?[\w]+'?))?(?: ORDER BY (\w+)( DESC)?)?(?: LIMIT (\d+))?", sql)
    if not m: raise SyntaxError(sql)
    fields, col, op, val, order, desc, limit = m.groups()
    if col:
        val = val.strip("'") if "'" in val else int(val)
        test = {"=": lambda a: a == val, ">": lambda a: a > val, "<": lambda a: a < val}[op]
        rows = [r for r in rows if test(r[col])]
    if order: rows = sorted(rows, key=lambda r: r[order], reverse=bool(desc))
    if limit: rows = rows[:int(limit)]
    names = list(table[0]) if fields == "*" else [f.strip() for f in fields.split(",")]
    return [[r[n] for n in names] for r in rows]

for sql in ["SELECT *", "SELECT name WHERE city = 'Oslo' ORDER BY age DESC", "SELECT name, age WHERE age > 26 LIMIT 1"]:
    print(sql, "->", query(sql, table))
try:
    query("DELETE everything", table)
except SyntaxError as e:
    print("syntax error:", e)
