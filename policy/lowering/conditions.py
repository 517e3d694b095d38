"""Conditions: from what was written to canonical expressions, with names, types, units and ranges checked.

Rules: every mistake is reported where it stands and the rest is still checked. Lets are expanded in definition order, never
recursively, and their expanded size is known before they are expanded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from lark import Token
from msgspec.structs import replace

from policy.lowering.vocabulary import LetEntry, Size, Targets, Vocabulary
from policy.model import ir
from policy.model.catalog import Capability, Field
from policy.model.patterns import PATTERN_WORDS
from policy.syntax import tree as s
from policy.syntax.parser import MAX_DEPTH
from policy.text.literals import INT_MAX, INT_MIN, is_path
from policy.text.sources import Source, Span

MAX_ATOMS = 5_000
_FOLDER_OF = re.compile(r"(?P<head>/(?:[^{}/]+/)*)\{(?P<name>[a-z_][a-z0-9_.]*)\}(?P<tail>(?:/[^{}/]+)*)", re.I)
MAX_ATOMS_IN_ALL = 50_000


@dataclass(slots=True)
class Conditions(Vocabulary):
    atoms: int = 0
    _over: bool = False
    _let_cache: dict[tuple[int, int], ir.Expr | None] = field(default_factory=dict)
    _fields: dict[tuple[str, int], Field | None] = field(default_factory=dict)
    _atoms: dict[tuple[str, str, int], ir.Expr | None] = field(default_factory=dict)
    _early: dict[str, list[tuple[Token, Source]]] = field(default_factory=dict)

    def locate(self, expr: s.Expr) -> Span:
        return Span(self.source, *s.find_written(expr, self.source.text))

    def spoil(self) -> ir.Expr:
        """Stands for a condition that could not be understood; a caller that compares `faults` does not use it."""
        self.faults += 1
        return ir.TRUE

    def define_let(self, name: Token, expr: s.Expr) -> None:
        size = self._measure(expr)
        for atom in s.list_atoms(expr):
            if isinstance(atom, s.Truth) and atom.name not in self.lets:
                self._early.setdefault(str(atom.name), []).append((atom.name, self.source))
        if size.atoms > MAX_ATOMS or size.depth > MAX_DEPTH:
            what = f"{size.atoms:,} comparisons" if size.atoms > MAX_ATOMS else f"{size.depth} levels"
            self.error("HP047" if size.atoms > MAX_ATOMS else "HP002", f"`{name}` expands to {what}", name, "split the policy")
            size = size._replace(broken=True)
        self.lets[str(name)] = LetEntry(name, expr, self.source, len(self.lets), size)
        self._refuse_early_uses(name)

    def _measure(self, expr: s.Expr) -> Size:
        """What an expression expands to; the lets it refers to are in use from now on."""
        needs, atoms, deepest, broken = 0, 0, 0, False
        for atom in s.list_atoms(expr):
            let = self.lets.get(atom.name) if isinstance(atom, s.Truth) else None
            atoms += let.size.atoms if let else 1
            if let:
                let.used = True
                needs |= let.size.needs | (1 << let.index)
                deepest = max(deepest, let.size.depth)
                broken = broken or let.size.broken
        return Size(needs, atoms, s.measure_depth(expr) + deepest, broken)

    def _refuse_early_uses(self, name: Token) -> None:
        """THREAT[TM-POL-008]: a let that uses a later one, or itself, has no meaning, and rules that use it would vanish."""
        here = self.source
        for token, source in self._early.get(str(name), ()):
            itself = s.offsets(token) > s.offsets(name) and source is here
            self.source = source
            what = "uses itself" if itself else "is used before it is defined"
            self.error("HP022", f"`{name}` {what}", token, "define what it needs first, and leave it out of its own condition")
        self.source = here

    def conjuncts(self, expr: s.Expr | None, targets: Targets) -> list[tuple[ir.Expr, Span]]:
        """Each top-level conjunct with its place, so a message can name the smallest part that fails."""
        if expr is None:
            return []
        parts = expr.items if isinstance(expr, s.Joined) and expr.word == "and" else [expr]
        if self.atoms > MAX_ATOMS_IN_ALL:
            # THREAT[TM-POL-001]: lets make a short text stand for very many comparisons.
            if not self._over:
                words = f"the policy expands to more than {MAX_ATOMS_IN_ALL:,} comparisons"
                self.findings.add("HP047", words, self.locate(expr), "split the policy")
            self._over = True
            return [(self.spoil(), self.locate(expr))]
        return [(self.lower(part, targets), self.locate(part)) for part in parts]

    def lower(self, expr: s.Expr, targets: Targets) -> ir.Expr:
        """One condition. After a mistake the result is meaningless; `findings` says so."""
        if isinstance(expr, s.Comparison):
            self.atoms += 1
            return self._atom(expr, targets)
        size = self._measure(expr)
        if size.broken:
            return self.spoil()
        if size.atoms > MAX_ATOMS or size.depth > MAX_DEPTH:
            words = f"the condition expands to {size.atoms:,} comparisons"
            self.findings.add("HP047", words, self.locate(expr), "split the rule")
            return self.spoil()
        self.atoms += size.atoms
        for let in self.lets.values() if size.needs else ():
            key = (let.index, id(targets))
            if size.needs >> let.index & 1 and key not in self._let_cache:
                before, self.source, faults = self.source, let.source, self.faults
                lowered = self._walk(let.expr, targets)
                self._let_cache[key] = lowered if self.faults == faults else None
                self.source = before
        return self._walk(expr, targets)

    def _walk(self, root: s.Expr, targets: Targets) -> ir.Expr:
        pending: list[tuple[s.Expr, bool]] = [(root, False)]
        done: list[ir.Expr] = []
        while pending:
            node, ready = pending.pop()
            if isinstance(node, (s.Truth, s.Comparison)):
                done.append(self._atom(node, targets))
            elif not ready:
                pending.append((node, True))
                pending.extend((item, False) for item in (node.items[::-1] if isinstance(node, s.Joined) else [node.item]))
            elif isinstance(node, s.Wrapped):
                done[-1] = ir.negate(done[-1]) if node.mark == "not" else done[-1]
            else:
                parts = done[len(done) - len(node.items) :]
                del done[len(done) - len(node.items) :]
                done.append(ir.conj(parts) if node.word == "and" else ir.disj(parts))
        return done[0]

    def _atom(self, atom: s.Atom, targets: Targets) -> ir.Expr:
        self.about = targets
        let = self.lets.get(atom.name) if isinstance(atom, s.Truth) else None
        if let is not None:
            return self._let_cache.get((let.index, id(targets))) or self.spoil()
        field_ = self.resolve(atom.name if isinstance(atom, s.Truth) else atom.field, targets)
        if field_ is None:
            return ir.TRUE
        if isinstance(atom, s.Truth):
            if field_.type.shape != "flag":
                self.misfit(field_, ", not a yes-or-no field", atom.name)
            return ir.Lit(field_.name, "true")
        if atom.op in PATTERN_WORDS:
            return self._lower_pattern(field_, atom)
        if atom.op in ("in", ".."):
            return self._lower_within(field_, atom) if atom.op == "in" else self._lower_between(field_, atom)
        return self._lower_under(field_, atom, targets) if atom.op == "under" else self._compare(field_, atom, targets)

    def resolve(self, token: Token, targets: Targets) -> Field | None:
        """The field a name stands for in a rule about `targets` (none: a scope), or None after reporting."""
        known = self.catalog.context.get(token)
        if known is not None:
            return known
        key = (str(token), id(targets))
        if key not in self._fields:
            self._fields[key] = self._resolve(token, targets)
        elif self._fields[key] is None:
            self._resolve(token, targets)
        return self._fields[key]

    def _resolve(self, token: Token, targets: Targets) -> Field | None:
        name = str(token)
        if not targets:
            owners = [c.name for c in self.catalog.capabilities.values() if name in c.fields]
            if owners:
                message = f"`{name}` is a field of {owners[0]}, and this condition holds for more than that"
                self.error("HP034", message, token, "use it in the rule itself")
            else:
                self._report_unknown_field(token, (), "the caller")
            return None
        fields = [field for target in targets if (field := self._find_own_field(token, target, targets[0])) is not None]
        if len(fields) < len(targets):
            return None
        # A number that some of them can hold says something.
        low, high = min(field.low for field in fields), max(field.high for field in fields)
        return fields[0] if len(fields) == 1 else replace(fields[0], low=low, high=high)

    def _find_own_field(self, token: Token, target: Capability, first: Capability) -> Field | None:
        """The field of one capability, if a condition on it means the same as for the `first`; or None after reporting."""
        own = target.fields.get(token)
        if own is None and token in target.left_out:
            self.error("HP021", f"`{token}` of {target.name} cannot be decided on: {target.left_out[token]}", token)
        elif own is None:
            self._report_unknown_field(token, tuple(target.fields), target.name)
        elif not own.usable:
            message = f"`{token}` may be missing from a call of {target.name} and has no default"
            self.error("HP028", message, token, "make it required in the tool's schema, or give it a default")
        elif (same := first.fields.get(token)) is not None and (own.kind, own.values) != (same.kind, same.values):
            message = f"`{token}` is {same.type.words} in {first.name} but {own.type.words} in {target.name}"
            self.error("HP030", message, token, "write one rule for each")
        else:
            return own
        return None

    def _report_unknown_field(self, token: Token, fields: tuple[str, ...], owner: str) -> None:
        otherwise = "fields: " + ", ".join(sorted(fields)) if fields else None
        hint = self.findings.guess(token, (*fields, *self.catalog.context, *self.lets), otherwise)
        self.error("HP021", f"{owner} has no field `{token}`", token, hint)

    def _lower_same(self, field_: Field, atom: s.Comparison, targets: Targets) -> ir.Expr:
        """Two fields: names, and equal or not."""
        assert isinstance(atom.op, Token)
        token = atom.values[0].token
        other = self.resolve(token, targets)
        if other is None:
            return ir.TRUE
        if field_.kind != "name" or other.kind != "name" or atom.op not in ("==", "!="):
            hint = f'write `"{token}"` if the text is meant; names are compared with `==` and `!=`'
            self.error("HP030", f"`{token}` is a field, {other.type.words}; `{field_.name}` is {field_.type.words}", token, hint)
            return ir.TRUE
        if other.name == field_.name:
            self.error("HP030", f"`{token}` is compared with itself", token, "delete the condition")
            return ir.TRUE
        first, second = sorted((field_.name, other.name))
        return ir.Lit(first, "same", (second,), atom.op == "!=")

    def _lower_beneath(self, field_: Field, value: s.Value, targets: Targets) -> ir.Expr:
        """A folder of which one segment is a name."""
        text = str(value.token)[1:-1]
        found = _FOLDER_OF.fullmatch(text)
        if found is None or not is_path(found["head"] + "x" + found["tail"]):
            self.error("HP039", f"`{text}` is no folder of a field", value.token, 'as in `under "/home/{user}"`')
            return ir.TRUE
        start = (value.token.start_pos or 0) + 1 + found.start("name")
        other = self.resolve(Token("NAME", found["name"], start_pos=start), targets)
        if other is None:
            return ir.TRUE
        if other.kind != "name":
            self.error(
                "HP030", f"`{other.name}` is {other.type.words}, not a name", value.token, "only a name stands for a segment"
            )
            return ir.TRUE
        return ir.Lit(field_.name, "beneath", (other.name, found["head"], found["tail"]))

    def _compare(self, field_: Field, atom: s.Comparison, targets: Targets) -> ir.Expr:
        op, (value,) = str(atom.op), atom.values
        if value.kind == "symbol" and str(value.token) not in field_.values and self.is_field(str(value.token)):
            return self._lower_same(field_, atom, targets)
        if field_.type.is_number:
            number = self.number(field_, value)
            if number is None:
                return ir.TRUE
            low, high = {
                "==": (number, number),
                "!=": (number, number),
                "<": (INT_MIN, number - 1),
                "<=": (INT_MIN, number),
                ">": (number + 1, INT_MAX),
                ">=": (number, INT_MAX),
            }[op]
            return ir.Lit(field_.name, "range", (low, high), op == "!=")
        if op not in ("==", "!="):
            assert isinstance(atom.op, Token)
            self.error("HP030", f"`{field_.name}` is {field_.type.words} and has no order", atom.op, "use ==, != or in")
            return ir.TRUE
        if field_.type.shape == "flag":
            if value.token not in ("true", "false"):
                self._refuse_flag(field_, value.token)
            return ir.Lit(field_.name, "true", (), (value.token == "true") == (op == "!="))
        lit = self._list(field_, atom.field, atom.values)
        return ir.negate(lit) if op == "!=" else lit

    def _refuse_flag(self, field_: Field, at: Token) -> None:
        self.error("HP030", f"`{field_.name}` is true or false", at, f"write `{field_.name}` or `not {field_.name}`")

    def _lower_within(self, field_: Field, atom: s.Comparison) -> ir.Expr:
        if not atom.values or atom.values[0].kind != "set":
            return self._list(field_, atom.field, atom.values)
        name = atom.values[0].token
        entry = self.sets.get(name)
        if entry is None:
            if name in self.lets:
                self.error("HP022", f"`{name}` is a condition, not a set", name, f"write `and {name}`")
            else:
                self.error("HP022", f"no set is called `{name}` here", name, self.findings.guess(name, self.sets))
            return ir.TRUE
        entry.used = True
        key = (str(name), field_.name, id(field_))
        if key not in self._atoms:
            before, self.source, faults = self.source, entry.source, self.faults
            lowered = self._list(field_, entry.name, entry.values)
            self._atoms[key] = lowered if self.faults == faults else None
            self.source = before
        return self._atoms[key] or self.spoil()

    def _list(self, field_: Field, at: Token, values: tuple[s.Value, ...]) -> ir.Expr:
        if not values:
            self._refuse_empty(at)
        elif field_.type.is_number:
            numbers = [self.number(field_, value) for value in values]
            return ir.disj(ir.Lit(field_.name, "range", (n, n)) for n in numbers if n is not None)
        elif field_.type.shape == "flag":
            self._refuse_flag(field_, at)
            return ir.TRUE
        texts = {text for value in values if (text := self.constant(field_, value)) is not None}
        return ir.Lit(field_.name, field_.type.within, tuple(sorted(texts)))

    def _refuse_empty(self, at: Token) -> None:
        self.error("HP033", "this set is empty", at, "an empty set matches nothing; write the values")

    def _lower_between(self, field_: Field, atom: s.Comparison) -> ir.Expr:
        first, last = atom.values
        if not field_.type.is_number:
            self.misfit(field_, ", not a number", first.token)
            return ir.TRUE
        low, high = self.number(field_, first), self.number(field_, last)
        if low is None or high is None:
            return ir.TRUE
        if low > high:
            words = f"nothing lies in {first.token}..{last.token}"
            self.error("HP033", words, first.token, "write the smaller number first")
        return ir.Lit(field_.name, "range", (low, high))

    def _lower_under(self, field_: Field, atom: s.Comparison, targets: Targets) -> ir.Expr:
        if field_.kind != "path":
            self.misfit(field_, "; only paths have parts", atom.field)
            return ir.TRUE
        folders: list[ir.Expr] = []

        def read(value: s.Value) -> str | None:
            if value.kind != "string" or "{" not in value.token:
                return self.constant(field_, value)
            folders.append(self._lower_beneath(field_, value, targets))
            return None

        prefixes = self._each(atom, read)
        if "/" in prefixes or not (prefixes or folders):
            return ir.TRUE
        return ir.disj([*([ir.Lit(field_.name, "under", prefixes)] if prefixes else []), *folders])

    def _lower_pattern(self, field_: Field, atom: s.Comparison) -> ir.Expr:
        word = str(atom.op)
        if word not in field_.type.patterns:
            self.misfit(field_, f", and `{word.split()[0]}` says nothing about it", atom.field)
            return ir.TRUE
        if atom.sign is not None and atom.sign != "==":
            self.error("HP030", f"`any segment` takes no `{atom.sign}`", atom.sign, "write `not … any segment == …`")
            return ir.TRUE
        patterns = self._each(atom, lambda value: self.pattern(field_, word, value))
        op = "segment" if word.startswith("segment") else f"like{field_.type.separator}" if word == "like" else "like"
        return ir.Lit(field_.name, cast(ir.Op, op), patterns) if patterns else self.spoil()

    def _each(self, atom: s.Comparison, read: Callable[[s.Value], str | None]) -> tuple[str, ...]:
        """What is read from each value of a condition, or of the set that it names, in order and once."""
        values, before = atom.values, self.source
        entry = self.sets.get(values[0].token) if len(values) == 1 and values[0].kind == "symbol" else None
        if entry is not None:
            entry.used = True
            values, self.source = entry.values, entry.source
        elif not values:
            self._refuse_empty(atom.field)
        found = {text for value in values if (text := read(value)) is not None}
        self.source = before
        return tuple(sorted(found))
