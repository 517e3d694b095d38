"""Random scripts in our shell and in real bash: `python -m tests.guests.shell_campaign [--count N] [--seed N]`.

A long-running command, not part of the suite: it needs bash. Scripts are drawn by hypothesis from a grammar of things that have
one right answer (no clock, no randomness, no process ids), so any difference in stdout or status is a bug of ours. The smallest
script that differs is printed; add it to a `.test` file with what bash says.
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

NAMES = st.sampled_from(["a", "b", "c", "xs", "m"])
TEXT = st.text("abcXY01 ._-/*?", max_size=6)
SMALL = st.integers(-9, 20)


def quoted(text: str) -> str:
    return "'" + text + "'"


def parameter(draw: st.DrawFn) -> str:
    name, word = draw(NAMES), draw(st.sampled_from(["a", "X*", "?", "[a-c]", "*b", "0", ".", "*.*"]))
    forms = [
        f"${name}", f"${{{name}:-{word}}}", f"${{{name}:+{word}}}", f"${{#{name}}}",
        f"${{{name}#{word}}}", f"${{{name}##{word}}}",
        f"${{{name}%{word}}}", f"${{{name}%%{word}}}", f"${{{name}/{word}/-}}", f"${{{name}//{word}/-}}", f"${{{name}^^}}",
        f"${{{name},,}}", f"${{{name}:{draw(SMALL)}}}", f"${{{name}: {draw(SMALL)}:{draw(st.integers(0, 4))}}}", f"${{{name}@Q}}",
        "${xs[@]}", "${#xs[@]}", f"${{xs[{draw(st.integers(0, 3))}]}}", "${xs[@]:1:2}", "${!m[@]}", "${m[k]}", "${xs[*]#?}",
    ]  # fmt: skip
    return draw(st.sampled_from(forms))


def arithmetic(draw: st.DrawFn) -> str:
    term = st.one_of(SMALL.map(str), st.sampled_from(["n", "n++", "--n", "(n ? 3 : 4)", "0x1f", "2#101", "~n", "!n"]))
    operator = st.sampled_from(["+", "-", "*", "<<1+", "&", "|", "^", "==", "<", "&&", "||", "%7+", ","])
    return f"$(( {draw(term)} {draw(operator)} {draw(term)} {draw(operator)} {draw(term)} ))"


@st.composite
def word(draw: st.DrawFn) -> str:
    kind = draw(st.integers(0, 6))
    if kind == 0:
        return quoted(draw(TEXT))
    if kind == 1:
        return '"' + parameter(draw) + draw(st.sampled_from(["", "-", " x"])) + '"'
    if kind == 2:
        return parameter(draw)
    if kind == 3:
        return arithmetic(draw)
    if kind == 4:
        return draw(st.sampled_from(["{1..3}", "{a,b}{x,y}", "x{,1}", "{c..a}", "~", "$'a\\tb'", "*", "?", "[ab]"]))
    if kind == 5:
        return f'"$(echo {quoted(draw(TEXT))} | {draw(FILTERS)})"'
    return draw(st.sampled_from(["-n", "--", "plain", "$?", "$#", '"$@"', '"$*"']))


FILTERS = st.sampled_from(
    ["cat", "tr a-c A-C", "wc -c", "sed 's/a/b/g'", "cut -c1-3", "rev", "head -c 4", "grep -c a", "sort -u"]
)
WORDS = st.lists(word(), min_size=1, max_size=3).map(" ".join)


def statement() -> st.SearchStrategy[str]:
    simple = st.one_of(
        WORDS.map(lambda w: f"printf '<%s>' {w}; echo"),
        st.tuples(NAMES, word()).map(lambda p: f"{p[0]}={p[1]}" if p[0] not in ("xs", "m") else f"xs+=({p[1]})"),
        st.tuples(word(), word()).map(lambda p: f"[[ {p[0]} == {p[1]} ]]; echo $?"),
        st.tuples(word(), word()).map(lambda p: f"[ {p[0]} = {p[1]} ] 2>/dev/null; echo $?"),
        WORDS.map(lambda w: f"set -- {w}; echo $# \"$1\""),
        st.tuples(word(), FILTERS).map(lambda p: f"echo {p[0]} | {p[1]}; echo ${{PIPESTATUS[@]}}"),
        SMALL.map(lambda n: f"(exit {n & 255}); echo $?"),
    )  # fmt: skip
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            st.tuples(word(), inner).map(lambda p: f"for v in {p[0]}; do {p[1]}; done"),
            st.tuples(word(), inner, inner).map(lambda p: f"case {p[0]} in a*|?) {p[1]};; *) {p[2]};; esac"),
            st.tuples(word(), inner, inner).map(lambda p: f"if [[ -n {p[0]} ]]; then {p[1]}; else {p[2]}; fi"),
            inner.map(lambda s: f"( {s}; a=changed ); echo $a"),
            inner.map(lambda s: f"f() {{ local a=in; {s}; return 3; }}; f 1 2; echo $? $a"),
            inner.map(lambda s: f"x=$({s}); printf '%q\\n' \"$x\""),
        ),
        max_leaves=4,
    )


SCRIPTS = st.lists(statement(), min_size=1, max_size=4).map(
    lambda lines: "a=abc b='x y' c= n=5 xs=(one 'two 2' three); declare -A m=([k]=v [q]=w)\ntouch aa b.c\n" + "\n".join(lines)
)


def real(bash: str, script: str) -> tuple[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        env = {"PATH": "/usr/bin:/bin", "HOME": "/workspace", "LANG": "C.UTF-8"}
        done = subprocess.run(
            [bash, "-c", script, "bash"], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=30
        )
    return done.stdout.decode("utf-8", "replace"), done.returncode


def ours(script: str) -> tuple[str, int]:
    with hatchway.Sandbox(language="shell") as box:
        result = box.run(script)
    return result.stdout, result.exit_code


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare our shell with real bash on random scripts.")
    parser.add_argument("--count", type=int, default=2000, help="how many scripts (default 2000)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed draws the same scripts")
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
        expected, got = real(bash, script), ours(script)
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
