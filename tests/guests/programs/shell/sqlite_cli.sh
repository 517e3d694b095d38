#!/usr/bin/env bash
# Use the sqlite3 command: create, import CSV, query in several modes.
set -euo pipefail
cat > people.csv <<'CSV'
id,name,city,age
1,Ann,Oslo,34
2,Bob,Rome,19
3,"Cid, Jr.",Oslo,52
CSV
sqlite3 db.sqlite 'CREATE TABLE pets(owner INT, name TEXT, kind TEXT);'
sqlite3 db.sqlite <<'SQL'
.mode csv
.import people.csv people
INSERT INTO pets VALUES (1, 'Rex', 'dog'), (1, 'Tom', 'cat'), (3, 'Ivy', 'cat');
SQL
sqlite3 db.sqlite "SELECT name, age FROM people ORDER BY CAST(age AS INT);"
sqlite3 -header -csv db.sqlite "SELECT p.name, count(pets.name) AS pets FROM people p LEFT JOIN pets ON pets.owner = p.id GROUP BY p.id ORDER BY pets DESC, p.name"
sqlite3 -json db.sqlite "SELECT kind, count(*) n FROM pets GROUP BY kind ORDER BY kind" | jq -c '.[]'
sqlite3 -column -header db.sqlite "SELECT name, city FROM people WHERE city = 'Oslo'"
sqlite3 db.sqlite ".tables"
sqlite3 db.sqlite "UPDATE people SET age = age + 1; SELECT total(age), changes() FROM people;"
sqlite3 :memory: "SELECT upper('abc') || length('hello'), date('2024-02-28', '+2 days'), printf('%05.1f', 3.14159)"
if ! sqlite3 db.sqlite "SELECT nope FROM people" 2>/dev/null; then echo "bad query is refused"; fi
sqlite3 -separator ' | ' db.sqlite "SELECT owner, group_concat(name, '+') FROM pets GROUP BY owner"
sqlite3 db.sqlite .schema | head -1
