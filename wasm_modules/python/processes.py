"""Commands that a program starts: `subprocess`, `os.system`, `os.popen`. The host runs each to its end, on the same files.

How: a command runs when its input is complete: at once, or with `stdin=PIPE` when the program waits for it, reads from it or
closes its input. So a program and its command never run at the same time, and a dialogue with one is not possible.
"""

import io
import os
import subprocess
import sys

import _host

PIPE, STDOUT, DEVNULL = subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL
NUL = b"\0"


def start(words, stdin, folder, environ):
    """The exit status, standard output and standard error of a command line (ABI.md, message `X`)."""
    fields = [str(len(words)), *words, os.path.abspath(folder or "."), str(len(environ))]
    fields += [f"{name}={value}" for name, value in environ.items()]
    encoded = [os.fsencode(field) for field in fields]
    if any(NUL in field for field in encoded):
        raise ValueError("embedded null byte")
    reply = _host.call(b"X" + NUL.join([*encoded, stdin]))
    if not reply:  # while the image is made
        raise FileNotFoundError(2, "No such file or directory", words[0])
    head, _, output = reply.partition(b"\n")
    status, _, length = map(int, head.split())
    return status, output[:length], output[length:]


class Input(io.BytesIO):
    """What is written to a command; closing it starts the command."""

    def __init__(self, process):
        super().__init__()
        self._process = process

    def close(self):
        if not self.closed:
            self._process._given = self.getvalue()
            super().close()
            self._process._finish()


class Output(io.RawIOBase):
    """What a command printed; the first look starts it."""

    def __init__(self, process, name):
        self._process, self._name, self._data = process, name, None

    def readable(self):
        return True

    def readinto(self, into):
        if self._data is None:
            self._process._finish()
            self._data = io.BytesIO(self._process._printed[self._name])
        return self._data.readinto(into)


class Popen(subprocess.Popen):
    __module__ = "subprocess"

    def __init__(
        self, args, bufsize=-1, executable=None, stdin=None, stdout=None, stderr=None, preexec_fn=None, close_fds=True,
        shell=False, cwd=None, env=None, universal_newlines=None, startupinfo=None, creationflags=0, restore_signals=True,
        start_new_session=False, pass_fds=(), *, user=None, group=None, extra_groups=None, encoding=None, errors=None, text=None,
        umask=-1, pipesize=-1, process_group=None,
    ):  # fmt: skip
        self.args, self.pid, self.returncode = args, os.getpid() + 1, None
        words = [args] if isinstance(args, (str, bytes, os.PathLike)) else list(args)
        self._words = [os.fsdecode(word) for word in words]
        if shell:
            self._words = ["sh", "-c", *self._words]
        if executable is not None and not shell:
            self._words[0] = os.fsdecode(executable)
        if not self._words or not self._words[0]:
            raise FileNotFoundError(2, "No such file or directory", "")
        if cwd is not None and not os.path.isdir(cwd):
            raise FileNotFoundError(2, "No such file or directory", os.fspath(cwd))
        self._folder, self._environ = cwd, dict(os.environ if env is None else env)
        self._places = {"stdout": stdout, "stderr": stderr}
        self._printed, self._given = {}, b""
        self.text_mode = bool(text or universal_newlines or encoding or errors)
        self._wrap = (encoding or "utf-8", errors or "strict") if self.text_mode else None
        self.stdin, self.stdout, self.stderr = None, self._reader("stdout", stdout), self._reader("stderr", stderr)
        if stdin == PIPE:
            self.stdin = self._wrapped(Input(self))
            return
        if stdin not in (None, DEVNULL):
            self._given = stdin.read() if hasattr(stdin, "read") else os.read(stdin, 1 << 26)
            self._given = self._given.encode() if isinstance(self._given, str) else self._given
        self._finish(not shell)

    def _wrapped(self, stream):
        return io.TextIOWrapper(stream, *self._wrap, write_through=True) if self._wrap else stream

    def _reader(self, name, place):
        return self._wrapped(io.BufferedReader(Output(self, name))) if place == PIPE else None

    def _finish(self, is_checked=False):
        """Runs the command, unless it has run."""
        if self.returncode is not None:
            return
        sys.stdout.flush()
        status, out, err = start(self._words, self._given, self._folder, self._environ)
        if status == 127 and is_checked and err.endswith(b"command not found\n"):
            raise FileNotFoundError(2, "No such file or directory", self._words[0])
        if self._places["stderr"] == STDOUT:
            out, err = out + err, b""
        self.returncode = status
        self._printed = {"stdout": out, "stderr": err}
        for number, name in ((1, "stdout"), (2, "stderr")):
            self._put(self._printed[name], self._places[name], number)

    @staticmethod
    def _put(data, place, number):
        if place in (PIPE, DEVNULL, STDOUT) or not data:
            return
        if place is None:
            place = number
        elif not isinstance(place, int):
            place.flush()
            place = place.fileno()
        while data:
            data = data[os.write(place, data) :]

    def communicate(self, input=None, timeout=None):
        if input is not None and self.stdin is not None:
            self.stdin.write(input)
        if self.stdin is not None:
            self.stdin.close()
        self._finish()
        return (self.stdout.read() if self.stdout else None), (self.stderr.read() if self.stderr else None)

    def poll(self):
        if self.stdin is None or self.stdin.closed:
            self._finish()
        return self.returncode

    def wait(self, timeout=None):
        if self.stdin is not None:
            self.stdin.close()
        self._finish()
        return self.returncode

    def send_signal(self, sig):
        pass

    terminate = kill = lambda self: None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        for stream in (self.stdout, self.stderr):
            if stream:
                stream.close()
        self.wait()

    def __del__(self, *args):
        pass


def system(command):
    return Popen(command, shell=True).wait() << 8


class Pipe(io.TextIOWrapper):
    """What `os.popen` gives."""

    def __init__(self, process):
        self._process = process
        super().__init__(io.BufferedReader(Output(process, "stdout")))

    def close(self):
        super().close()
        return self._process.wait() << 8 or None


def popen(cmd, mode="r", buffering=-1):
    if mode == "w":
        return Popen(cmd, shell=True, stdin=PIPE, text=True).stdin
    return Pipe(Popen(cmd, shell=True, stdout=PIPE))


def install():
    subprocess.Popen = Popen
    os.system, os.popen = system, popen
