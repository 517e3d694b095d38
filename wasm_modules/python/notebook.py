"""What notebook commands do: `get_ipython()` and its methods, as far as programs use them.

Commands run in the session's shell, to their end. Names of the program stand in them as `{expression}` or `$name`. What needs a
notebook's own page, or an index of packages, says so.
"""

import importlib.metadata
import io
import os
import re
import shlex
import sys

from _hatchway import processes, timing
from _hatchway.displays import add_display
from _hatchway.magics import AROUND
from _hatchway.surroundings import main

INSTALLERS = frozenset(("pip", "pip3", "conda", "mamba", "uv"))
SETTINGS = frozenset(
    ("alias", "autoreload", "autosave", "colors", "config", "load_ext", "matplotlib", "pdb", "precision", "reload_ext", "xmode")
)  # fmt: skip
SHELLS = frozenset(("!", "bash", "sh", "shell", "system", "sx", "cmd"))
TOOLS = frozenset(("cat", "cp", "head", "less", "ll", "ls", "mkdir", "more", "mv", "rm", "rmdir", "tail", "touch", "tree"))
SHOWN = {"html": "text/html", "HTML": "text/html", "markdown": "text/markdown", "latex": "text/latex", "svg": "image/svg+xml"}
INSERTED = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|\$\$|\$([^\W\d]\w*)")
INSTALLED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
NOT_INSTALLED = "{} cannot be installed: packages come with the sandbox, and LIMITATIONS.md lists them"

names = main.__dict__


class UsageError(NotImplementedError):
    """A command that there is not."""

    __module__ = "builtins"


class Output(list):
    """Lines that a command printed: `.n` and `.s` are one text."""

    l = property(list)
    n = nlstr = property("\n".join)
    s = spstr = property(" ".join)


class Captured:
    """What `%%capture` keeps of a program's output."""

    def __init__(self):
        self._out, self._err = io.StringIO(), io.StringIO()

    stdout = property(lambda self: self._out.getvalue())
    stderr = property(lambda self: self._err.getvalue())

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)

    __call__ = show
    __str__ = stdout.fget


def insert_values(text):
    """The command with the program's values in it. What names none of them is the shell's."""

    def value_of(found):
        expression = found[1] or found[2]
        if expression is None:
            return "$" if found[0] == "$$" else found[0]
        try:
            return str(eval(expression, names))  # noqa: S307
        except Exception:
            return found[0]

    return INSERTED.sub(value_of, text)


def take_options(text, known):
    """(options by letter, the rest) of a command's words. A letter that a colon follows in `known` has a value."""
    options = {}
    while found := re.match(r"\s*-([A-Za-z])", text):
        letter, text = found[1], text[found.end() :]
        if letter not in known:
            raise UsageError(f"option -{letter} not recognized")
        if known[known.index(letter) + 1 :].startswith(":"):
            value, _, text = text.lstrip().partition(" ")
            options[letter] = value
        else:
            options[letter] = True
    return options, text.strip()


class Notebook:
    """`get_ipython()`. Its methods `line_NAME` and `cell_NAME` are the commands."""

    def __init__(self):
        self.user_ns = names
        self.endings = []
        self._folder_before = None

    def system(self, command):
        """`!command`: prints what it prints."""
        words = command.split(None, 1)
        if words and words[0] in INSTALLERS:
            return self.line_pip(words[1] if len(words) > 1 else "")
        status, out, err = self._start(command)
        processes.Popen._put(out, None, 1)
        processes.Popen._put(err, None, 2)
        names["_exit_code"] = status
        return None

    def getoutput(self, command):
        """`x = !command`: the lines that it prints."""
        status, out, err = self._start(command)
        names["_exit_code"] = status
        return Output((out + err).decode("utf-8", "replace").splitlines())

    def _start(self, command):
        sys.stdout.flush()
        return processes.start(["bash", "-c", insert_values(command)], b"", None, os.environ)

    def run_line_magic(self, name, line, _stack_depth=1):
        if name in TOOLS:
            return self.system(f"{'ls -l' if name == 'll' else name} {line}")
        if name in SETTINGS:
            return None
        run = getattr(self, f"line_{name}", None)
        if run is None:
            raise UsageError(f"Line magic function `%{name}` not found.")
        return run(line if name in ("time", "timeit") else insert_values(line))

    magic = run_line_magic

    def run_cell_magic(self, name, line, cell):
        if name in SHOWN:
            return add_display(SHOWN[name], cell)
        if name in SHELLS:
            return self._run_with(["bash", "-s", *shlex.split(line)], cell)
        run = getattr(self, f"cell_{name}", None)
        if run is None:
            raise UsageError(f"Cell magic `%%{name}` not found.")
        return run(line, cell)

    def _run_with(self, words, text):
        sys.stdout.flush()
        status, out, err = processes.start(words, text.encode(), None, os.environ)
        processes.Popen._put(out, None, 1)
        processes.Popen._put(err, None, 2)
        if status:
            raise processes.subprocess.CalledProcessError(status, words, out, err)

    def begin(self, name, line):
        """`%%time` and `%%capture`, over the rest of the program: `end` is called when it has ended."""
        if name == "time":
            self.endings.append(timing.Stopwatch().stop)
            return
        captured, streams = Captured(), (sys.stdout, sys.stderr)
        target = line.split()[0] if line and not line.startswith("-") else None
        sys.stdout, sys.stderr = captured._out, captured._err

        def restore():
            sys.stdout, sys.stderr = streams
            if target:
                names[target] = captured

        self.endings.append(restore)

    def end(self):
        while self.endings:
            self.endings.pop()()

    def line_pip(self, line):
        """Tells what of the packages is there already."""
        words = shlex.split(line)
        if words[:1] != ["install"]:
            raise UsageError(f"pip {line}: {NOT_INSTALLED.format('packages')}")
        for word in words[1:]:
            found = INSTALLED.match(word)
            if word.startswith("-") or not found:
                continue
            try:
                print(f"Requirement already satisfied: {found[0]} ({importlib.metadata.version(found[0])})")
            except importlib.metadata.PackageNotFoundError:
                raise UsageError(NOT_INSTALLED.format(found[0])) from None

    line_conda = line_mamba = line_uv = line_pip

    def line_time(self, line):
        return timing.run(line, names)

    def line_timeit(self, line, cell=None):
        options, rest = take_options(line, "n:r:p:cotq")
        program, setup = (rest, "") if cell is None else (cell, rest)
        measured = timing.measure(program, setup, names, int(options.get("n", 0)), int(options.get("r", 7)))
        if "q" not in options:
            print(measured)
        return measured if "o" in options else None

    cell_timeit = line_timeit

    def line_cd(self, line):
        before = os.getcwd()
        options, folder = take_options(line, "q")
        os.chdir((self._folder_before or before) if folder == "-" else os.path.expanduser(folder.strip("'\"") or "~"))
        self._folder_before = before
        if not options:
            print(os.getcwd())

    def line_pwd(self, line):
        return os.getcwd()

    def line_env(self, line):
        if not line:
            return dict(os.environ)
        found = re.fullmatch(r"(\w+)(?:\s*=\s*|\s+)(.*)", line)
        if not found:
            return os.environ[line]
        os.environ[found[1]] = found[2]
        print(f"env: {found[1]}={found[2]}")
        return None

    line_set_env = line_env

    def line_run(self, line):
        """Runs a file as a program of its own; what it defines is the program's from then on."""
        options, rest = take_options(line, "inte")
        words = shlex.split(rest)
        if not words:
            raise UsageError("%run needs a file")
        path = words[0] if os.path.exists(words[0]) else f"{words[0]}.py"
        with open(path, encoding="utf-8") as file:
            code = compile(file.read(), path, "exec")
        own = {**(names if "i" in options else {}), "__name__": "__main__", "__file__": path, "__builtins__": __builtins__}
        argv, sys.argv = sys.argv, [path, *words[1:]]
        try:
            exec(code, own)  # noqa: S102
        except SystemExit as left:
            if left.code and "e" not in options:
                raise
        finally:
            sys.argv = argv
        names.update((name, value) for name, value in own.items() if not name.startswith("__"))

    def line_who_ls(self, line):
        kinds = line.split()
        found = [
            name for name, value in names.items() if not name.startswith("_") and (not kinds or type(value).__name__ in kinds)
        ]
        return sorted(found)

    def line_who(self, line):
        print("\t ".join(self.line_who_ls(line)) or "Interactive namespace is empty.")

    def line_whos(self, line):
        found = [(name, type(names[name]).__name__, repr(names[name]).split("\n")[0]) for name in self.line_who_ls(line)]
        rows = [("Variable", "Type", "Data/Info"), *((name, kind, text[:60]) for name, kind, text in found)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        told = ["   ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        told.insert(1, "-" * max(map(len, told)))
        print("\n".join(told))

    def line_reset(self, line):
        for name in self.line_who_ls(""):
            del names[name]

    def line_pinfo(self, line):
        help(eval(line, names))  # noqa: S307

    def line_lsmagic(self, line):
        line_names = sorted({*TOOLS, *SETTINGS, *(name[5:] for name in dir(self) if name.startswith("line_"))})
        cell_names = sorted({*AROUND, *SHELLS - {"!"}, *SHOWN, *(name[5:] for name in dir(self) if name.startswith("cell_"))})
        print(f"Line magics: {' '.join('%' + name for name in line_names)}")
        print(f"Cell magics: {' '.join('%%' + name for name in cell_names)}")

    def cell_writefile(self, line, cell):
        options, path = take_options(line, "a")
        path = os.path.expanduser(path.strip("'\""))
        print(f"{'Appending to' if options else 'Overwriting' if os.path.exists(path) else 'Writing'} {path}")
        with open(path, "a" if options else "w", encoding="utf-8") as file:
            file.write(cell if cell.endswith("\n") else f"{cell}\n")

    cell_file = cell_writefile

    def cell_javascript(self, line, cell):
        self._run_with(["node", "-"], cell)

    cell_js = cell_node = cell_javascript

    def cell_python3(self, line, cell):
        self._run_with(["python3", "-", *shlex.split(line)], cell)

    cell_python = cell_python3

    def cell_script(self, line, cell):
        self._run_with(shlex.split(line), cell)


notebook = Notebook()


def get_ipython():
    return notebook
