def flatten(d, prefix=""):
    out = {}
    for k, v in d.items():
        key = f"{prefix}.{k}" if prefix else k
        if isinstance(v, dict):
            out.update(flatten(v, key))
        elif isinstance(v, list):
            for i, item in enumerate(v):
                out.update(flatten(item, f"{key}[{i}]") if isinstance(item, dict) else {f"{key}[{i}]": item})
        else:
            out[key] = v
    return out

def deep_merge(a, b):
    result = dict(a)
    for k, v in b.items():
        result[k] = deep_merge(result[k], v) if isinstance(v, dict) and isinstance(result.get(k), dict) else v
    return result

config = {"db": {"host": "localhost", "ports": [5432, 5433]}, "debug": False, "users": [{"n": "a"}, {"n": "b"}]}
for k, v in flatten(config).items():
    print(f"{k} = {v!r}")
print(deep_merge(config, {"db": {"host": "prod"}, "debug": True})["db"])
