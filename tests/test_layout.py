"""The house keeps its shape: small rooms, tests where a reader looks for them, short functions, the glossary's words.

`python -m tests.test_layout > tests/unmirrored.txt` writes the list of modules without a test file of their own.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("gateway", "sandbox", "policy", "hatchway")
MODULES_MAX = 20
FUNCTION_LINES_MAX = 60
CONSTRUCTOR_ARGUMENTS_MAX = 10
FOLDERS = sorted(path.parent for package in PACKAGES for path in (ROOT / package).rglob("__init__.py"))
MODULES = sorted(
    path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if path.name not in ("__init__.py", "__main__.py")
)
SAME_STEMS = {
    "errors": "every package and room with errors of its own draws their tree in a file of this name",
    "wire": "the wire types of a contract stand together in a file of this name",
    "interface": "what several implementations share",
    "events": "the gateway's events, and the events of hooks",
    "command": "the entry of a room that is a command of its own: `hatchway remote`, `hatchway mcp`",
    "limits": "what a run may use, in each package",
}
DECLARED_TABLES = {
    "policy/tools/commands.py:add_commands": "the commands of `hatchway policy`",
    "gateway/http/routes/files.py:operations": "the operations on files",
}
"""Functions that are one declaration after the other, and may be longer than a screen."""
PARTICIPLE = re.compile(
    r"(?!(embed|exceed|feed|need|ping|proceed|seed)$).*(ed|ing)"
    "|begun|built|chosen|found|given|gone|held|hidden|kept|known|left|lost|made|said|seen|sent|shown|taken|told|written"
)
PREPOSITION = re.compile(
    "after|again|around|at|before|behind|below|between|by|inside|near|outside|over|under|with|within|without"
)
NOT_VERBS = {
    "gateway/stores/store.py:Store:kept_snapshots": "what a store is asked for is named by what it answers, as `sessions`",
    "gateway/stores/store.py:Store:unfinished": "the same",
    "policy/evaluation/ast_nodes.py:between": "an operator of policies, as a node",
    "sandbox/guests/guest.py:_Functions:__missing__": "Python's",
    "sandbox/typescript/jsx.py:Jsx:closing": "a kind of node that is visited",
    "sandbox/wasi/wasi.py:Wasi:sched_yield": "WASI's",
}  # fmt: skip
"""Functions that are named by no verb, and why."""
TOP = {
    *PACKAGES, "wasm_modules", "tests", "benches", "docs", "examples", "requirements", ".ci", ".gitignore", "Makefile",
    "pyproject.toml",
    "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "LIMITATIONS.md", "README.md", "SECURITY.md", "SPECIFICATION.md", "THREATS.md",
}  # fmt: skip
UNMIRRORED = ROOT / "tests" / "unmirrored.txt"


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def forbidden_words() -> list[str]:
    """The right column of the glossary's table `say | not`."""
    page = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    table = page.partition("| say | not |")[2].partition("\n\n")[0]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("|") and "---" not in line]
    return [word.strip() for row in rows for word in row.split(",") if word.strip()]


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Docstrings, other string literals and comments, with their lines."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def mirror(path: Path) -> Path:
    return ROOT / "tests" / path.relative_to(ROOT).parent / f"test_{path.stem}.py"


def unmirrored() -> dict[str, str]:
    lines = UNMIRRORED.read_text("utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_a_room_has_at_most_twenty_modules(folder: Path) -> None:
    modules = [path.stem for path in MODULES if path.parent == folder]
    assert len(modules) <= MODULES_MAX, f"{name(folder)} has {len(modules)} modules: {sorted(modules)}"


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_a_room_names_its_modules_in_reading_order(folder: Path) -> None:
    said = ast.get_docstring(parse(folder / "__init__.py")) or ""
    inside = [path.stem for path in MODULES if path.parent == folder] + [path.name for path in FOLDERS if path.parent == folder]
    silent = sorted(one for one in inside if f"`{one}`" not in said and f"`{one}/`" not in said)
    assert said and not silent, f"the docstring of {name(folder)}/__init__.py does not name {silent}"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_stands_for_one_module_of_its_package(package: str) -> None:
    routes = ROOT / "gateway" / "http" / "routes"  # a route's noun is the noun of the room it leads to
    stems = Counter(path.stem for path in MODULES if (ROOT / package) in path.parents and path.parent != routes)
    twice = {stem: count for stem, count in stems.items() if count > 1 and stem not in SAME_STEMS}
    places = [name(path) for path in MODULES if path.stem in twice and (ROOT / package) in path.parents]
    assert not twice, f"one name, several modules: {places}"


def test_every_module_has_a_test_file_or_says_where_it_is_tested() -> None:
    listed = unmirrored()
    missing = [name(path) for path in MODULES if not mirror(path).exists() and name(path) not in listed]
    assert not missing, f"add tests/…/test_NAME.py, or a line to tests/unmirrored.txt: {missing}"
    gone = [one for one in listed if not (ROOT / one).exists() or mirror(ROOT / one).exists()]
    assert not gone, f"take out of tests/unmirrored.txt: {gone}"
    untold = {place for place in listed.values() if place != CALLERS and not (ROOT / place).exists()}
    assert not untold, f"tests/unmirrored.txt names tests that do not exist: {sorted(untold)}"


def test_a_function_fits_a_screen_unless_it_is_a_declared_table() -> None:
    long = {}
    for path in MODULES:
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                lines = node.end_lineno - node.lineno + 1
                if lines > FUNCTION_LINES_MAX:
                    long[f"{name(path)}:{node.name}"] = lines
    assert set(long) <= set(DECLARED_TABLES), {place: lines for place, lines in long.items() if place not in DECLARED_TABLES}


def count_arguments(kind: ast.ClassDef) -> int:
    """Of its constructor; of a dataclass, the fields that have no default."""
    if any("dataclass" in ast.unparse(decorator) for decorator in kind.decorator_list):
        return sum(isinstance(node, ast.AnnAssign) and node.value is None for node in kind.body)
    made = [node.args for node in kind.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    return max((len(args.posonlyargs + args.args + args.kwonlyargs) - 1 for args in made), default=0)


def test_a_constructor_takes_at_most_ten_arguments() -> None:
    kinds = [(path, node) for path in MODULES for node in ast.walk(parse(path)) if isinstance(node, ast.ClassDef)]
    many = {
        f"{name(path)}:{kind.name}": count for path, kind in kinds if (count := count_arguments(kind)) > CONSTRUCTOR_ARGUMENTS_MAX
    }
    assert not many, many


def list_functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Functions of modules, and methods but for properties and further constructors, by their places."""
    for path in MODULES:
        waiting: list[tuple[str, ast.stmt]] = [(name(path), node) for node in parse(path).body]
        while waiting:
            place, node = waiting.pop()
            if isinstance(node, ast.ClassDef):
                waiting += [(f"{place}:{node.name}", inner) for inner in node.body]
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
                if not decorators & {"property", "cached_property", "setter", "classmethod"}:
                    yield f"{place}:{node.name}", node


def list_errors() -> set[str]:
    """The names of all classes of errors."""
    bases = {
        node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        for path in MODULES
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ClassDef)
    }
    found = {"Exception"}
    while more := {kind for kind, above in bases.items() if above & found} - found:
        found |= more
    return found


def test_a_function_is_named_by_a_verb_and_not_by_a_participle_or_a_preposition() -> None:
    """One that makes an error is named by what is wrong: `missing`, `corrupt`."""
    errors, wrong = list_errors(), set()
    for place, node in list_functions():
        first = node.name.strip("_").split("_")[0]
        is_participle = PARTICIPLE.fullmatch(first)
        makes_error = node.returns is not None and ast.unparse(node.returns) in errors
        if (is_participle or PREPOSITION.fullmatch(first)) and not makes_error:
            wrong.add(place)
    assert wrong <= set(NOT_VERBS), f"named by no verb: {sorted(wrong - set(NOT_VERBS))}"


def list_imports(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of ours that a module imports, at its top or in a function; not those that only annotations need."""
    tree = parse(path)
    typing = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
              for inner in ast.walk(node)}  # fmt: skip
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in typing:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        elif isinstance(node, ast.Import) and id(node) not in typing:
            found |= {alias.name for alias in node.names}
    return found & known.keys()


def test_no_modules_import_each_other_in_a_circle_functions_included() -> None:
    known = {name(path).removesuffix(".py").replace("/", "."): path for path in MODULES}
    left = {module: list_imports(path, known) for module, path in known.items()}
    while free := {module for module, imports in left.items() if not imports & left.keys()}:
        left = {module: imports for module, imports in left.items() if module not in free}
    assert not left, f"these import each other, or what does: {sorted(left)}"


def test_the_top_of_the_tree_holds_what_belongs_there() -> None:
    """A file that a command left behind, and a commit took along, is seen here."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {path.split("/")[0] for path in tracked} == TOP


def test_the_glossary_holds() -> None:
    words = forbidden_words()
    assert {"whoever", "put away"} <= set(words)
    pattern = re.compile(rf"\b({'|'.join(re.escape(word).replace(chr(92) + ' ', chr(92) + 's+') for word in words)})\b", re.I)
    found = []
    others = [path for folder in ("benches", "examples", "wasm_modules") for path in (ROOT / folder).rglob("*.py")]
    ours = [path for path in others if not {"build", "built"} & set(path.relative_to(ROOT).parts)]
    for path in [*MODULES, *(folder / "__init__.py" for folder in FOLDERS), *ours]:
        for line, text in texts(path):
            if text == "nobody":  # the account's name in /etc/passwd
                continue
            for hit in pattern.finditer(re.sub(r"\bTM-[A-Z-]+", "", text)):
                if ROOT / "benches" in path.parents and hit.group().lower() == "beside":  # a row's name for the peer's next to it
                    continue
                found.append(f"{name(path)}:{line + text[: hit.start()].count(chr(10))}: {hit.group()}")
    for page in [ROOT / "README.md", ROOT / "LIMITATIONS.md", ROOT / "SECURITY.md", *(ROOT / "docs").glob("*.md")]:
        if page.name == "glossary.md":
            continue
        prose = re.sub(r"`[^`\n]*`|\([^)\n]*\)", lambda code: " " * len(code[0]), page.read_text("utf-8"))
        found += [f"{name(page)}:{prose[: hit.start()].count(chr(10)) + 1}: {hit.group()}" for hit in pattern.finditer(prose)]
    assert not found, f"{len(found)} places use words that docs/glossary.md replaces:\n" + "\n".join(found[:80])


def test_each_way_of_the_architecture_page_is_at_most_25_files_that_exist() -> None:
    ways = (ROOT / "docs" / "architecture.md").read_text("utf-8").split("\n## ")[1:]
    assert len(ways) == 4
    for way in ways:
        files = []
        for text in re.findall(r"`([a-z0-9_/{},]+\.py)`", way):
            before, _, rest = text.partition("{")
            names, _, after = rest.partition("}")
            files += [f"{before}{one}{after}" for one in names.split(",")] if rest else [text]
        gone = [one for one in files if not (ROOT / one).exists()]
        assert files and len(files) <= 25 and not gone, f"{way.splitlines()[0]}: {len(files)} files, gone: {gone}"


CALLERS = "through-its-callers"


def _where_tested(module: str) -> str:
    """The test file that imports most from a module."""
    best, most = CALLERS, 0
    dotted = module.removesuffix(".py").replace("/", ".")
    parent, _, last = dotted.rpartition(".")
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        count = sum(
            len(node.names) if node.module == dotted else sum(alias.name == last for alias in node.names)
            for node in ast.walk(parse(path))
            if isinstance(node, ast.ImportFrom) and node.module in (dotted, parent)
        )
        if count > most:
            best, most = name(path), count
    return best


def main() -> None:
    print("# Modules without a test file of their own, and the test file that uses each most (python -m tests.test_layout).")
    print(f"# {CALLERS}: no test imports it; the tests of what is built on it run it.")
    for path in MODULES:
        if not mirror(path).exists():
            print(name(path), _where_tested(name(path)))


if __name__ == "__main__":
    main()
