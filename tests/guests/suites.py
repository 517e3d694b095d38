"""How each public suite of shells and tools is run, for `suite_campaign`: its files, and its units as scripts.

A unit is a bash script that runs at the top of the suite's copy and prints `PASS: name`, or `ok N name` as TAP does, for each
test that passed. Nothing of a suite is kept here; `make_files` makes what its tests expect to find beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

Files: TypeAlias = dict[str, bytes]


@dataclass(frozen=True)
class Unit:
    name: str
    script: str
    tests: tuple[str, ...] = ()
    """Where no real tool runs: the tests that pass in it, which are all."""


@dataclass(frozen=True)
class Suite:
    folders: tuple[str, ...]
    """What of the copy is needed: folders and files, "" for all."""
    units: Callable[[Path], list[Unit]]
    make_files: Callable[[Path], Files] = field(default=lambda path: {})


def _list_units(path: Path, pattern: str, script: str) -> list[Unit]:
    """One unit for each file; `{name}` is its path in the copy."""
    names = (str(found.relative_to(path)) for found in sorted(path.glob(pattern)) if found.is_file())
    return [Unit(name, script.replace("{name}", name)) for name in names]


_PASS_IF_TRUE = " && echo 'PASS: {name}'"


def list_busybox(path: Path) -> list[Unit]:
    """Test files, and the older folders of scripts that must end with 0."""
    units = []
    for found in sorted((path / "testsuite").glob("*.tests")):
        features = re.findall(r"^\s*optional (.*)$", found.read_text("utf-8", "replace"), re.MULTILINE)
        flags = ":".join(word for words in features for word in words.split() if word[0].isalpha())
        units.append(Unit(found.name, f"cd testsuite; PATH=$PWD:$PATH OPTIONFLAGS=:{flags}: bash ./{found.name}"))
    for folder in sorted(entry for entry in (path / "testsuite").iterdir() if entry.is_dir()):
        for found in sorted(entry for entry in folder.iterdir() if entry.is_file()):
            name = f"{folder.name}/{found.name}"
            script = f"cd testsuite; PATH=$PWD:$PATH; mkdir unit; cd unit; d=.. sh -x -e ../{name} && echo 'PASS: {name}'"
            units.append(Unit(name, script))
    return units


_ASH = """
export THIS_SH=bash PATH=$PWD/shell:$PATH
cd {folder}
for test in *.tests; do
    [ -f "${test%.tests}.right" ] || continue
    bash ./"$test" >"${test%.tests}.xx" 2>&1
    sed -i -e "/: invalid option /s:'::g" "${test%.tests}.xx"
    cmp -s "${test%.tests}.xx" "${test%.tests}.right" && echo "PASS: {folder}/$test"
done
"""


def list_ash(path: Path) -> list[Unit]:
    folders = [
        found for kind in ("ash_test", "hush_test") for found in sorted((path / "shell" / kind).iterdir()) if found.is_dir()
    ]
    names = [str(folder.relative_to(path)) for folder in folders]
    return [Unit(name, _ASH.replace("{folder}", name)) for name in names]


def make_ash_files(path: Path) -> Files:
    """The suite's small programs, as scripts."""
    recho = '#!/bin/bash\ni=0\nfor a; do printf \'argv[%d] = <%s>\\n\' $((++i)) "$(printf %s "$a" | cat -v)"; done\n'
    return {
        "shell/recho": recho.encode(),
        "shell/zecho": b'#!/bin/sh\nprintf "%s\\n" "$*"\n',
        "shell/printenv": b'#!/bin/bash\n[ $# = 0 ] && exec env\nfor n; do printf "%s\\n" "${!n}"; done\n',
    }


_JQ = """
cd cases
export PAGER=less
even='walk(if type == "number" then . + 0 else . end)'   # 2.0 is 2
for n in {first..last}; do
    if [ -f $n.message ]; then
        jq -c -L ../tests/modules -f $n.jq $n.in >got 2>&1
        grep -qF -e "$(sed 's/[$]end/end of file/;q' $n.message)" got && echo "PASS: $n $(head -1 $n.jq)"
        continue
    fi
    jq -c -L ../tests/modules -f $n.jq $n.in 2>/dev/null | jq -cS "$even" >got
    jq -cS "$even" $n.out >want
    if cmp -s got want; then
        echo "PASS: $n $(head -1 $n.jq)"
    fi
done
"""
_JQ_UNIT = 50


def _read_jq_cases(path: Path) -> list[tuple[str, str, str, str]]:
    """Program, input, outputs and message of each case."""
    found = []
    for name in ("jq.test", "man.test", "onig.test", "base64.test", "manonig.test"):
        text = (path / "tests" / name).read_text("utf-8")
        lines = [line for line in text.split("\n") if not line.startswith("#")]
        for block in re.split(r"\n\s*\n", "\n".join(lines)):
            case = [line for line in block.split("\n") if line.strip()]
            if case and case[0].startswith("%%FAIL"):
                found.append((case[1], "null", "", "\n".join(case[2:])))
            elif len(case) >= 2:
                found.append((case[0], case[1], "\n".join(case[2:]), ""))
    return found


def list_jq(path: Path) -> list[Unit]:
    """The real jq is that of the copy's release, which passes its own tests: none runs."""
    names = [f"{number} {case[0]}" for number, case in enumerate(_read_jq_cases(path))]
    units = []
    for first in range(0, len(names), _JQ_UNIT):
        tests = tuple(names[first : first + _JQ_UNIT])
        script = _JQ.replace("first", str(first)).replace("last", str(first + len(tests) - 1))
        units.append(Unit(f"cases {first}", script, tests))
    return units


def make_jq_files(path: Path) -> Files:
    files = {}
    for number, (program, given, outputs, message) in enumerate(_read_jq_cases(path)):
        parts = {"jq": program, "in": given, "message": message} if message else {"jq": program, "in": given, "out": outputs}
        files |= {f"cases/{number}.{part}": (text + "\n").encode() for part, text in parts.items()}
    return files


def list_gawk(path: Path) -> list[Unit]:
    """Its makefiles' rules: the recipes that compare with an `.ok` file."""
    text = "".join((path / "test" / name).read_text("latin-1") for name in ("Makefile.am", "Maketests"))
    units = {}
    for name, recipe in re.findall(r"^([A-Za-z]\w*)::?[ \t]*\n((?:\t.*\n)+)", text, re.MULTILINE):
        if "$(CMP)" not in recipe:
            continue
        words = {"$@": name, "$(srcdir)": ".", "$(CMP)": "cmp", "$(AWK)": "gawk", "$(AWKPROG)": "gawk", "$(PATH_SEPARATOR)": ":"}
        for variable, value in words.items():
            recipe = recipe.replace(variable, value)
        lines = re.sub(r"(?m)^\t[@-]*", "", recipe).replace("\n\t", "\n").replace("$$", "$")
        units[name] = Unit(name, f"cd test; export LC_ALL=C LANG=C\n{lines}[ $? = 0 ] && echo 'PASS: {name}'")
    return list(units.values())


_SED_INIT = b"""
fail=0
Exit() { exit "$1"; }
skip_() { Exit 77; }
fail_() { echo "$*" >&2; Exit 1; }
framework_failure_() { Exit 99; }
path_prepend_() { :; }
compare_() { diff -u "$1" "$2"; }
compare() { diff -u "$1" "$2"; }
returns_() { local want=$1; shift; "$@"; [ $? -eq "$want" ]; }
. "$abs_top_srcdir/init.cfg"
require_valgrind_() { skip_; }
print_ver_() { :; }
mkdir -p "$abs_top_srcdir/unit" && cd "$abs_top_srcdir/unit" || exit 99
srcdir=..
"""
_SED = (
    "export LC_ALL=C srcdir=. abs_top_srcdir=$PWD abs_srcdir=$PWD top_srcdir=$PWD SED=sed AWK=awk; bash ./{name}" + _PASS_IF_TRUE
)

_AWK = """
cd testdir; export awk=awk oldawk=awk PATH=.:$PATH
for file in t.* p.* tt.*; do
    case $file in *.x|*.y) continue;; esac
    echo "PASS: $file $(awk -f $file test.data 2>/dev/null </dev/null | cksum)"
done
"""
_AWK_SCRIPT = "cd testdir; export awk=awk PATH=.:$PATH; sh ./{file} 2>&1 | grep -q BAD || echo 'PASS: {file}'"


def list_onetrueawk(path: Path) -> list[Unit]:
    """Programs whose output must be that of the real one, and scripts that say BAD."""
    scripts = [found.name for found in sorted((path / "testdir").glob("T.*"))]
    return [Unit("programs", _AWK), *(Unit(name, _AWK_SCRIPT.replace("{file}", name)) for name in scripts)]


def list_by(pattern: str, script: str) -> Callable[[Path], list[Unit]]:
    return lambda path: _list_units(path, pattern, script)


def list_toybox(path: Path) -> list[Unit]:
    names = [found.stem for found in sorted((path / "tests").glob("*.test"))]
    return [Unit(name, f"TEST_HOST=1 VERBOSE=all,quiet bash scripts/test.sh {name}") for name in names]


SUITES = {
    "busybox": Suite(("testsuite",), list_busybox, lambda path: {"testsuite/busybox": b'#!/bin/sh\nexec "$@"\n', ".config": b""}),
    "ash": Suite(("shell",), list_ash, make_ash_files),
    "toybox": Suite(
        ("tests", "scripts/test.sh", "scripts/runtest.sh"), list_toybox, lambda path: {"scripts/portability.sh": b"SED=sed\n"}
    ),
    "jq": Suite(("tests",), list_jq, make_jq_files),
    "gawk": Suite(("test",), list_gawk),
    "sed": Suite(("testsuite", "init.cfg"), list_by("testsuite/*.sh", _SED), lambda path: {"testsuite/init.sh": _SED_INIT}),
    "onetrueawk": Suite(("testdir",), list_onetrueawk),
    "shellspec": Suite(("",), list_by("spec/**/*_spec.sh", "HOME=/tmp bash ./shellspec --shell bash --format tap {name}")),
    "bats": Suite(("",), list_by("test/*.bats", "bash bin/bats --tap {name}")),
    "bash_unit": Suite(("",), list_by("tests/test_*.sh", "bash ./bash_unit -f tap {name}")),
    "shunit2": Suite(("",), list_by("*_test.sh", "bash ./{name}" + _PASS_IF_TRUE)),
    "mo": Suite(("",), list_by("tests/*", "bash ./{name}" + _PASS_IF_TRUE)),
    "JSON.sh": Suite(("",), list_by("test/*.sh", "bash ./{name}")),
}
