"""What checking a value against a schema can cost: refuses schemas whose work is not bounded by the size of the value.

Theory: subschemas are nodes; an edge says that checking one checks another, at the same place of the value (`$ref`, `anyOf`, …)
or below it (`properties`, `items`, …). Without cycles the work at one place is at most the number of paths, which is counted. In
a cycle, work doubles at every level of the value if one node leads back into its cycle twice for the same place: that is
refused. Recursive lists and trees lead back once and pass; so does `anyOf` of a reference and null.

Only references within the schema (`#`, `#/$defs/x`, anchors) are followed; the compiler refuses all others. No recursion.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

PATHS_MAX = 20_000
NODES_MAX = 20_000
_REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
_BY_NAME = frozenset(("dependentSchemas", "dependencies", "patternProperties", "properties"))
_DISTINCT = frozenset(("properties", "prefixItems", "items", "additionalProperties", "additionalItems"))
"""Their parts are for different places of the value."""
_SHARED = frozenset((
    "anyOf", "oneOf", "allOf", "if", "then", "else", "not", "contains", "unevaluatedItems", "unevaluatedProperties",
    "propertyNames", "dependentSchemas", "dependencies", "patternProperties",
))  # fmt: skip

Edge = tuple[int, bool]
"""To which node, and whether another edge may lead to the same place of the value."""


class _Graph:
    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[list[Edge]] = []
        self._numbers: dict[int, int] = {}
        self._anchors: dict[str, Any] = {}
        self.is_nested = False
        self._look_around()
        self._number(root)
        done = 0
        while done < len(self.nodes) <= NODES_MAX:
            self.edges.append(
                [(self._number(to), alone) for to, alone in self._targets(self.nodes[done]) if isinstance(to, dict)]
            )
            done += 1

    def _look_around(self) -> None:
        pending: list[Any] = [self.root]
        while pending:
            one = pending.pop()
            if isinstance(one, dict):
                self._anchors.update({one[key]: one for key in ("$anchor", "$dynamicAnchor") if isinstance(one.get(key), str)})
                self.is_nested = self.is_nested or (one is not self.root and isinstance(one.get("$id"), str))
                pending.extend(one.values())
            elif isinstance(one, list):
                pending.extend(one)

    def _number(self, schema: dict[str, Any]) -> int:
        number = self._numbers.setdefault(id(schema), len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(schema)
        return number

    def _targets(self, schema: dict[str, Any]) -> Iterator[tuple[Any, bool]]:
        for key, value in schema.items():
            if key in _REFERENCES:
                yield self._resolve(value), True
            elif key in _SHARED or key in _DISTINCT:
                by_name = key in _BY_NAME and isinstance(value, dict)
                parts = value.values() if by_name else value if isinstance(value, list) else (value,)
                yield from ((part, key in _SHARED) for part in parts)

    def _resolve(self, reference: Any) -> Any:
        if not isinstance(reference, str):
            return None
        _, _, fragment = reference.partition("#")
        if not fragment:
            return self.root
        if not fragment.startswith("/"):
            return self._anchors.get(fragment)
        found: Any = self.root
        for step in unquote(fragment)[1:].split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict):
                found = found.get(step)
            elif isinstance(found, list) and step.isascii() and step.isdigit() and len(step) < 6 and int(step) < len(found):
                found = found[int(step)]
            else:
                return None
        return found


def check_cost(schema: dict[str, Any]) -> str | None:
    """Why the schema would cost too much; None if it does not."""
    graph = _Graph(schema)
    if graph.is_nested:
        return "a `$id` within it gives references another meaning; only the outermost may have one"
    if len(graph.nodes) > NODES_MAX:
        return f"it has more than {NODES_MAX} parts"
    paths = [0] * len(graph.nodes)
    for component in _components(graph.edges):
        inside = set(component)
        total = 0
        for node in component:
            back = [alone for to, alone in graph.edges[node] if to in inside]
            if sum(back) + (not all(back)) > 1:
                return "it refers to itself more than once for the same value, which takes exponential time"
            total += 1 + sum(paths[to] for to, _ in graph.edges[node] if to not in inside)
        if total > PATHS_MAX:
            return f"its references lead to more than {PATHS_MAX} checks of one value"
        for node in component:
            paths[node] = total
    return None


def _components(edges: list[list[Edge]]) -> Iterator[list[int]]:
    """Strongly connected components, those that are led to first (Tarjan's, with its own stack)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for start in range(len(edges)):
        if start in index:
            continue
        work = [(start, 0)]
        while work:
            node, at = work.pop()
            if at == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            for position in range(at, len(edges[node])):
                to = edges[node][position][0]
                if to not in index:
                    work.append((node, position + 1))
                    work.append((to, 0))
                    break
                if to in on_stack:
                    low[node] = min(low[node], index[to])
            else:
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.append(member)
                        if member == node:
                            break
                    yield component
