"""Programs that programs start: on the same files, within the run's limits, replayed with it."""

from __future__ import annotations

import shlex
import threading
import time

import pytest

import hatchway
from sandbox.snapshots.recordings import record
from sandbox.wire import RunRequest
from tests.conftest import NewBox
from tests.sandbox.outcomes import code_of


def sh(box: hatchway.Sandbox, script: str) -> str:
    result = box.run(script, language="shell")
    assert result.error is None, result
    return result.stdout


def test_pipelines_mix_languages(box: hatchway.Sandbox) -> None:
    box.files.write_file("gen.py", 'import sys\nfor word in sys.argv[1:]: print(\'{"w": "%s"}\' % word)')
    box.files.write_file("up.js", "process.stdin.on('data', (d) => process.stdout.write(String(d).toUpperCase()))")
    assert sh(box, "python3 gen.py a b | jq -r .w | node up.js") == "A\nB\n"


def test_files_folder_environment_and_status_are_shared(box: hatchway.Sandbox) -> None:
    box.files.write_file("note.py", "import os\nopen('f', 'w').write(os.environ['A'])\nexit(3)")
    assert sh(box, "mkdir d; cd d; export A=5; python3 ../note.py; echo $? $(cat f)") == "3 5\n"


def test_input_that_a_program_does_not_read_stays(box: hatchway.Sandbox) -> None:
    assert sh(box, "printf 'a\\nb\\n' | while read x; do python3 -c pass; echo $x; done") == "a\nb\n"
    assert sh(box, "printf 'print(42)' | python3") == "42\n"


def test_typescript_runs_from_the_shell(box: hatchway.Sandbox) -> None:
    assert sh(box, "echo 'const n: number = 7; console.log(n)' > a.ts; tsx a.ts; node a.ts") == "7\n7\n"


def test_interpreter_that_cannot_start_says_why(box: hatchway.Sandbox) -> None:
    missing = box.run("python3 nowhere.py; echo $?", language="shell")
    assert (missing.stdout, missing.stderr) == ("2\n", "python3: can't open file 'nowhere.py': No such file or directory\n")
    assert box.run("python3 -c '1/0'; echo $?", language="shell").stderr.endswith("ZeroDivisionError: division by zero\n")
    assert sh(box, "python3 --version").startswith("Python 3.")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("subprocess.run(['sort'], input='b\\na\\n', text=True, capture_output=True).stdout", "a\nb\n"),
        ("subprocess.check_output('echo $X; pwd', shell=True, text=True, env={'X': '1'}, cwd='/tmp')", "1\n/tmp\n"),
        ("subprocess.run(['python3', '-c', 'print(6 * 7)'], capture_output=True).stdout.decode()", "42\n"),
        ("__import__('os').popen('seq 2').read()", "1\n2\n"),
        ("__import__('os').system('exit 3') >> 8", 3),
        ("subprocess.getoutput('echo a; echo b >&2')", "a\nb"),
    ],
)
def test_python_starts_commands(box: hatchway.Sandbox, code: str, expected: object) -> None:
    result = box.run(f"import subprocess\n{code}")
    assert result.result == expected, result


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("cp.execSync('echo hi | tr a-z A-Z', { encoding: 'utf8' })", "HI\n"),
        ("cp.spawnSync('wc', ['-c'], { input: 'abc' }).stdout.toString()", "3\n"),
        ("cp.spawnSync('nowhere').error.code", "ENOENT"),
        (
            "let told; try { cp.execSync('echo no >&2; exit 3') } catch (e) { told = [e.status, String(e.stderr)] }; told",
            [3, "no\n"],
        ),
        ("cp.execFileSync('python3', ['-c', 'print(6 * 7)']).toString()", "42\n"),
        ("cp.execSync('git init -q -b new; git status -sb').toString()", "## No commits yet on new\n"),
        ("(await require('util').promisify(cp.exec)('echo $X; pwd', { env: { X: 1 }, cwd: '/tmp' })).stdout", "1\n/tmp\n"),
        ("await new Promise((told) => cp.spawn('nowhere').on('error', (e) => told(e.code)))", "ENOENT"),
    ],
)
def test_javascript_starts_commands(box: hatchway.Sandbox, code: str, expected: object) -> None:
    result = box.run(f"const cp = require('child_process');\n{code}", language="javascript")
    assert result.result == expected, result


def test_a_spawned_command_gets_its_input_and_tells_its_output(box: hatchway.Sandbox) -> None:
    code = (
        "const sort = require('node:child_process').spawn('sort'); let got = '';\n"
        "sort.stdout.on('data', (d) => (got += d)); sort.stdin.write('b\\n'); sort.stdin.end('a\\n');\n"
        "[await new Promise((done) => sort.on('close', done)), got]"
    )
    assert box.run(code, language="javascript").result == [0, "a\nb\n"]


def test_python_hears_of_commands_that_fail_or_are_missing(box: hatchway.Sandbox) -> None:
    told = box.run(
        "import subprocess\nseen = []\n"
        "try: subprocess.run(['nowhere'])\nexcept FileNotFoundError as error: seen.append(error.filename)\n"
        "try: subprocess.check_call(['false'])\nexcept subprocess.CalledProcessError as e: seen.append(e.returncode)\nseen"
    )
    assert told.result == ["nowhere", 1]


def test_a_command_with_a_pipe_starts_when_its_input_ends(box: hatchway.Sandbox) -> None:
    box.run("import subprocess as s\np = s.Popen(['wc', '-l'], stdin=s.PIPE, stdout=s.PIPE, text=True)")
    assert box.run("p.stdin.write('a\\n')\np.communicate('b\\n')[0]").result == "2\n"


def test_limits_of_the_run_end_what_it_started_and_undo_everything(new_box: NewBox) -> None:
    box = new_box(limits={"wall_ms": 60_000, "cpu_ms": 60_000})
    while time.thread_time() < 4:
        pass  # started programs have what is left of the run, whatever its thread has computed before
    late = box.run("echo x > kept; python3 -c 'while True: pass'", language="shell", limits={"cpu_ms": 200})
    assert code_of(late) == "TIMEOUT_CPU" and late.error is not None and "200 ms" in late.error.message
    assert late.metrics.cpu_ms >= 200
    assert late.metrics.cpu_ms < 2_000, "however much the run's thread has computed before"
    slept = box.run("echo x > kept; python3 -c 'import time; time.sleep(60)'", language="shell", timeout_ms=200)
    assert code_of(slept) == "TIMEOUT_WALL"
    assert box.files.list_dir("/workspace") == []
    full = box.run("echo x > kept; python3 -c 'x = bytearray(1 << 28)'; echo $?", language="shell")
    assert full.stdout == "1\n" and full.stderr == "python3: the program ran out of memory\n"


def test_output_of_a_started_program_is_whole_or_ends_the_run(box: hatchway.Sandbox) -> None:
    write = "echo x > kept; python3 -c 'import sys\nfor _ in range({}): sys.stdout.write(\"y\" * (1 << 20))' | wc -c"
    assert sh(box, write.format(8)) == f"{8 << 20}\n"
    box.files.remove("kept")
    flood = box.run(write.format(100), language="shell")
    assert code_of(flood) == "STDOUT_EXCEEDED" and flood.status.value == "resource_exhausted"
    assert box.files.list_dir("/workspace") == []


def test_a_cancel_reaches_what_the_run_started(new_box: NewBox) -> None:
    box = new_box(limits={"wall_ms": 60_000, "cpu_ms": 60_000})
    started = threading.Event()
    timer = threading.Thread(target=lambda: started.wait(30) and box.cancel())
    timer.start()
    ended = box.run("echo begun; python3 -c 'while True: pass'", language="shell", on_output=lambda *_: started.set())
    timer.join()
    assert ended.status is hatchway.RunStatus.CANCELLED


def test_programs_nest_only_a_few_levels_deep(box: hatchway.Sandbox) -> None:
    box.files.write_file("again.sh", "python3 -c 'import os; os.system(\"bash again.sh\")'")
    ended = box.run("bash again.sh", language="shell", limits={"wall_ms": 60_000})
    assert ended.error is None and "more than 4 deep" in ended.stderr


def test_calls_of_started_programs_are_the_runs(new_box: NewBox) -> None:
    box = new_box(tools={"double": lambda n: n * 2})
    called = box.run("python3 -c 'print(tools.double(4))'; double 5", language="shell", limits={"max_external_calls": 2})
    assert called.stdout == "8\n10\n" and called.metrics.external_calls_count == 2
    assert [record.name for record in called.external_calls] == ["double", "double"]


def test_a_recorded_run_starts_its_programs_again_when_it_is_replayed(box: hatchway.Sandbox) -> None:
    python = "import random, time; open('r', 'w').write(f'{random.random()} {time.time()}')"
    recorded, recording = record(box._session, make_request(box, f'python3 -c "{python}"; cat r'))
    assert recording is not None and recorded.stdout
    assert hatchway.replay(recording).result.stdout == recorded.stdout


def test_tm_pol_start_a_program_starts_only_permitted_languages(box: hatchway.Sandbox) -> None:
    script = "python3 -c 'print(1)'; echo $?; node -e 'console.log(2)'"
    result = box._session.run(make_request(box, script, starts=[hatchway.Language.JAVASCRIPT]))
    assert result.stdout == "126\n2\n" and "programs in python may not be started here" in result.stderr
    box.files.write_file("large.js", "console.log(3)" + " " * (256 << 10))
    large = box._session.run(make_request(box, "node large.js", starts=[hatchway.Language.JAVASCRIPT]))
    assert large.exit_code == 126 and "more than 262144 bytes of code" in large.stderr


def test_tm_pol_start_git_needs_no_permission(box: hatchway.Sandbox) -> None:
    script = "git init -q -b main; git status -sb; git frob 2> /dev/null; echo $?; python3 -c 'print(1)'; echo $?"
    result = box._session.run(make_request(box, script, starts=[hatchway.Language.JAVASCRIPT]))
    assert result.stdout == "## No commits yet on main\n1\n126\n", result


def test_tm_pol_start_sqlite3_needs_no_permission_and_starts_nothing(box: hatchway.Sandbox) -> None:
    script = "sqlite3 a.db 'select 6*7'; sqlite3 a.db .nope 2> /dev/null; echo $?; python3 -c 'print(1)'; echo $?"
    result = box._session.run(make_request(box, script, starts=[hatchway.Language.JAVASCRIPT]))
    assert result.stdout == "42\n1\n126\n", result


@pytest.mark.parametrize(
    "line",
    [
        ".shell touch x", ".system touch x", ".load x", ".import '|touch x' t", ".read '|touch x'", ".output '|touch x'",
        ".once '|touch x'", ".once -e", ".excel", "select load_extension('x')", "select edit('x')",
    ],
)  # fmt: skip
def test_tm_pol_start_sqlite3_refuses_what_would_start_a_program(box: hatchway.Sandbox, line: str) -> None:
    told = box.run(f"sqlite3 :memory: {shlex.quote(line)}; echo $?; ls", language="shell")
    assert told.stdout == "1\n" and told.stderr, told


@pytest.mark.parametrize(("room", "name", "word"), [("git", "command", "--version"), ("sqlite", "program", "-version")])
def test_tm_pol_start_ours_import_nothing_of_the_sessions(box: hatchway.Sandbox, room: str, name: str, word: str) -> None:
    box.files.write_file("planted.py", "print('imported')")
    told = box.run(
        f"import sys\nfrom _hatchway.{room} import {name} as command\nsys.argv = ['it', '{word}']\n"
        "try: command.main()\nexcept SystemExit as ended: code = ended.code\n"
        "try: import planted\nexcept ModuleNotFoundError: print('nothing')\ncode"
    )
    assert told.result == 0 and told.stdout.endswith("\nnothing\n"), told
    kept = box.run("mkdir /usr/local/lib/x || echo kept", language="shell")
    assert kept.stdout == "kept\n", "where git may import from is nobody's to change"


def make_request(box: hatchway.Sandbox, code: str, starts: list[hatchway.Language] | None = None) -> RunRequest:
    shell, given = hatchway.Language.SHELL, box._session.id
    return RunRequest(
        session_id=given, language=shell, code=code, inputs={}, return_snapshot=False, validate_only=False, starts=starts
    )


def test_a_started_program_that_a_limit_ends_costs_the_run_alone(new_box: NewBox) -> None:
    box = new_box(language="shell", limits={"wall_ms": 60_000, "cpu_ms": 60_000})
    late = box.run("python3 -c 'x = b\"x\" * (20 << 20)\nwhile True: pass'", timeout_ms=4000)
    assert code_of(late) == "TIMEOUT_WALL" and late.metrics.memory_peak_bytes > 20 << 20
    assert box.run("python3 -c 'print(1)'").stdout == "1\n"
