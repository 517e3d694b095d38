import sqlite3
con = sqlite3.connect(":memory:")
con.row_factory = sqlite3.Row
cur = con.cursor()
cur.executescript("""
CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT, year INT, author_id INT REFERENCES authors(id));
INSERT INTO authors (name) VALUES ('Le Guin'), ('Banks'), ('Lem');
""")
books = [("The Dispossessed", 1974, 1), ("Solaris", 1961, 3), ("Excession", 1996, 2), ("Lathe of Heaven", 1971, 1)]
cur.executemany("INSERT INTO books (title, year, author_id) VALUES (?, ?, ?)", books)
con.commit()
for row in cur.execute("""SELECT a.name, COUNT(*) AS n, MIN(b.year) AS first FROM authors a JOIN books b ON b.author_id = a.id
                          GROUP BY a.id ORDER BY n DESC, a.name"""):
    print(dict(row))
print(cur.execute("SELECT title FROM books WHERE year > ? ORDER BY year", (1970,)).fetchall()[0]["title"])
try:
    cur.execute("INSERT INTO authors (name) VALUES (NULL)")
except sqlite3.IntegrityError as e:
    print("refused:", e)
