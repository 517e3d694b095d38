"""Random well-typed policies and requests, from a seed.

Policies are made as text, so that everything from the parser on is exercised; constants and request values come from the
same small pools, so that conditions are often true. The generator never looks at the code under test.
"""

from __future__ import annotations

from random import Random

from policy import Catalog, Field, make_catalog

_PROPERTIES = {
    "flag": {"type": "boolean"},
    "color": {"enum": ["red", "green", "blue", "grey"]},
    "count": {"type": "integer", "minimum": -5, "maximum": 20},
    "size": {"type": "integer", "x-type": "size", "minimum": 0, "maximum": 8192},
    "wait": {"type": "integer", "x-type": "duration", "minimum": 0, "maximum": 7000},
    "label": {"type": "string"},
    "file": {"type": "string", "format": "path"},
    "server": {"type": "string", "format": "hostname"},
    "level": {"type": "integer", "minimum": 0, "maximum": 9, "default": 4},
}
_ALL = list(_PROPERTIES)
CATALOG: Catalog = make_catalog(
    "fuzz",
    [
        {
            "name": name,
            "side_effect": effect,
            "input_schema": {
                "type": "object",
                "properties": {key: _PROPERTIES[key] for key in keys},
                "required": [key for key in keys if key != "level"],
            },
        }
        for name, effect, keys in (
            ("tool.one", "read", _ALL),
            ("tool.two", "write", ["flag", "color", "count", "file", "server"]),
            ("tool.three", "external_system", ["label", "level"]),
        )
    ],
)
TOOLS = ("tool.one", "tool.two", "tool.three")
COMMON = {
    "tool.one": _ALL,
    "tool.two": ["flag", "color", "count", "file", "server"],
    "tool.three": ["label", "level"],
    "tool.*": [],
}
NAMES = ["alpha", "beta", "gamma", "delta", "omega"]
HOSTS = ["api.acme.example", "acme.example", "www.acme.example", "deep.www.acme.example", "other.org", "evil-acme.example"]
PATTERNS = [*HOSTS, "*.acme.example", "*.www.acme.example", "*.other.org"]
PATHS = ["/", "/data", "/data/a", "/data/a/b", "/data/ab", "/work", "/work/.git", "/work/.git/x", "/database"]
SEGMENTS = ["data", "a", "ab", ".git", "x", "b", "work"]
HEADS = ["a", "al", "alpha", "be", "d", "data", ""]
TAILS = ["a", "ta", "pha", "b", "mega", ""]
PATH_PATTERNS = ["/data/*", "/data/a*", "/*/a", "/data/*/b", "/work/.g*", "/d*a", "/data/a*b"]
HOST_PATTERNS = [
    "w*.acme.example",
    "*w.acme.example",
    "a*i.acme.example",
    "e*-acme.example.acme.example",
    "d*p.www.acme.example",
    "dee*.www.acme.example",
    "o*r.other.org",
]
MORE_HOSTS = ["w.acme.example", "ww.acme.example", "deeper.www.acme.example", "dp.www.acme.example"]
MORE_PATHS = [
    "/alpha",
    "/data/alpha/b",
    "/data/beta",
    "/work/beta/x",
    "/work/data/x/y",
    "/a",
    "/x/a",
    "/data/x/b",
    "/data/.git/ab",
    "/d/ta/a",
    "/da",
]
CONTEXT = ["tenant", "plan", "session.role", "session.mfa", "session.risk", "session.tainted", "user"]


def _field(capability: str, name: str) -> Field:
    found = CATALOG.field("tool.one" if capability == "tool.*" else capability, name)
    assert found is not None
    return found


def _value(rng: Random, field: Field) -> str:
    """A constant as it is written in the language."""
    if field.kind == "enum":
        return rng.choice(field.values)
    if field.kind == "name":
        return rng.choice(NAMES)
    if field.kind == "host":
        return f'"{rng.choice(PATTERNS)}"'
    if field.kind == "path":
        return f'"{rng.choice(PATHS)}"'
    return _number(rng, field)[1]


def _number(rng: Random, field: Field) -> tuple[int, str]:
    if field.kind == "size":
        number = rng.choice([0, 1, 2, 4, 8])
        return number * 1024, f"{number}KiB"
    if field.kind == "duration":
        number = rng.choice([0, 1, 2, 5])
        return number * 1000, f"{number}s"
    number = rng.randint(field.low, field.high)
    return number, str(number)


def atom(rng: Random, capability: str) -> str:
    name = rng.choice([*COMMON.get(capability, []) * 2, *CONTEXT])
    field = _field(capability, name)
    if field.kind == "bool":
        return rng.choice([name, f"not {name}", f"{name} == true", f"{name} != true"])
    if field.kind in ("int", "size", "duration"):
        (low, a), (high, b) = sorted([_number(rng, field), _number(rng, field)])
        assert low <= high
        return rng.choice(
            [f"{name} {rng.choice(['==', '!=', '<', '<=', '>', '>='])} {a}", f"{name} in {a}..{b}", f"{name} in {{ {a}, {b} }}"]
        )
    if field.kind in ("name", "path") and rng.random() < 0.2:
        return relation(rng, name, field.kind, capability)
    if field.type.patterns and rng.random() < 0.4:
        return pattern(rng, name, field.kind)
    if field.kind == "path" and rng.random() < 0.6:
        prefix = _value(rng, field)
        return rng.choice([f"{name} under {prefix}", f"{name} under {{ {prefix}, {_value(rng, field)} }}"])
    if rng.random() < 0.5:
        return f"{name} {rng.choice(['==', '!='])} {_value(rng, field)}"
    return f"{name} in {{ {', '.join(_value(rng, field) for _ in range(rng.randint(1, 4)))} }}"


def relation(rng: Random, name: str, kind: str, capability: str) -> str:
    """A condition about two fields."""
    others = [other for other in (*COMMON.get(capability, []), *CONTEXT) if other != name]
    other = rng.choice([other for other in others if _field(capability, other).kind == "name"])
    if kind == "name":
        return f"{name} {rng.choice(['==', '!='])} {other}"
    folder = rng.choice(["/{%s}", "/data/{%s}", "/work/{%s}/x", "/data/{%s}/b"]) % other
    more = rng.choice(["", "", f', "{rng.choice(PATHS[1:])}"'])
    return f'{name} under {{ "{folder}"{more} }}' if more else f'{name} under "{folder}"'


def pattern(rng: Random, name: str, kind: str) -> str:
    """A condition that looks inside a text."""
    if kind == "host":
        return f'{name} like "{rng.choice(HOST_PATTERNS)}"'
    if kind == "name":
        like = f"{rng.choice(HEADS)}*{rng.choice(TAILS)}"
        texts = {"like": "a*a" if like == "*" else like, "starts": rng.choice(HEADS[:-1]), "ends": rng.choice(TAILS[:-1])}
        word = rng.choice(list(texts))
        return f'{name} {word} "{texts[word]}"'
    segment = rng.choice(SEGMENTS)
    return rng.choice(
        [
            f'{name} ends "{rng.choice(["a", "ab", ".git", "/b", "ta/a"])}"',
            f'{name} like "{rng.choice(PATH_PATTERNS)}"',
            f'{name} any segment == "{segment}"',
            f'{name} any segment in {{ "{segment}", "{rng.choice(SEGMENTS)}" }}',
            f'{name} any segment starts {{ "{segment[:2]}", "{rng.choice(SEGMENTS)[:1]}" }}',
            f'{name} any segment ends "{segment[-1:]}"',
        ]
    )


def expression(rng: Random, capability: str, lets: list[str], depth: int = 3) -> str:
    shape = rng.random()
    if depth == 0 or shape < 0.35:
        return rng.choice(lets) if lets and rng.random() < 0.15 else atom(rng, capability)
    if shape < 0.5:
        return f"not ({expression(rng, capability, lets, depth - 1)})"
    word = " and " if shape < 0.8 else " or "
    parts = [f"({expression(rng, capability, lets, depth - 1)})" for _ in range(rng.randint(2, 3))]
    return word.join(parts)


def policy_text(rng: Random, *, rules: int = 6, comments: bool = False) -> str:
    """A policy that lowers without errors (its rules may be dead, and its claims false)."""
    lines = ["policy fuzz v 1"]
    lets: list[str] = []
    for number in range(rng.randint(0, 2)):
        lines.append(f"let cond{'abc'[number]} = {expression(rng, 'none', lets, 2)}")
        lets.append(f"cond{'abc'[number]}")
    body = [_statement(rng, lets, number) for number in range(rng.randint(1, rules))]
    if rng.random() < 0.4:
        cut = rng.randint(0, len(body))
        lines += [f"scope {expression(rng, 'none', lets, 1)} {{", *body[:cut], "}", *body[cut:]]
    else:
        lines += body
    if comments:
        lines = [line + (rng.choice(["", "  # why", "\n# own line", "\n\n\n# apart"])) for line in lines]
    return "\n".join(lines) + "\n"


def _statement(rng: Random, lets: list[str], number: int) -> str:
    capability = rng.choice([*TOOLS, "tool.one", "tool.*"])
    when = "" if rng.random() < 0.1 else f" when {expression(rng, capability, lets)}"
    shape = rng.random()
    if shape < 0.12:
        return f"limit {capability}{when} {{ {rng.choice(['cpu 1s', 'cpu 2s', 'cpu 3s memory 1MiB', 'memory 2MiB'])} }}"
    if shape < 0.24:
        moment = rng.choice([f"after {capability}", f"before {capability}", "session_start"])
        when = when if "tool" in moment else f" when {expression(rng, 'none', lets, 1)}"
        digest = f" sha256:{number % 10:064d}" if number % 2 else ""
        return f'hook h{number} on {moment}{when} run wasm "h.wasm"{digest} timeout 50ms on_error block'
    rate = f" rate {rng.randint(1, 3)}/min per session" if rng.random() < 0.3 else ""
    if shape < 0.55:
        return f"allow {capability}{when}{rate}"
    if shape < 0.75:
        auto = f" auto when {expression(rng, capability, lets, 1)}" if rng.random() < 0.5 else ""
        return f"ask {capability}{when}{rate} by {rng.choice(['boss', 'peer'])} within {rng.choice(['5m', '1h'])}{auto}"
    return f"deny {capability}{when}" + (' because "no"' if rng.random() < 0.3 else "")


def wide_policy_text(rng: Random, rules: int = 40) -> str:
    """Many rules on one capability, most with a condition by which they are looked up, so that tables are built."""
    lines = ["policy wide v 1"]
    ways = rng.choice([["label", "color", "count"], ["file"], ["server"], ["range"], ["label", "file", "server", "range"]])
    for _ in range(rules):
        verdict = rng.choice(["allow", "allow", "allow", "deny", "ask"])
        low = rng.randint(-5, 19)
        key = {
            "label": f"label == {rng.choice(NAMES)}",
            "color": f"color == {rng.choice(['red', 'green', 'blue'])}",
            "count": f"count == {rng.randint(0, 9)}",
            "file": f'file under {{ "{rng.choice(PATHS[1:])}", "{rng.choice([*PATHS[1:], *MORE_PATHS])}" }}',
            "server": f'server in {{ "{rng.choice(PATTERNS)}", "{rng.choice(PATTERNS)}" }}',
            "range": f"count in {low}..{min(20, low + rng.choice([0, 1, 3]))}",
        }[rng.choice(ways)]
        more = f" and {atom(rng, 'tool.one')}" if rng.random() < 0.7 else ""
        tail = (
            " by boss within 5m"
            if verdict == "ask"
            else (" rate 5/min per session" if verdict == "allow" and rng.random() < 0.2 else "")
        )
        lines.append(f"{verdict} tool.one when {key if rng.random() < 0.85 else atom(rng, 'tool.one')}{more}{tail}")
    return "\n".join(lines) + "\n"


def request(rng: Random, *, broken: float = 0.03) -> tuple[str, dict[str, object]]:
    """An event and attributes; now and then something is missing or of the wrong type."""
    event = rng.choice([*TOOLS, "tool.one", "tool.one", "session_start"])
    values: dict[str, object] = {}
    for name in (*COMMON.get(event, []), *CONTEXT):
        field = _field(event if event in TOOLS else "tool.one", name)
        if not field.required and rng.random() < 0.3:
            continue
        if rng.random() < broken:
            if rng.random() < 0.5:
                values[name] = rng.choice([None, [], {}, 1.5, "", "..", -1, 10**9, True, "Red", "/data/", "A.example", 1])
            continue
        values[name] = concrete(rng, field)
    return event, values


def concrete(rng: Random, field: Field) -> object:
    if field.kind == "bool":
        return rng.random() < 0.5
    if field.kind == "enum":
        return rng.choice(field.values)
    if field.kind == "name":
        return rng.choice([*NAMES, "unheard", "", "a", "ata", "al", "beta-mega", "dta", "aa"])
    if field.kind == "host":
        return rng.choice(
            [*HOSTS, "x.api.acme.example", "acme.example.evil.org", "org", "w.acme.example", "ww.acme.example", "evil-a.example"]
        )
    if field.kind == "path":
        return rng.choice(
            [*PATHS, "/data/a/b/c", "/work/.gitx", "/elsewhere", "/a", "/x/a", "/data/x/b", "/data/.git/ab", "/d/ta/a", "/da"]
        )
    if rng.random() < 0.5:
        return rng.choice([_number(rng, field)[0], min(field.high, _number(rng, field)[0] + 1)])
    return rng.randint(field.low, field.high)
