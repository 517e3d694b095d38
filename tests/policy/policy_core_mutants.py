"""How many small faults in the decision core would the tests notice?

    python tests/policy/policy_core_mutants.py --seed 1 --count 200

Each mutant is the package with one comparison, connective, constant, operator or condition changed. A mutant is noticed when
the tests named below fail (or do not end). Survivors are printed with their place; some change nothing (a cost estimate, the
size of a cache) and are for a reader to judge. Fails below --least percent.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
CORE = (
    "model/decisions", "evaluation/interpreter", "evaluation/emitter", "evaluation/ast_nodes", "evaluation/evaluator", "model/ir",
    "text/literals", "text/matching", "solver/pattern_cells", "solver/universe", "model/patterns",
)  # fmt: skip
TESTS = (
    "model/test_ir", "model/test_patterns", "text/test_literals", "text/test_matching",
    "evaluation", "solver", "proofs", "tools/test_diff", "test_policies",
    "test_policy_mistakes", "test_policy_equivalence",
)  # fmt: skip
SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
PATIENCE_S = 90


def mutations(tree: ast.Module) -> Iterator[tuple[int, str, ast.Module]]:
    """Every single change, as (line, what, changed tree)."""
    nodes = list(ast.walk(tree))
    idle = _without_effect(tree)
    for index, node in enumerate(nodes):
        for what in _changes(node) if id(node) not in idle else []:
            changed = copy.deepcopy(tree)
            _apply(list(ast.walk(changed))[index], what)
            yield getattr(node, "lineno", 0), what, changed


def _without_effect(tree: ast.Module) -> set[int]:
    """Nodes whose change changes no behaviour worth a test: annotations, class options, and module constants."""
    roots: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) or (isinstance(node, ast.arg) and node.annotation is not None):
            roots.append(node.annotation)
        elif isinstance(node, ast.FunctionDef):
            roots += [node.returns] if node.returns is not None else []
            roots += node.decorator_list
        elif isinstance(node, ast.ClassDef):
            roots += node.keywords
    roots += [statement for statement in tree.body if isinstance(statement, (ast.Assign, ast.AnnAssign))]
    return {id(node) for root in roots for node in ast.walk(root)}


def _changes(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        return ["swap comparison"]
    if isinstance(node, ast.BoolOp):
        return ["swap connective"]
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in SWAPS:
        return ["swap operator"]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ["drop not"]
    if isinstance(node, (ast.If, ast.IfExp)):
        return ["negate condition"]
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int)):
        return ["change constant"]
    return []


def _apply(node: ast.AST, what: str) -> None:
    if isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif isinstance(node, (ast.BoolOp, ast.BinOp, ast.AugAssign)):
        node.op = SWAPS[type(node.op)]()
    elif isinstance(node, ast.UnaryOp):
        node.operand = ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=node.operand), node)
    elif isinstance(node, (ast.If, ast.IfExp)):
        node.test = ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=node.test), node.test)
    elif isinstance(node, ast.Constant):
        assert isinstance(node.value, (bool, int))
        node.value = (not node.value) if isinstance(node.value, bool) else node.value + 1


def noticed(folder: Path, tests: Sequence[str] = TESTS) -> bool:
    """Run the tests on a changed package in a child process."""
    child = os.fork()
    if child == 0:
        import pytest
        from hypothesis import Phase, settings

        settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate))  # a smaller example tells no more
        settings.load_profile("mutants")
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        signal.alarm(PATIENCE_S)
        sys.path[:0] = [str(folder)]
        files = [
            f"tests/policy/{name}" if (ROOT / "tests/policy" / name).is_dir() else f"tests/policy/{name}.py" for name in tests
        ]
        status = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder), *files])
        os._exit(0 if status == 0 else 1)
    return os.waitpid(child, 0)[1] != 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--least", type=int, default=95, help="percent that must be noticed")
    parser.add_argument("--only", choices=CORE, help="one file of the core")
    parser.add_argument("--tests", nargs="*", default=TESTS, metavar="NAME", help="below tests/policy, instead of all that count")
    arguments = parser.parse_args()
    import hypothesis  # noqa: F401 - loaded once here rather than in every child
    import lark  # noqa: F401
    import pytest  # noqa: F401

    found = []
    for name in [arguments.only] if arguments.only else CORE:
        tree = ast.parse((ROOT / "policy" / f"{name}.py").read_text(encoding="utf-8"))
        found += [(name, *mutation) for mutation in mutations(tree)]
    chosen = random.Random(arguments.seed).sample(found, min(arguments.count, len(found)))
    folder = Path(tempfile.mkdtemp(prefix="policy-mutants-"))
    shutil.copytree(ROOT / "policy", folder / "policy", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(
        ROOT / "tests" / "policy", folder / "tests" / "policy", ignore=shutil.ignore_patterns("__pycache__", ".hypothesis")
    )
    killed, tried, start = 0, 0, time.monotonic()
    try:
        if noticed(folder, arguments.tests):
            print("the tests fail without any mutant")
            return 2
        for name, line, what, tree in chosen:
            tried += 1
            place = folder / "policy" / f"{name}.py"
            original = place.read_text(encoding="utf-8")
            place.write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
            if noticed(folder, arguments.tests):
                killed += 1
            else:
                print(f"survives: policy/{name}.py:{line}: {what}", flush=True)
            place.write_text(original, encoding="utf-8")
            if tried % 10 == 0:
                print(f"{killed} of {tried} so far", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    score = 100 * killed / max(1, len(chosen))
    taken = f"seed {arguments.seed}, {time.monotonic() - start:.0f} s"
    print(f"{killed} of {len(chosen)} mutants noticed ({score:.1f} %) of {len(found)}, {taken}")
    return 0 if score >= arguments.least else 1


if __name__ == "__main__":
    sys.exit(main())
