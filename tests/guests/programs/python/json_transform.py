"""Reshape nested JSON: flatten keys, group, merge deeply, diff two documents."""
import json
import sys


def flatten(value, prefix=""):
    if isinstance(value, dict):
        for k, v in value.items():
            yield from flatten(v, f"{prefix}.{k}" if prefix else k)
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from flatten(v, f"{prefix}[{i}]")
    else:
        yield prefix, value


def merge(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return {k: merge(a[k], b[k]) if k in a and k in b else a.get(k, b.get(k)) for k in [*a, *(k for k in b if k not in a)]}
    if isinstance(a, list) and isinstance(b, list):
        return a + [x for x in b if x not in a]
    return b


def diff(a, b):
    left, right = dict(flatten(a)), dict(flatten(b))
    for key in sorted(left.keys() | right.keys()):
        if key not in right:
            yield f"- {key}: {left[key]!r}"
        elif key not in left:
            yield f"+ {key}: {right[key]!r}"
        elif left[key] != right[key]:
            yield f"~ {key}: {left[key]!r} -> {right[key]!r}"


base = json.loads('{"name":"app","version":1.0,"features":{"login":true,"roles":["admin","user"]},"limits":{"cpu":2,"mem":null}}')
over = json.loads('{"version":1.1,"features":{"roles":["guest"],"beta":{"on":false}},"limits":{"mem":512}}')
merged = merge(base, over)
print(json.dumps(merged, indent=2, sort_keys=True))
print("\n".join(diff(base, merged)))
print(json.dumps({"π": "naïve ☃", "tab": "\t", "emoji": "😀"}), json.dumps("☃", ensure_ascii=False))
print(json.dumps([1e100, 0.1 + 0.2, -0.0, 10**20, float("inf")]), json.loads("[1E5, -0, 3.0]"))
for text in ['{"a":1,}', "[1 2]", '{"a" 1}', "", '"\\x"', "nul"]:
    try:
        json.loads(text)
    except json.JSONDecodeError as e:
        print(f"{text!r}: line {e.lineno} column {e.colno} (char {e.pos})")
print(json.dumps({"b": 1, "a": [1, 2]}, separators=(",", ":"), sort_keys=True))
print(json.loads('{"x": 1.10}', parse_float=str), json.loads('{"k":1,"k":2}', object_pairs_hook=list))
try:
    json.dumps({1, 2})
except TypeError as e:
    print(e)
sys.exit(0 if merged["limits"]["mem"] == 512 else 1)
