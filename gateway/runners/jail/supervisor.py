"""The supervisor: the process of one `unix-local` session that starts its commands, in their jail, and outlives none of them.

How: it leaves for namespaces of its own with what its session may see, and its first child, process 1 there, starts the
commands. When process 1 ends the kernel ends all others, so no process of the session gets away; it ends when its socket closes
(the gateway has closed the session, or is gone) and no command is to be kept. It talks to the gateway over that socket of
packets: JSON, with descriptors attached.

Kept commands (`keep`) outlive the gateway, not the supervisor: it writes what they write to a file (`kept_output`), and waits at
`listening`, a socket in the session's private folder, for the next gateway, which shows the secret that the first one drew. The
others end with their gateway. At their deadline kept commands are killed here, in case no gateway comes to do it.

Where the session has a network, that is one port of its own loopback device: what connects there is passed to the gateway, which
speaks to it as a proxy (`gateway.egress.proxy`). No packet leaves the session's network.

Requests: run {id} + [spec, stdin, stdout, stderr] · keep {id} + [spec, stdin, file, event] · follow {id} + [event]
          signal {id, number} · kill {id} · forget {id} · pause · resume · dial {id, port} · adopt {secret} · end
Answers:  ready {error?, paused} · exit {id, code | null} · dialled {id} + [socket] | dialled {id, error} · reach + [socket]

Rules: THREAT[TM-RUN-ESCAPE]: no descriptor of a folder outside is left when a command starts; its working directory is a path in
the new root. The supervisor keeps its capabilities, which are worth nothing outside of its namespaces, and is out of the reach of
commands. Standard library only, and started without site packages.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import select
import signal
import socket
import struct
import sys
import termios
import time
from contextlib import suppress
from typing import Any

from gateway.runners.jail import command_rules, kept_output, processes
from sandbox.confinement import landlock, namespaces, privileges, seccomp

MAX_PACKET = 4096
_MAX_SPEC_BYTES = 4 << 20
_CHUNK = 65536
_SLOW_SECONDS = 0.05
"""Between looks at what is written after a file is full, or a command has ended: into the void, and not fast."""
_QUIET_SECONDS = 0.01


class _Kept:
    """A command that outlives the gateway. `event` is an eventfd on which its reader hears of more; -1: there is none."""

    def __init__(self, spec: dict[str, Any], pipes: list[int], file: int, event: int) -> None:
        self.log = kept_output.Writer(os.dup(file), spec["output_bytes"])
        self.until = time.monotonic() + spec["seconds"]
        self.pipes, self.event, self.is_late = pipes, os.dup(event), False

    def take(self, stream: int) -> bool:
        """What the pipe holds; False if there was nothing."""
        try:
            data = os.read(self.pipes[stream], _CHUNK)
        except BlockingIOError:
            return False
        if data:
            self.log.write(stream, data)
            self.tell()
        else:
            os.close(self.pipes[stream])
            self.pipes[stream] = -1
        return bool(data)

    def tell(self) -> None:
        with suppress(OSError):
            os.eventfd_write(self.event, 1)

    def follow(self, event: int) -> None:
        os.close(self.event)
        self.event = os.dup(event)
        self.tell()

    def end(self, code: int) -> list[int]:
        """The last of its output, and how it ended; the pipes that others still hold."""
        for stream, pipe in enumerate(self.pipes):
            for _ in range(32):
                if pipe < 0 or not self.take(stream):
                    break
        self.log.end(None if self.is_late else code)
        self.tell()
        os.close(self.event)
        return [pipe for pipe in self.pipes if pipe >= 0]


class Supervisor:
    """`writable` are the places in the new root that commands may write."""

    def __init__(self, control: socket.socket, listening: socket.socket, settings: dict[str, Any]) -> None:
        self._control: socket.socket | None = control
        self._listening, self._secret = listening, settings["secret"]
        self._kept: dict[str, _Kept] = {}
        self._void: list[int] = []
        self._is_paused = False
        self._spare: tuple[int, socket.socket] | None = None
        self._proxy = socket.create_server(("127.0.0.1", command_rules.PROXY_PORT)) if settings["network"] else None
        self._limits: dict[str, int] = settings["limits"]
        self._leaders: dict[str, int] = {}
        self._ids: dict[int, str] = {}
        self._calls = seccomp.prepare(command_rules.COMMAND)
        self._ruleset = landlock.make_ruleset(0)
        writable = [place["target"] for place in settings["places"] if place["writable"]]
        for paths, access in (
            (["/"], landlock.PROGRAMS),
            (command_rules.DEVICES, landlock.DEVICE),
            (command_rules.TERMINALS, landlock.TERMINAL),
            (writable, landlock.WRITE),
        ):
            for path in filter(os.path.exists, paths):
                descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
                landlock.grant(self._ruleset, [descriptor], access)
                os.close(descriptor)

    def serve(self) -> None:
        woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self._say({"op": "ready", "paused": False})
        gc.freeze()  # what is here stays: children share its pages
        while self._control is not None or self._kept:
            self._turn(woken)

    def _turn(self, woken: int) -> None:
        quick = {pipe: (one, n) for one in self._kept.values() for n, pipe in enumerate(one.pipes) if pipe >= 0}
        slow = {pipe: quick.pop(pipe) for pipe in list(quick) if quick[pipe][0].log.is_full}
        waited = [woken, self._listening.fileno(), *quick]
        if self._control is not None:
            waited.append(self._control.fileno())
        if self._proxy is not None:
            waited.append(self._proxy.fileno())
        ready, _, _ = select.select(waited, [], [], self._find_patience(bool(slow or self._void)))
        if not ready and self._spare is None and not self._is_paused:
            with suppress(OSError):
                self._spare = self._fork_spare()
        if woken in ready:
            os.read(woken, 512)
        for one, stream in [quick[pipe] for pipe in ready if pipe in quick] + list(slow.values()):
            one.take(stream)
        self._void = [pipe for pipe in self._void if not _is_at_end(pipe)]
        self._report()
        for name in [name for name, one in self._kept.items() if time.monotonic() >= one.until]:
            self._kept[name].is_late = True
            self._on_kill({"id": name}, [])
        if self._control is not None and self._control.fileno() in ready and not self._hear():
            self._control.close()
            self._control = None
            self._end_all_but_kept()
        if self._listening.fileno() in ready:
            self._admit()
        if self._proxy is not None and self._proxy.fileno() in ready:
            caller, _ = self._proxy.accept()
            with caller:
                self._say({"op": "reach"}, caller.fileno())

    def _find_patience(self, is_slow: bool) -> float | None:
        """A moment of quiet, after which a spare process is made: what runs goes first."""
        if self._spare is None and not self._is_paused:
            return _QUIET_SECONDS if self._ids else 0.0
        if is_slow:
            return _SLOW_SECONDS
        return max(0.0, min(one.until for one in self._kept.values()) - time.monotonic()) if self._kept else None

    def _admit(self) -> None:
        """The next gateway, if it knows the secret and the one before is gone."""
        caller, _ = self._listening.accept()
        try:
            caller.settimeout(2)
            said = json.loads(caller.recv(MAX_PACKET))
            if self._control is None and said == {"op": "adopt", "secret": self._secret}:
                caller.settimeout(None)
                self._control, caller = caller, socket.socket(socket.AF_UNIX)
                self._say({"op": "ready", "paused": self._is_paused})
        except (OSError, ValueError):
            return
        finally:
            caller.close()

    def _end_all_but_kept(self) -> None:
        for name in [name for name in self._leaders if name not in self._kept]:
            self._on_kill({"id": name}, [])

    def _say(self, message: dict[str, Any], *descriptors: int) -> None:
        if self._control is not None:
            with suppress(OSError):  # it is gone, as will be heard
                socket.send_fds(self._control, [json.dumps(message).encode()], list(descriptors))

    def _report(self) -> None:
        for pid, status in processes.reap():
            name = self._ids.pop(pid, None)
            if name is None:
                continue
            code = os.waitstatus_to_exitcode(status)
            code = code if code >= 0 else 128 - code
            if name in self._kept:
                self._void += self._kept.pop(name).end(code)
            else:
                self._say({"op": "exit", "id": name, "code": code})

    def _hear(self) -> bool:
        assert self._control is not None
        try:
            packet, descriptors, _, _ = socket.recv_fds(self._control, MAX_PACKET, 8)
        except OSError:
            packet, descriptors = b"", []
        try:
            if not packet:
                return False
            message = json.loads(packet)
            getattr(self, "_on_" + message["op"])(message, descriptors)
            return True
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _on_run(self, message: dict[str, Any], descriptors: list[int]) -> None:
        pid = self._hand_over(descriptors)
        self._leaders[message["id"]] = pid
        self._ids[pid] = message["id"]

    def _hand_over(self, descriptors: list[int]) -> int:
        """To the spare process, or to a new one if there is none any more."""
        while True:
            pid, spare = self._spare or self._fork_spare()
            self._spare = None
            with spare, suppress(OSError):
                socket.send_fds(spare, [b"run"], descriptors)
                return pid

    def _fork_spare(self) -> tuple[int, socket.socket]:
        """A process that has given up all that commands do not have, and waits to become one: so a command does not wait for
        that. What it knows is what a command's process knew between fork and exec, and it is as much out of reach of others."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if pid == 0:
            try:
                self._wait_to_become(theirs)
            finally:
                os._exit(126)
        theirs.close()
        return pid, ours

    def _on_keep(self, message: dict[str, Any], descriptors: list[int]) -> None:
        spec, stdin, file, event = descriptors
        ends = [os.pipe2(os.O_CLOEXEC) for _ in range(2)]
        for ours, _ in ends:
            os.set_blocking(ours, False)
        self._on_run(message, [spec, stdin, *(theirs for _, theirs in ends)])
        for _, theirs in ends:
            os.close(theirs)
        said = json.loads(os.pread(spec, _MAX_SPEC_BYTES, 0))
        self._kept[message["id"]] = _Kept(said, [ours for ours, _ in ends], file, event)

    def _on_follow(self, message: dict[str, Any], descriptors: list[int]) -> None:
        """What it wrote and how it ended is in its file; what is neither here nor there is lost."""
        if message["id"] in self._kept:
            self._kept[message["id"]].follow(descriptors[0])
        else:
            self._say({"op": "exit", "id": message["id"], "code": None})

    def _on_end(self, _: dict[str, Any], __: list[int]) -> None:
        os._exit(0)

    def _wait_to_become(self, control: socket.socket) -> None:
        is_confined = False
        with suppress(Exception):
            self._confine()
            is_confined = True
        kept = control.fileno()
        os.closerange(3, kept)
        os.closerange(kept + 1, 1 << 16)
        packet, descriptors, _, _ = socket.recv_fds(control, MAX_PACKET, 4)
        control.close()
        if not packet:
            os._exit(0)
        if not is_confined:
            os.dup2(descriptors[3], 2)
            os._exit(_complain("the command", "could not be started", 126))
        self._become(descriptors)

    def _confine(self) -> None:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        privileges.limit_resources(self._limits)
        privileges.empty_bounding_set()
        privileges.drop_capabilities()
        privileges.forgo_new_privileges()
        landlock.restrict(self._ruleset)
        seccomp.apply(self._calls)

    def _become(self, descriptors: list[int]) -> None:
        """In the child: the command, or exit code 126 or 127 as a shell gives them."""
        spec_fd, stdin, stdout, stderr = descriptors
        try:
            spec = json.loads(os.pread(spec_fd, _MAX_SPEC_BYTES, 0))
            for target, source in enumerate((stdin, stdout, stderr)):
                os.dup2(source, target)
            if spec["terminal"]:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            privileges.limit_resources(spec["limits"])
            os.chdir(spec["cwd"])
            os.closerange(3, 1 << 16)
            os.execvpe(spec["argv"][0], spec["argv"], spec["env"])
        except (FileNotFoundError, NotADirectoryError):
            os._exit(_complain(spec["argv"][0], "command not found", 127))
        except PermissionError:
            os._exit(_complain(spec["argv"][0], "permission denied", 126))
        except BaseException:
            os._exit(_complain("the command", "could not be started", 126))

    def _on_signal(self, message: dict[str, Any], _: list[int]) -> None:
        leader = self._leaders.get(message["id"])
        if leader is not None and leader in self._ids:
            try:
                os.killpg(leader, message["number"])
            except ProcessLookupError:
                return

    def _on_kill(self, message: dict[str, Any], _: list[int]) -> None:
        leader = self._leaders.pop(message["id"], None)
        while leader is not None and (living := processes.of_command(leader)):
            processes.send(living, signal.SIGKILL)
        self._report()  # of its end when all of it has ended

    def _on_forget(self, message: dict[str, Any], _: list[int]) -> None:
        if message["id"] not in self._kept:  # a gateway that stops leaves those
            self._leaders.pop(message["id"], None)

    def _on_pause(self, _: dict[str, Any], __: list[int]) -> None:
        self._is_paused = True
        self._signal_all(signal.SIGSTOP)

    def _on_resume(self, _: dict[str, Any], __: list[int]) -> None:
        self._is_paused = False
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(-1, number)  # all there are in this namespace, but for this one

    def _on_dial(self, message: dict[str, Any], _: list[int]) -> None:
        answer = {"op": "dialled", "id": message["id"]}
        if not processes.listens(message["port"]):
            return self._say({**answer, "error": "nothing listens"})
        for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            with socket.socket(family, socket.SOCK_STREAM) as client:
                client.settimeout(2)
                try:
                    client.connect((address, message["port"]))
                except OSError:
                    continue
                client.settimeout(None)
                return self._say(answer, client.fileno())
        return self._say({**answer, "error": "refused"})


def _is_at_end(pipe: int) -> bool:
    try:
        if os.read(pipe, _CHUNK):
            return False
    except BlockingIOError:
        return False
    os.close(pipe)
    return True


def _complain(program: str, why: str, code: int) -> int:
    os.write(2, f"{program[:200]}: {why}\n".encode("utf-8", "replace"))
    return code


def _enter(settings: dict[str, Any]) -> None:
    """Leave the machine behind. Returns in process 1 of the session's namespaces; the process it was ends when that one does."""
    user, group = settings["user"], settings["group"]
    namespaces.leave(user, namespaces.PROCESSES | namespaces.NETWORK)
    trees, links = command_rules.take_programs(settings["programs"])
    trees += [namespaces.take(place["source"], place["target"], writable=place["writable"]) for place in settings["places"]]
    for source in {place["source"] for place in settings["places"]}:
        os.close(source)
    namespaces.become(user, group)
    first = os.fork()
    if first:
        os.closerange(3, 1 << 16)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]) & 0xFF)
    privileges.die_with_parent()
    privileges.refuse_dumps()
    namespaces.make_root(trees, links, command_rules.write_accounts(user, group), processes=True)
    for name, most in command_rules.SHARES.items():
        with open(f"/proc/sys/user/{name}", "w") as file:
            file.write(str(most))
    socket.sethostname("hatchway")
    _raise_loopback()


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up, running


def main() -> None:
    control, listening = (socket.socket(fileno=int(number)) for number in sys.argv[1:3])
    settings = json.loads(os.pread(int(sys.argv[3]), _MAX_SPEC_BYTES, 0))
    try:
        _enter(settings)
        supervisor = Supervisor(control, listening, settings)
    except OSError as error:
        socket.send_fds(control, [json.dumps({"op": "ready", "error": error.strerror or type(error).__name__}).encode()], [])
        os._exit(1)
    supervisor.serve()
    os._exit(0)
