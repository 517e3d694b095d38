"""The cells of a text field under patterns: one text for every way in which the field's conditions can come out.

A table of endings and inner parts (Aho and Corasick) and a tree of the constants that are compared from the beginning read a text
character by character. Which texts are enough?

- All in the tree, the few in which the two ends of a pattern overlap among them. Outside of the tree no text is equal to a
  constant, and of the beginnings it counts which were passed before it was left: the last one says so.
- Outside, where no pattern counts separators: after each beginning, a stand-in that leaves the tree and begins nothing, then one
  ending for each way in which endings and inner parts can come out. INVARIANT: every text T is matched by one of these, for T
  itself, put after the stand-in, ends as T does, holds what T holds and leaves the tree at the same beginning.
- Texts with few separators, which patterns within a segment or label can match: all states of the automaton, one text for each.

Characters that stand in no constant and have no role in the kind's form are alike, so one of them is enough.
Rules: what a text must look like is walked along, never filtered out afterwards; the answers come from `text/matching.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, cast

from policy.errors import UnsettledClaim
from policy.model import ir
from policy.model.catalog import Field, Scalar
from policy.model.kinds import KINDS
from policy.solver.cells import Cells, Run
from policy.solver.effort import Effort, OutOfBudget
from policy.text.matching import MATCHES, is_beneath

MAX_STEPS = 400_000
MAX_TEXTS = 20_000
_STEPS_FOR_ONE = 4  # steps of an automaton, and comparisons, for one step of the solver
_DEAD = -1
Condition = tuple[str, tuple[str, ...]]
Row = tuple[bool | str, ...]


class Slot(NamedTuple):
    """A place in a path where one of some names can stand, with what is around it."""

    head: str
    tail: str
    names: frozenset[str]

    def read(self, path: str) -> str:
        """The name there, or nothing."""
        name = path[len(self.head) :].split("/", 1)[0] if path.startswith(self.head) else ""
        return name if name in self.names and is_beneath(path, name, self.head, self.tail) else ""


class PatternCells(Cells):
    """`Cells` of a field of which some condition looks inside a text. A cell is a row of answers, one per condition and slot."""

    def __init__(
        self, field: Field, literals: Iterable[ir.Lit], effort: Effort, copies: int = 1, slots: tuple[Slot, ...] = ()
    ) -> None:
        """With `copies`, that many cells of one text each for each row, as far as there are texts."""
        self.field = field
        self._single, self._slots = copies > 1, slots
        self._conditions = tuple(sorted({(lit.op, cast("tuple[str, ...]", lit.args)) for lit in literals}))
        self._table = _tabulate(field.kind, self._conditions, copies, slots)
        why = self._table.why
        try:
            effort.spend(self._table.steps // _STEPS_FOR_ONE)
        except OutOfBudget:
            why = "the effort allowed for one policy is used up"
        if why:
            raise UnsettledClaim(why)
        self.witnesses = [*self._table.witnesses]
        self.full = (1 << len(self.witnesses)) - 1

    def runs(self, lit: ir.Lit) -> list[Run]:
        mask, found, start = self._find_mask(lit), list[Run](), -1
        for cell in range(mask.bit_length() + 1):
            if mask >> cell & 1:
                start = cell if start < 0 else start
            elif start >= 0:
                found.append((start, cell - 1))
                start = -1
        return found

    def _find_mask(self, lit: ir.Lit) -> int:
        return self._table.masks[lit.op, cast("tuple[str, ...]", lit.args)]

    def mask(self, lit: ir.Lit) -> int:
        found = self._find_mask(lit)
        return self.full & ~found if lit.neg else found

    def pick(self, mask: int) -> Scalar:
        """INVARIANT: where cells are single texts, only those: which fields have equal values depends on it."""
        return self.witnesses[(mask & -mask).bit_length() - 1] if self._single else super().pick(mask)

    def find_cell(self, value: Scalar) -> int:
        return self._table.cells[_answer(cast(str, value), self._conditions, self._slots)]


class _Table(NamedTuple):
    """The rows there are: a cell for each, its text, and the cells where each condition holds; what it cost to find them, and why
    they are not all, if they are not."""

    cells: dict[Row, int]
    witnesses: tuple[str, ...]
    masks: dict[Condition, int]
    steps: int
    why: str


@lru_cache(maxsize=64)
def _tabulate(kind: str, conditions: tuple[Condition, ...], copies: int, slots: tuple[Slot, ...]) -> _Table:
    folders = tuple(sorted(f"{slot.head}{name}{slot.tail}" for slot in slots for name in slot.names))
    texts, steps, why = list_texts(kind, (*conditions, *([("under", folders)] if folders else [])), copies)
    found: dict[Row, list[str]] = {}
    for text in texts:
        found.setdefault(_answer(text, conditions, slots), []).append(text)
    kept = [(row, text) for row, of in found.items() for text in _choose(of, copies)]
    cells = {row: cell for cell, (row, _) in reversed([*enumerate(kept)])}
    masks = {
        condition: sum(1 << cell for cell, (row, _) in enumerate(kept) if row[place])
        for place, condition in enumerate(conditions)
    }
    return _Table(cells, tuple(text for _, text in kept), masks, steps + len(texts) * (len(conditions) + len(slots)), why)


def _answer(text: str, conditions: tuple[Condition, ...], slots: tuple[Slot, ...]) -> Row:
    return (*[MATCHES[op](text, args) for op, args in conditions], *[slot.read(text) for slot in slots])


def _choose(texts: list[str], count: int) -> list[str]:
    """Different texts; an empty one is the last choice for a witness."""
    return [*(text for text in dict.fromkeys(texts) if text), *([""] if "" in texts else [])][:count]


class _Form(NamedTuple):
    """How texts of a kind are built: `begin` and `next` give the state of the form, `_DEAD` where no text goes on like this, and
    `whole` says whether a text may end there; `middle` is the one after an ordinary character. `others` are stand-ins for the
    characters that stand in no constant, by role; `marks` have a role of their own."""

    begin: int
    middle: int
    next: Callable[[int, str], int]
    whole: Callable[[int], bool]
    others: tuple[str, ...]
    marks: str = ""


_LETTERS = "xyzuvwabcdefghijklmnopqrst0123456789" + "".join(chr(code) for code in range(0x4E00, 0x4E00 + 8000))
_SLASH, _DOT, _DOTS, _PART, _OUTSIDE = range(5)


def _next_in_path(form: int, char: str) -> int:
    """Inside a path: after a slash, after `.` or `..` alone, within a segment. Empty and dotted segments end nowhere."""
    if form == _OUTSIDE:
        return _SLASH if char == "/" else _DEAD
    if char == "/":
        return _SLASH if form == _PART else _DEAD
    return {_SLASH: _DOT, _DOT: _DOTS}.get(form, _PART) if char == "." else _PART


_LABEL, _ZERO, _DIGITS, _HEX, _NAME, _HYPHEN = range(6)


def _next_in_host(form: int, char: str) -> int:
    """Inside a host: a label that has not begun, `0`, digits, `0x…`, anything with a letter, and what ends with a hyphen."""
    if char == ".":
        return _DEAD if form in (_LABEL, _HYPHEN) else _LABEL
    if char == "-":
        return _DEAD if form == _LABEL else _HYPHEN
    if char.isdigit() and form in (_LABEL, _ZERO, _DIGITS):
        return _ZERO if char == "0" and form == _LABEL else _DIGITS
    if (form == _ZERO and char == "x") or (form == _HEX and char in "0123456789abcdef"):
        return _HEX
    return _NAME


_FORMS: dict[str, _Form] = {
    "name": _Form(0, 0, lambda form, char: 0, lambda form: True, (_LETTERS,)),
    "path": _Form(_OUTSIDE, _PART, _next_in_path, lambda form: form == _PART, (_LETTERS,), "/."),
    "host": _Form(
        _LABEL, _NAME, _next_in_host, lambda form: form == _NAME, ("ghijklmnopqrstuvwyz", "123456789", "abcdef"), "0x-."
    ),
}


class _State(NamedTuple):
    """`node` in the tree, or -1 outside of it; `opened`: the last node that is a beginning; `tail` in the table of endings;
    `held`: bits of the conditions about inner parts that are fulfilled; `depth`: separators."""

    node: int
    opened: int
    tail: int
    held: int
    depth: int
    form: int


@dataclass(slots=True)
class _Tree:
    """A tree of characters. Linked, it is a table that finds its texts in another, as they end there (Aho and Corasick)."""

    children: list[dict[str, int]] = field(default_factory=lambda: [{}])
    fall: list[int] = field(default_factory=lambda: [0])
    finished: list[frozenset[int]] = field(default_factory=lambda: [frozenset()])
    _follow: dict[int, frozenset[str]] = field(default_factory=dict)

    def add(self, text: str) -> int:
        node = 0
        for char in text:
            child = self.children[node].get(char)
            if child is None:
                child = self.children[node][char] = len(self.children)
                self.children.append({})
            node = child
        return node

    def finish(self, text: str) -> None:
        """Add a text and remember, at each text that ends so, that it does."""
        node = self.add(text)
        self.finished += [frozenset()] * (len(self.children) - len(self.finished))
        self.finished[node] |= {node}

    def link(self) -> Iterator[tuple[int, int]]:
        """Work out where to fall back to; gives each node with that, those of shorter texts first."""
        self.fall = [0] * len(self.children)
        self.finished += [frozenset()] * (len(self.children) - len(self.finished))
        pending = deque(self.children[0].values())
        while pending:
            node = pending.popleft()
            for char, child in self.children[node].items():
                self.fall[child] = self.step(self.fall[node], char)
                pending.append(child)
            self.finished[node] |= self.finished[self.fall[node]]
            yield node, self.fall[node]

    def step(self, node: int, char: str) -> int:
        while char not in self.children[node] and node:
            node = self.fall[node]
        return self.children[node].get(char, 0)

    def follow(self, node: int) -> frozenset[str]:
        """The characters that lead from a node to another one than the root. All others are alike."""
        if node not in self._follow:
            self._follow[node] = frozenset(self.children[node]) | (self.follow(self.fall[node]) if node else frozenset())
        return self._follow[node]


class _Automaton:
    """The automaton for some conditions on texts of one kind. `deepest`: the most separators with which a pattern that counts
    them can hold."""

    def __init__(self, kind: str, conditions: tuple[Condition, ...], copies: int) -> None:
        self.copies = copies
        self.form, self.separator = _FORMS[kind], KINDS[kind].separator
        self.tree, self.ends = _Tree(), _Tree()
        self.openings: dict[int, str] = {0: ""}
        self.deepest, self.steps = -1, 0
        inner: dict[int, int] = {}
        for place, (op, args) in enumerate(conditions):
            for arg in args:
                self._add(op, arg)
                if op == "segment":
                    node = self.ends.add(arg)
                    inner[node] = inner.get(node, 0) | 1 << place
        self.held = [inner.get(node, 0) for node in range(len(self.ends.children))]
        for node, fall in self.ends.link():
            self.held[node] |= self.held[fall]
        constants = {char for tree in (self.tree, self.ends) for children in tree.children for char in children}
        others = [next((char for char in pool if char not in constants), "") for pool in self.form.others]
        self.others = [char for char in others if char]
        # A kind of few characters may have no other one left; then those of the constants stand for it.
        left = sorted(char for char in constants if self.form.next(self.form.middle, char) != _DEAD) if "" in others else []
        self.usual = frozenset((*self.form.marks, *self.others, *left))

    def _add(self, op: str, arg: str) -> None:
        if op == "under":
            self._open(arg.rstrip("/") + "/")
        elif op == "host" and arg.startswith("*."):
            self.ends.finish(arg[1:])
        elif op in ("in", "host"):
            self.tree.add(arg)
        elif op != "segment":
            head, _, tail = arg.partition("*")
            self._open(head)
            self.ends.finish(tail)
            for shared in range(1, min(len(head), len(tail)) + 1):
                if head.endswith(tail[:shared]):
                    self.tree.add(head + tail[shared:])
            if op != "like":
                self.deepest = max(self.deepest, arg.count(self.separator))

    def _open(self, text: str) -> None:
        self.openings[self.tree.add(text)] = text

    def texts(self) -> Iterator[tuple[str, bool]]:
        """Enough texts, and whether another one could stand for each."""
        start = _State(0, 0, 0, 0, 0, self.form.begin)
        yield from self._walk(start, lambda state: state.node >= 0, lambda state: state)
        if self.deepest >= 0:
            yield from self._walk(start, lambda state: state.depth <= self.deepest, self._settle)
        middle = _State(-1, 0, 0, 0, -1, self.form.middle)
        endings = [ending for ending, _ in self._walk(middle, lambda state: True, self._settle)]
        for opening in self.openings.values():
            before, stand_in = self._leave(start, opening)
            for copy in range(self.copies):
                yield from ((before + stand_in * copy + ending, True) for ending in endings)

    def _walk(
        self, start: _State, keep: Callable[[_State], bool], settle: Callable[[_State], object]
    ) -> Iterator[tuple[str, bool]]:
        """A shortest text for each way in which a state settles the conditions, over all states that are kept."""
        known, settled = {start}, set[object]()
        pending = deque([(start, "")])
        while pending and self.steps <= MAX_STEPS:
            state, text = pending.popleft()
            if self.form.whole(state.form) and (key := settle(state)) not in settled:
                settled.add(key)
                yield text, state.node < 0
            chars = self.ends.follow(state.tail) | self.usual
            for char in sorted(chars.union(self.tree.children[state.node]) if state.node >= 0 else chars):
                self.steps += 1
                after = self._step(state, char)
                if after is not None and after not in known and keep(after):
                    known.add(after)
                    pending.append((after, text + char))

    def _settle(self, state: _State) -> object:
        """What is known of a text that ends here. A path is read with a slash after it, as inner parts are."""
        last = self.ends.step(state.tail, self.separator) if self.separator == "/" else 0
        known = self.ends.finished[state.tail], state.held | self.held[last]
        return (*known, state.node, state.opened, state.depth) if state.depth >= 0 else known

    def _step(self, state: _State, char: str) -> _State | None:
        form = self.form.next(state.form, char)
        if form == _DEAD:
            return None
        node = self.tree.children[state.node].get(char, -1) if state.node >= 0 else -1
        tail = self.ends.step(state.tail, char)
        opened = node if node in self.openings else state.opened
        depth = state.depth + (char == self.separator) if state.depth >= 0 else -1
        return _State(node, opened, tail, state.held | self.held[tail], depth, form)

    def _leave(self, start: _State, opening: str) -> tuple[str, str]:
        """A text that passes a beginning, leaves the tree, begins nothing, and has more separators than any pattern counts; and
        the character that does so, which may follow again and again."""
        first = "/" if self.form.begin == _OUTSIDE and not opening else opening
        state = self._read(start, first)
        for stand_in in (*self.others, *sorted(self.usual)) if state is not None else ():
            assert state is not None
            more = stand_in if self.deepest < 0 else self.separator.join([stand_in] * (self.deepest + 2))
            after = self._read(state, more)
            if after == state._replace(node=-1, tail=0, form=self.form.middle, depth=after.depth if after else 0):
                return first + more, stand_in
        raise UnsettledClaim("the patterns about one field use up all characters")

    def _read(self, state: _State, text: str) -> _State | None:
        now: _State | None = state
        for char in text:
            now = self._step(now, char) if now is not None else None
        return now


def list_texts(kind: str, conditions: tuple[Condition, ...], copies: int = 1) -> tuple[tuple[str, ...], int, str]:
    """Texts of a kind, at least one for each way in which conditions about them can come out; the steps it took to find them; and
    why they are not all, if they are not. INVARIANT: not knowing is never an answer."""
    any_field, automaton = Field("text", kind), _Automaton(kind, conditions, copies)
    found = ["/"] if kind == "path" else []
    try:
        for text, is_one_of_many in automaton.texts():
            if any_field.accepts(text):
                found.append(text)
            elif is_one_of_many:  # another one might be short enough
                raise UnsettledClaim("the constants compared with one field are too long")
            if len(found) > MAX_TEXTS or automaton.steps > MAX_STEPS:
                raise UnsettledClaim("the patterns about one field tell too many kinds of text apart")
    except UnsettledClaim as error:
        return (), automaton.steps, str(error)
    return tuple(found), automaton.steps, "" if automaton.steps <= MAX_STEPS else "the patterns about one field are too many"
