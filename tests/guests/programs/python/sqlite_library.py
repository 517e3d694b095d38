"""A small library database in SQLite: schema, transactions, joins, window functions, rollback."""
import os
import sqlite3

path = "library.db"
if os.path.exists(path):
    os.remove(path)
con = sqlite3.connect(path)
con.row_factory = sqlite3.Row
con.executescript("""
PRAGMA foreign_keys = ON;
CREATE TABLE author(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE book(id INTEGER PRIMARY KEY, title TEXT, year INT, author_id INT REFERENCES author(id) ON DELETE CASCADE);
CREATE TABLE loan(book_id INT, who TEXT, day TEXT, PRIMARY KEY(book_id, day));
CREATE INDEX book_year ON book(year);
""")
with con:
    con.executemany("INSERT INTO author(name) VALUES (?)", [("Le Guin",), ("Lem",), ("Butler",)])
    con.executemany(
        "INSERT INTO book(title, year, author_id) VALUES (:t, :y, (SELECT id FROM author WHERE name = :a))",
        [
            {"t": "The Dispossessed", "y": 1974, "a": "Le Guin"},
            {"t": "Solaris", "y": 1961, "a": "Lem"},
            {"t": "The Lathe of Heaven", "y": 1971, "a": "Le Guin"},
            {"t": "Kindred", "y": 1979, "a": "Butler"},
            {"t": "The Cyberiad", "y": 1965, "a": "Lem"},
        ],
    )
    con.executemany("INSERT INTO loan VALUES (?, ?, ?)", [(1, "mia", "2024-01-02"), (2, "mia", "2024-01-03"), (1, "raj", "2024-02-01"), (4, "raj", "2024-02-02")])
for row in con.execute("SELECT a.name, count(*) n, min(year) first FROM author a JOIN book b ON b.author_id = a.id GROUP BY a.id ORDER BY n DESC, a.name"):
    print(dict(row))
query = """SELECT title, year, rank() OVER (PARTITION BY author_id ORDER BY year) AS r,
           sum(1) OVER (ORDER BY year) AS running FROM book ORDER BY year"""
for row in con.execute(query):
    print(tuple(row))
try:
    with con:
        con.execute("DELETE FROM author WHERE name = 'Lem'")
        print("books now", con.execute("SELECT count(*) FROM book").fetchone()[0])
        con.execute("INSERT INTO author(name) VALUES ('Butler')")
except sqlite3.IntegrityError as e:
    print("rolled back:", e)
print("books after", con.execute("SELECT count(*) FROM book").fetchone()[0])
con.create_function("initials", 1, lambda s: "".join(w[0] for w in s.split()))
print([r[0] for r in con.execute("SELECT initials(title) FROM book ORDER BY id")])
print(con.execute("SELECT group_concat(who, '+') FROM (SELECT DISTINCT who FROM loan ORDER BY who)").fetchone()[0])
print(con.execute("WITH RECURSIVE f(a,b) AS (VALUES(0,1) UNION ALL SELECT b,a+b FROM f LIMIT 10) SELECT a FROM f").fetchall()[-1][0])
print(con.execute("SELECT json_extract('{\"a\":[1,2,{\"b\":7}]}', '$.a[2].b')").fetchone()[0])
print(con.total_changes, os.path.getsize(path) > 0)
con.close()
try:
    con.execute("SELECT 1")
except sqlite3.ProgrammingError as e:
    print(e)
