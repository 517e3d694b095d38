"""What an editor wants to know at a place in a text: meaning, continuations, definitions, uses. Offsets are characters.

The text is usually half-written, so these look at words rather than at a syntax tree, and give less instead of failing. Only a
rename, which must be right everywhere, wants a text that can be read.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from lark import Token

from policy.lowering.vocabulary import write_target
from policy.model.catalog import EFFECTS, Capability, Catalog, Field
from policy.model.kinds import KINDS
from policy.model.patterns import PATTERN_WORDS
from policy.model.settings import EXECUTORS, ON_ERROR, RATE_SCOPES, SETTINGS
from policy.syntax.parser import expressions, parse
from policy.syntax.statement_recovery import STATEMENTS, TAKE_SETS, find_last_statement
from policy.syntax.tree import Hook, LetDef, Limit, Prove, Rule, Scope, SetDef, Test, Truth, list_atoms, offsets
from policy.text.diagnostics import Diagnostic, Findings
from policy.text.sources import Source

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_TOKEN = re.compile(r'"[^"\n]*"|#[^\n]*|[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*|\d[\w/]*|==|!=|<=|>=|=>|\.\.|\.\*|\S')
_DEFINITION = re.compile(r"^[ \t]*(set|let|hook)[ \t]+([A-Za-z_][\w.]*)", re.M)
KEYWORDS: dict[str, str] = {
    "policy": "Begins a policy: `policy NAME v VERSION`.",
    "narrows": "Names a base: nothing may be permitted here that the base refuses. Proved at compile time.",
    "catalog": "Pins the catalog of capabilities by digest.",
    "import": "Brings in another file's definitions and rules, by relative path.",
    "set": 'Names a set of values: `set partners = { "api.acme.example" }`.',
    "let": "Names a condition: `let senior = session.role == lead and session.mfa`.",
    "scope": "Adds a condition to every rule, limit and hook in its braces.",
    "allow": "Permits without approval. Beaten by ask and deny.",
    "ask": "Permits after approval: `by NAME within 15m`. Beats allow, beaten by deny.",
    "deny": "Refuses. Beats everything; an exception is written `deny … when … and not …`.",
    "when": "The condition under which a statement applies.",
    "rate": "At most this number of calls: `rate 60/min per session`.",
    "per": "What a rate is counted for: session, tenant, user or capability.",
    "by": "Who approves.",
    "within": "How long an approval may take before it lapses.",
    "auto": "Approval by rule: where this condition holds, no person is asked.",
    "because": "The reason shown to people.",
    "limit": "Upper bounds for a capability. Several matching limits combine by minimum.",
    "hook": "A program that runs around a call or at a moment of a session.",
    "before": "The hook runs before the call and can block it (pre_tool_use).",
    "after": "The hook runs after the call and can change its result (post_tool_use).",
    "uses": "The capabilities a hook's program may call.",
    "sha256": 'The digest of a hook\'s program: `run wasm "redact.wasm" sha256:…` runs no other one under that name.',
    "timeout": "How long a hook may run.",
    "on_error": "What happens when a hook fails: block, allow or warn.",
    "prove": "A claim that is proved before deployment: `prove no CAPABILITY when CONDITION`.",
    "test": "Requests and the verdicts they must get.",
    "under": "The path is this one or lies below it, segment by segment; `{user}` in it stands for that field.",
    "like": "The text fits a pattern with one `*`, any run of characters: in a path within a segment, in a host within a label.",
    "starts": "The text begins so, character by character. For paths use `under`.",
    "ends": "The text ends so, character by character.",
    "segment": 'One of a path\'s segments: `path any segment == ".env"`, `in { … }`, `starts "secret"`, `ends ".bak"`.',
    "with": "`any with effects { … }`: every capability that has one of these effects.",
    "in": "Is one of a set, or lies in a range `1..10`.",
    "any": "`any with effects { … }`: every capability that has one of these effects; `any segment`: one of a path's segments.",
}
_NAME_SETS = PATTERN_WORDS | {"under"}
_AFTER_FIELD = {"any": ("segment", "with"), "segment": ("in", "starts", "ends")}
Kind = Literal["keyword", "capability", "field", "value", "definition"]


class Suggestion(NamedTuple):
    text: str
    kind: Kind
    detail: str


class Place(NamedTuple):
    start: int
    end: int


def word_at(text: str, offset: int) -> tuple[str, Place] | None:
    """The dotted word around an offset, unless it stands in a comment or a string."""
    line_start = text.rfind("\n", 0, offset) + 1
    line_end = text.find("\n", offset)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    for match in _TOKEN.finditer(line):
        if match.start() <= offset - line_start <= match.end() and _WORD.fullmatch(match.group()):
            return match.group(), Place(line_start + match.start(), line_start + match.end())
    return None


def definitions(text: str) -> dict[str, tuple[str, Place]]:
    """Sets, lets and hooks defined in a text: kind and place of the name."""
    return {m.group(2): (m.group(1), Place(m.start(2), m.end(2))) for m in _DEFINITION.finditer(text)}


def references(text: str, offset: int) -> tuple[str, list[Place]] | None:
    """The set, let or hook whose name stands at an offset, and every place of it: definition and uses, never a value or a
    field of the same name. None where no such name stands, or where the text cannot be read."""
    findings = Findings()
    tree = parse(Source("", text), findings)
    found: dict[tuple[str, str], list[Place]] = {}

    def note(kind: str, token: Token) -> None:
        found.setdefault((kind, str(token)), []).append(Place(*offsets(token)))

    defined: set[tuple[str, str]] = set()
    for item in (inner for outer in tree.items for inner in ((outer, *outer.items) if isinstance(outer, Scope) else (outer,))):
        for kind, of in (("set", SetDef), ("let", LetDef), ("hook", Hook)):
            if isinstance(item, of):
                note(kind, item.name)
                defined.add((kind, str(item.name)))
        for atom in (atom for expr in expressions(item) for atom in list_atoms(expr)):
            if isinstance(atom, Truth):
                note("let", atom.name)
            elif atom.values and (atom.values[0].kind == "set" or (atom.op in _NAME_SETS and atom.values[0].kind == "symbol")):
                note("set", atom.values[0].token)
    for key, places in found.items():
        if key in defined and not findings.errors and any(place.start <= offset <= place.end for place in places):
            return key[1], sorted(places)
    return None


class Symbol(NamedTuple):
    """A statement in an outline: what it is, its name, where it stands and where its name does."""

    kind: Literal["set", "let", "hook", "rule", "limit", "test", "claim", "scope"]
    name: str
    place: Place
    name_place: Place


def symbols(text: str) -> list[Symbol]:
    """The outline of a text: all statements that can be read, in order. A statement's place ends with its last line."""
    tree = parse(Source("", text), Findings())
    found: list[Symbol] = []
    for item in (inner for outer in tree.items for inner in ((outer, *outer.items) if isinstance(outer, Scope) else (outer,))):
        named = _name_symbol(item)
        if named is None:
            continue
        kind, name, first, last = named
        start, end = offsets(first)[0], offsets(last)[1]
        begin = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", end)
        place = Place(begin + len(text[begin:start]) - len(text[begin:start].lstrip()), line_end if line_end >= 0 else len(text))
        found.append(Symbol(kind, name, place, Place(start, end)))
    return found


def _name_symbol(item: object) -> tuple[Any, str, Token, Token] | None:
    """Kind and name of a statement, and the first and last token of the name."""
    for kind, of in (("set", SetDef), ("let", LetDef), ("hook", Hook)):
        if isinstance(item, of):
            return kind, str(item.name), item.name, item.name
    if isinstance(item, Test):
        return "test", str(item.title)[1:-1], item.title, item.title
    if isinstance(item, (Rule, Limit, Prove)):
        token = item.target.token or (item.target.effects[0].token if item.target.effects else None)
        if token is not None:
            first = item.effect if isinstance(item, Rule) else token
            word = str(item.effect) if isinstance(item, Rule) else "limit" if isinstance(item, Limit) else "prove no"
            kind = "rule" if isinstance(item, Rule) else "limit" if isinstance(item, Limit) else "claim"
            return kind, f"{word} {write_target(item.target)}", first, token
    return None


class Fix(NamedTuple):
    """A change that a finding suggests: what stands at its place is replaced."""

    title: str
    text: str


_GUESS = re.compile(r"did you mean `([^`]+)`\?\Z")
_IN_QUOTES = re.compile(r'write `("[^"`]*")` if the text is meant')


def find_fix(finding: Diagnostic) -> Fix | None:
    """What a finding's hint says to write instead, where it says so in full."""
    for pattern in (_GUESS, _IN_QUOTES):
        found = pattern.match(finding.hint or "")
        if found is not None and finding.span is not None and finding.span.end > finding.span.start:
            return Fix(f"write {found.group(1)}", found.group(1))
    return None


def name_fault(text: str, name: str, catalog: Catalog) -> str | None:
    if not _WORD.fullmatch(name) or name.split(".")[0] in ("allow", "ask", "deny"):
        return f"`{name}` is not a name"
    fields = {field for capability in catalog.capabilities.values() for field in capability.fields}
    if name in definitions(text) or name in fields or name in (*catalog.context, *catalog.capabilities, "true", "false"):
        return f"`{name}` is already the name of something else"
    return None


def hover(text: str, offset: int, catalog: Catalog) -> tuple[str, Place] | None:
    found = word_at(text, offset)
    if found is None:
        return None
    word, place = found
    capability = _find_capability(text, place.start, catalog)
    field = catalog.context.get(word) or (capability.fields.get(word) if capability and capability.name != word else None)
    defined = definitions(text).get(word)
    if field is not None:
        return describe_field(field), place
    if word in catalog.capabilities:
        return describe_capability(catalog.capabilities[word]), place
    if defined is not None:
        line_end = text.find("\n", defined[1].start)
        source = text[text.rfind("\n", 0, defined[1].start) + 1 : line_end if line_end >= 0 else len(text)].strip()
        return f"```hatch\n{source}\n```", place
    if word in SETTINGS and _statement_words(text, offset)[:1] == ["limit"]:
        return f"**{word}** ({SETTINGS[word].kind}): {SETTINGS[word].doc}", place
    for table in (KEYWORDS, EXECUTORS, ON_ERROR, RATE_SCOPES):
        if word in table:
            return f"**{word}**: {table[word]}", place
    return None


def describe_field(field: Field) -> str:
    kind = "one of " + ", ".join(field.values) if field.type.shape == "choice" else field.kind
    if field.type.is_number and not field.type.units:
        kind = f"number, {field.low:,} to {field.high:,}"
    default = "" if field.default is None else f", default {str(field.default).lower()}"
    missing = "" if field.usable else "; may be missing, so it cannot be used in conditions"
    return f"**{field.name}**: {kind}{default}{missing}\n\n{field.doc}"


def describe_capability(capability: Capability) -> str:
    fields = "\n".join(f"- `{f.name}`: {', '.join(f.values) if f.values else f.kind}" for f in capability.fields.values())
    return f"**{capability.name}** (effects: {', '.join(capability.effects)})\n\n{capability.doc}\n\n{fields}"


def complete(text: str, offset: int, catalog: Catalog) -> list[Suggestion]:
    start = offset
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_."):
        start -= 1
    words = _statement_words(text, start)
    if not words:
        return [Suggestion(word, "keyword", KEYWORDS.get(word, "")) for word in STATEMENTS]
    last = words[-1]
    if not text[text.rfind("\n", 0, start) + 1 : start].strip() and words.count("{") == words.count("}"):
        starters = (*STATEMENTS, *(("rate", "by", "auto", "because") if words[0] in ("allow", "ask", "deny") else ()))
        return [Suggestion(word, "keyword", KEYWORDS.get(word, "")) for word in starters]
    if words[0] == "limit" and "{" in words:
        return [Suggestion(name, "field", setting.doc) for name, setting in SETTINGS.items()]
    for trigger, table in (("per", RATE_SCOPES), ("on_error", ON_ERROR)):
        if last == trigger:
            return [Suggestion(word, "value", doc) for word, doc in table.items()]
    if words[0] == "hook" and last == "run" and words[-2:-1] not in (["before"], ["after"]):
        return [Suggestion(word, "value", doc) for word, doc in EXECUTORS.items()]
    if _in_braces_after(words, "effects"):
        return [Suggestion(effect, "value", "effect") for effect in EFFECTS]
    in_test = words[0] == "test" and last in ("}", "auto")
    if in_test or last in ("allow", "ask", "deny", "limit", "no", "before", "after") or _in_braces_after(words, "uses"):
        return [Suggestion(c.name, "capability", c.doc) for _, c in sorted(catalog.capabilities.items())]
    if last in TAKE_SETS[1:] or words[-2:] == ["segment", "in"]:
        return _sets(text)
    if last in _AFTER_FIELD:
        return [Suggestion(word, "keyword", KEYWORDS[word]) for word in _AFTER_FIELD[last]]
    capability = _find_capability(text, start, catalog)
    values = _values(words, capability, catalog, text)
    if values is not None:
        return values
    if last in ("when", "and", "or", "not", "(", "scope", "=", "as", ",", "{"):
        return _fields(capability, catalog, text, lets=words[0] != "test")
    looks = _list_looks(last, capability, catalog)
    offered = ("when", "rate", "by", "auto", "because", "in", *looks, "timeout", "on_error")
    return [Suggestion(word, "keyword", KEYWORDS[word]) for word in offered]


def _list_looks(name: str, capability: Capability | None, catalog: Catalog) -> list[str]:
    """The words that may follow a field because of its kind."""
    field = catalog.context.get(name) or (capability.fields.get(name) if capability is not None else None)
    kind = field.type if field is not None else KINDS["path"]
    words = ["under"] if kind.separator == "/" else []
    return words + list(dict.fromkeys("any" if word.startswith("segment") else word for word in kind.patterns))


def _values(words: list[str], capability: Capability | None, catalog: Catalog, text: str) -> list[Suggestion] | None:
    """After `field ==`, `field in`, `field in {` or a record's `field`: what the field can hold."""
    index = len(words) - 1
    while index > 0 and words[index] not in ("==", "!=", "in"):
        if words[index] in ("and", "or", "not", "when", "}"):
            break
        index -= 1
    name = words[index - 1] if index > 0 and words[index] in ("==", "!=", "in") else words[-1]
    field = catalog.context.get(name) or (capability.fields.get(name) if capability is not None else None)
    if field is None or (name == words[-1] and words[0] != "test"):
        return None
    own = list(capability.fields.values()) if capability is not None else []
    others = [f for f in (*own, *catalog.context.values()) if f.usable and f.kind == field.kind == "name" and f.name != name]
    compared = words[-1] in ("==", "!=")
    found = [Suggestion(f.name, "field", f"{f.kind}  {f.doc}") for f in others if compared]
    found += [
        Suggestion(value, "value", field.name)
        for value in field.values or (("true", "false") if field.type.shape == "flag" else ())
    ]
    if words[-1] == "in":
        found += _sets(text)
    return found


def _sets(text: str) -> list[Suggestion]:
    return [Suggestion(name, "definition", "set") for name, (kind, _) in definitions(text).items() if kind == "set"]


def _fields(capability: Capability | None, catalog: Catalog, text: str, *, lets: bool) -> list[Suggestion]:
    own = list(capability.fields.values()) if capability is not None else []
    found = [Suggestion(f.name, "field", f"{f.kind}  {f.doc}") for f in (*own, *catalog.context.values()) if f.usable]
    if lets:
        found += [Suggestion(n, "definition", "let") for n, (kind, _) in definitions(text).items() if kind == "let"]
    return found


def _statement_words(text: str, offset: int) -> list[str]:
    """The tokens of the statement an offset stands in, up to the offset."""
    return [m.group() for m in _TOKEN.finditer(text, find_last_statement(text, offset), offset) if m.group()[0] != "#"]


def _find_capability(text: str, offset: int, catalog: Catalog) -> Capability | None:
    """The capability the statement around an offset is about; in a test, the one of the request being written."""
    words = _statement_words(text, offset)
    names = [word for word in words if word in catalog.capabilities]
    return catalog.capabilities[names[-1] if words[0] == "test" else names[0]] if names else None


def _in_braces_after(words: list[str], opener: str) -> bool:
    if "{" not in words:
        return False
    last_open = len(words) - 1 - words[::-1].index("{")
    return last_open > 0 and words[last_open - 1] == opener and "}" not in words[last_open:]
