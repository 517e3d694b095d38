import sqlite3, os
if os.path.exists("bank.db"):
    os.remove("bank.db")
con = sqlite3.connect("bank.db")
con.execute("CREATE TABLE account (name TEXT PRIMARY KEY, balance INTEGER CHECK (balance >= 0))")
con.executemany("INSERT INTO account VALUES (?, ?)", [("alice", 100), ("bob", 20)])
con.commit()

def transfer(a, b, amount):
    try:
        with con:
            con.execute("UPDATE account SET balance = balance + ? WHERE name = ?", (amount, b))
            con.execute("UPDATE account SET balance = balance - ? WHERE name = ?", (amount, a))
        print("ok")
    except sqlite3.IntegrityError:
        print("insufficient funds")

transfer("alice", "bob", 70)
transfer("alice", "bob", 70)
con.close()
con = sqlite3.connect("bank.db")
print(con.execute("SELECT * FROM account ORDER BY name").fetchall())
print(con.execute("SELECT name, SUM(balance) OVER (ORDER BY name) FROM account").fetchall())
