python3 - <<'EOF'
import sqlite3
con = sqlite3.connect("app.db")
con.execute("CREATE TABLE t (k TEXT, v INT)")
con.executemany("INSERT INTO t VALUES (?, ?)", [("a", 1), ("b", 2), ("a", 5)])
con.commit()
EOF
python3 - <<'EOF'
import sqlite3
for row in sqlite3.connect("app.db").execute("SELECT k, SUM(v) FROM t GROUP BY k ORDER BY k"):
    print(*row)
EOF
ls -1 *.db
