import json

payload = '{"users":[{"id":2,"name":"Bob","tags":["a","b"],"active":true},{"id":1,"name":"Zoë","tags":[],"active":false}],"next":null}'
doc = json.loads(payload)
doc["users"].sort(key=lambda u: u["id"])
doc["count"] = len(doc["users"])
print(json.dumps(doc, indent=2, ensure_ascii=False))
print(json.dumps(doc["users"][0], sort_keys=True, separators=(",", ":")))
try:
    json.loads('{"a": [1, 2,}')
except json.JSONDecodeError as e:
    print(f"{e.msg} at line {e.lineno} column {e.colno}")
