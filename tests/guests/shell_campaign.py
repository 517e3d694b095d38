"""Random scripts in our shell and in real bash: `python -m tests.guests.shell_campaign [--count N] [--seed N] [--shell PATH]`.

A long-running command, not part of the suite: it needs bash. Scripts are drawn by hypothesis from a grammar of things that have
one right answer (no clock, no randomness, no process ids), so any difference in stdout or status is a bug of ours. The smallest
script that differs is printed; add it to a `.test` file with what bash says. `--shell` takes the shell as an ordinary program
(main_native.c), which is quicker than a guest per script.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import hatchway

NAMES = st.sampled_from(["a", "b", "c", "xs", "m", "u", "n"])
TEXT = st.text("abcXY01 ._-/*?", max_size=6)
TRICKY = st.sampled_from(
    ["'", '"', "\\", "$", "`", "\n", "\t", "é", "{", "}", "!", "#", "~", "&", ";", "(", "|", "<", "]", "%", "=", ","]
)
SMALL = st.integers(-9, 20)
PATTERN = st.sampled_from(
    ["a", "X*", "?", "[a-c]", "*b", "0", ".", "*.*", "[!a]", "[[:alpha:]]", "*", "", "b?", "$b", '"*"', "\\*", "'?'"]
)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@st.composite
def literal(draw: st.DrawFn) -> str:
    """A text of ordinary and of troublesome characters, in one of the ways to quote it."""
    text = "".join(draw(st.lists(st.one_of(TEXT, TRICKY), max_size=3)))
    if draw(st.booleans()) or "\\" in text or "'" in text:
        return quoted(text)
    return "$'" + text.replace("\n", "\\n").replace("\t", "\\t") + "'"


def parameter(draw: st.DrawFn) -> str:
    name, word = draw(NAMES), draw(PATTERN)
    index, count = draw(st.integers(-4, 4)), draw(st.integers(-2, 4))
    subscript = draw(st.sampled_from(["@", "*"]))
    operator = draw(st.sampled_from(["#", "##", "%", "%%", "/", "//", "/#", "/%", "^", "^^", ",", ",,", "~", "~~"]))
    default = draw(st.sampled_from([":-", "-", ":+", "+", ":=", "="]))
    operand = draw(st.sampled_from(["d", '"x y"', "$b", "'q'", "", "a b", "$(echo s)", '"$@"', "\\}", "*"]))
    forms = [
        f"${name}", f"${{{name}{default}{operand}}}", f"${{#{name}}}", f"${{{name}{operator}{word}}}",
        f"${{{name}{operator}{word}/-}}" if operator.startswith("/") else f"${{{name}{operator}{word}}}",
        f"${{{name}: {index}}}", f"${{{name}: {index}:{count}}}", f"${{{name}@{draw(st.sampled_from('QULuaEA'))}}}",
        f"${{xs[{subscript}]}}", f"${{#xs[{subscript}]}}", f"${{xs[{index}]}}", f"${{xs[{subscript}]: {index}:{abs(count)}}}",
        f"${{!m[{subscript}]}}", "${m[k]}", f"${{xs[{subscript}]{operator}{word}}}", f"${{xs[{subscript}]{default}{operand}}}",
        f"${{@{operator}{word}}}", f"${{*: {index}}}", f"${{!xs[{subscript}]}}", "${!r}",
        f"${{xs[{subscript}]@{draw(st.sampled_from('QUA'))}}}",
        "$1", "$#", "$*", "$@", "${@:1}", "${#1}",
    ]  # fmt: skip
    return draw(st.sampled_from(forms))


def arithmetic(draw: st.DrawFn) -> str:
    term = st.one_of(
        SMALL.map(str),
        st.sampled_from(
            ["n", "n++", "--n", "(n ? 3 : 4)", "0x1f", "2#101", "~n", "!n", "xs[1]", "u", "n+=2", "$n", "${#a}", "-n"]
        ),
    )
    operator = st.sampled_from(["+", "-", "*", "<<1+", "&", "|", "^", "==", "<", "&&", "||", "%7+", ",", "/", "**2+", ">=", "!="])
    return f"$(( {draw(term)} {draw(operator)} {draw(term)} {draw(operator)} {draw(term)} ))"


@st.composite
def word(draw: st.DrawFn) -> str:
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(literal())
    if kind in (1, 7):
        return '"' + draw(st.sampled_from(["", "p", " "])) + parameter(draw) + draw(st.sampled_from(["", "-", " x", "$a"])) + '"'
    if kind in (2, 8):
        return draw(st.sampled_from(["", "", "p", "-"])) + parameter(draw) + draw(st.sampled_from(["", "", "s", "*"]))
    if kind == 3:
        return arithmetic(draw)
    if kind == 4:
        fixed = [
            "{1..3}",
            "{a,b}{x,y}",
            "x{,1}",
            "{c..a}",
            "~",
            "$'a\\tb'",
            "*",
            "?",
            "[ab]*",
            "{a,$b}",
            "{2..8..3}",
            "a\\ b",
            '""',
            "''",
        ]
        return draw(
            st.sampled_from(
                [*fixed, "*.c", "[!a]*", '"*"', "{a,b}.c", "{01..3}", "a{b,c}d", "\\*", '"$xs"', "`echo q`", "$'\\x41'"]
            )
        )
    if kind == 5:
        return f'"$(echo {draw(literal())} | {draw(FILTERS)})"'
    if kind == 6:
        return f"$(printf '%s\\n' {parameter(draw)} {draw(literal())})"
    return draw(st.sampled_from(["-n", "--", "plain", "$?", "$#", '"$@"', '"$*"', "$*", "$@"]))


FILTERS = st.sampled_from(
    ["cat", "tr a-c A-C", "wc -c", "sed 's/a/b/g'", "cut -c1-3", "rev", "head -c 4", "grep -c a", "sort -u"]
)
WORDS = st.lists(word(), min_size=1, max_size=3).map(" ".join)
SPLITTERS = st.sampled_from([":", ",", "a", " x", "", "\n", "- ", "b:"])
FORMATS = st.sampled_from(
    ["%s|", "%5s|", "%-4s|", "%.2s|", "%q ", "%b|", "%d,", "%x ", "%c.", "<%s> %s\\n", "%03d ", "%%%s", "%s\\t%s"]
)
OPTIONS = st.sampled_from(
    [
        "set -f",
        "set -u",
        "set -e",
        "shopt -s nullglob",
        "shopt -s extglob",
        "set -o pipefail",
        "shopt -s nocasematch",
        "shopt -s dotglob",
        "set +B",
    ]
)
TESTS = st.sampled_from(["==", "!=", "<", ">", "=", "=~", "-eq", "-lt"])


def simple_statement() -> st.SearchStrategy[str]:
    return st.one_of(
        WORDS.map(lambda w: f"printf '<%s>' {w}; echo"),
        st.tuples(NAMES, word()).map(lambda p: f"{p[0]}={p[1]}" if p[0] not in ("xs", "m", "n") else f"xs+=({p[1]})"),
        st.tuples(NAMES, word()).map(lambda p: f"{p[0]}+={p[1]}" if p[0] not in ("xs", "m", "n") else f"m[x]={p[1]}"),
        st.tuples(word(), TESTS, word()).map(lambda p: f"[[ {p[0]} {p[1]} {p[2]} ]] 2>/dev/null; echo $?"),
        st.tuples(word(), word()).map(lambda p: f"[ {p[0]} = {p[1]} ] 2>/dev/null; echo $?"),
        WORDS.map(lambda w: f"set -- {w}; echo $# \"$1\""),
        WORDS.map(lambda w: f"xs=({w}); echo ${{#xs[@]}}; printf '[%s]' \"${{xs[@]}}\"; echo"),
        st.tuples(word(), FILTERS).map(lambda p: f"echo {p[0]} | {p[1]}; echo ${{PIPESTATUS[@]}}"),
        SMALL.map(lambda n: f"(exit {n & 255}); echo $?"),
        st.tuples(SPLITTERS, word()).map(lambda p: f"IFS=$'{p[0]}'; printf '{{%s}}' {p[1]}; echo; unset IFS"),
        st.tuples(SPLITTERS, literal()).map(
            lambda p: f"IFS=$'{p[0]}' read -r x y z <<< {p[1]}; printf '(%s)' \"$x\" \"$y\" \"$z\"; echo"
        ),
        st.tuples(FORMATS, WORDS).map(lambda p: f"printf '{p[0]}' {p[1]} 2>/dev/null; echo \" $?\""),
        word().map(lambda w: f"cat <<E\n{w}\nE"),
        word().map(lambda w: f"cat <<< {w}"),
        word().map(lambda w: f"eval echo {w} 2>/dev/null; echo $?"),
        word().map(lambda w: f"declare v={w}; declare -p v"),
        WORDS.map(lambda w: f"mapfile -t xs < <(printf '%s\\n' {w}); declare -p xs"),
        OPTIONS,
        st.sampled_from(["unset 'xs[1]'", "unset a", "xs[5]=five", "((n++))", "shift", "false", "declare -p xs m"]),
        st.sampled_from(['echo "${xs[*]}"', "r=b", "echo $- | tr -d c"]),
    )  # fmt: skip


def statement() -> st.SearchStrategy[str]:
    return st.recursive(
        simple_statement(),
        lambda inner: st.one_of(
            st.tuples(word(), inner).map(lambda p: f"for v in {p[0]}; do {p[1]}\ndone"),
            st.tuples(word(), PATTERN, inner, inner).map(
                lambda p: f"case {p[0]} in a*|{p[1] or '?'}) {p[2]}\n;; *) {p[3]}\n;; esac"
            ),
            st.tuples(word(), inner, inner).map(lambda p: f"if [[ -n {p[0]} ]]; then {p[1]}\nelse {p[2]}\nfi"),
            inner.map(lambda s: f"( {s}\na=changed ); echo $a"),
            inner.map(lambda s: f"f() {{ local a=in; {s}\nreturn 3; }}; f 1 2; echo $? $a"),
            inner.map(lambda s: f"x=$( {s}\n); printf '%q\\n' \"$x\""),
            inner.map(lambda s: f"{{ {s}\n}} | cat; echo ${{PIPESTATUS[0]}}"),
            inner.map(lambda s: f"f() {{ {s}\n}}; declare -f f; f x y"),
            st.tuples(inner, inner).map(lambda p: f"{{ {p[0]}\n}} && {{ {p[1]}\n}} || echo or"),
            inner.map(lambda s: f"trap 'echo T$?' EXIT; {s}"),
            inner.map(lambda s: f"while read -r l; do {s}\ndone <<< $'p q\\nr'"),
            inner.map(lambda s: f"for ((i=0;i<2;i++)); do {s}\ndone"),
        ),
        max_leaves=4,
    )


SCRIPTS = st.lists(statement(), min_size=1, max_size=4).map(
    lambda lines: "a=abc b='x y' c= n=5 xs=(one 'two 2' three) r=a; declare -A m=([k]=v [q]=w)\ntouch aa b.c\n" + "\n".join(lines)
)


def real(bash: str, script: str) -> tuple[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        env = {"PATH": "/usr/bin:/bin", "HOME": "/workspace", "LANG": "C.UTF-8"}
        done = subprocess.run(
            [bash, "-c", script, "bash"], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=30
        )
    return done.stdout.decode("utf-8", "replace"), done.returncode


def ours(shell: str | None, script: str) -> tuple[str, int]:
    if shell is not None:
        return real(shell, script)
    with hatchway.Sandbox(language="shell") as box:
        result = box.run(script)
    return result.stdout, result.exit_code


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare our shell with real bash on random scripts.")
    parser.add_argument("--count", type=int, default=2000, help="how many scripts (default 2000)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed draws the same scripts")
    parser.add_argument("--shell", help="our shell as a program; without it, each script runs in a guest")
    options = parser.parse_args()
    bash = shutil.which("bash")
    if bash is None:
        parser.error("bash is not installed")

    @seed(options.seed)
    @settings(
        max_examples=options.count, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )  # fmt: skip
    @given(SCRIPTS)
    def compare(script: str) -> None:
        expected, got = real(bash, script), ours(options.shell, script)
        assert got == expected, f"\n{script}\n--- bash {expected[1]}\n{expected[0]}--- ours {got[1]}\n{got[0]}"

    try:
        compare()
    except AssertionError as error:
        print(error)
        return 1
    print(f"{options.count} scripts agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
