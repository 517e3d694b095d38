"""The supervisor: the process of one `unix-local` session that starts its commands, in their jail, and outlives none of them.

How: it talks to the gateway over a socket of packets: JSON, with descriptors attached. It is the reaper of everything below it,
so no process of the session gets away, and when the socket closes (the gateway has closed the session, or is gone) it kills
them all.

Requests: run {id} + [spec, cwd, stdin, stdout, stderr] · signal {id, number} · kill {id} · pause · resume · dial {id, port}
Answers:  ready {isolated} · exit {id, code | null} · dialled {id} + [socket] | dialled {id, error}

The supervisor itself is outside of the jail; commands cannot signal it. Standard library only, and started without site packages.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
from typing import Any

from gateway.runners.jail import command_rules, processes
from sandbox.confinement import landlock, privileges, seccomp

MAX_PACKET = 4096
_MAX_SPEC_BYTES = 4 << 20


class Supervisor:
    def __init__(self, control: socket.socket, settings: dict[str, Any]) -> None:
        self._control = control
        self._limits: dict[str, int] = settings["limits"]
        self._leaders: dict[str, int] = {}
        self._ids: dict[int, str] = {}
        privileges.become_reaper()
        self._isolated = not settings["network"] and settings["own_network"] and command_rules.leave_network()
        self._only_tcp = not settings["network"] and not self._isolated
        self._ruleset = landlock.make_ruleset(landlock.CONNECT_TCP if self._only_tcp else 0)
        for names, access in (("programs", landlock.PROGRAMS), ("devices", landlock.DEVICE), ("read", landlock.READ)):
            self._grant(settings[names], access)
        landlock.grant(self._ruleset, settings["writable"], landlock.WRITE)

    def _grant(self, places: list[str | int], access: int) -> None:
        for place in places:
            if isinstance(place, int):
                landlock.grant(self._ruleset, [place], access)
                continue
            try:
                descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            landlock.grant(self._ruleset, [descriptor], access)
            os.close(descriptor)

    def serve(self) -> None:
        woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self._say({"op": "ready", "isolated": self._isolated})
        while True:
            ready, _, _ = select.select([self._control.fileno(), woken], [], [])
            if woken in ready:
                os.read(woken, 512)
                self._report()
            if self._control.fileno() in ready and not self._hear():
                return

    def _say(self, message: dict[str, Any], *descriptors: int) -> None:
        socket.send_fds(self._control, [json.dumps(message).encode()], list(descriptors))

    def _report(self) -> None:
        for pid, status in processes.reap():
            name = self._ids.pop(pid, None)
            if name is not None:
                code = os.waitstatus_to_exitcode(status)
                self._say({"op": "exit", "id": name, "code": code if code >= 0 else 128 - code})

    def _hear(self) -> bool:
        packet, descriptors, _, _ = socket.recv_fds(self._control, MAX_PACKET, 8)
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
        pid = os.fork()
        if pid == 0:
            self._become(descriptors)
        self._leaders[message["id"]] = pid
        self._ids[pid] = message["id"]

    def _become(self, descriptors: list[int]) -> None:
        """In the child: the command, or exit code 126 or 127 as a shell gives them."""
        spec_fd, cwd, stdin, stdout, stderr = descriptors
        try:
            spec = json.loads(os.pread(spec_fd, _MAX_SPEC_BYTES, 0))
            os.setsid()
            privileges.die_with_parent()
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.fchdir(cwd)
            for target, source in enumerate((stdin, stdout, stderr)):
                os.dup2(source, target)
            privileges.limit_resources({**self._limits, **spec["limits"]})
            privileges.empty_bounding_set()
            privileges.drop_capabilities()
            privileges.forgo_new_privileges()
            landlock.restrict(self._ruleset)
            seccomp.apply(command_rules.TCP_ONLY if self._only_tcp else command_rules.INTERNET_ONLY)
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
            self._report()

    def _on_forget(self, message: dict[str, Any], _: list[int]) -> None:
        self._leaders.pop(message["id"], None)

    def _on_pause(self, _: dict[str, Any], __: list[int]) -> None:
        processes.send([p.pid for p in processes.descendants(os.getpid()) if not p.is_dead], signal.SIGSTOP)

    def _on_resume(self, _: dict[str, Any], __: list[int]) -> None:
        processes.send([p.pid for p in processes.descendants(os.getpid()) if not p.is_dead], signal.SIGCONT)

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


def _complain(program: str, why: str, code: int) -> int:
    os.write(2, f"{program[:200]}: {why}\n".encode("utf-8", "replace"))
    return code


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    settings = json.loads(os.pread(int(sys.argv[2]), _MAX_SPEC_BYTES, 0))
    try:
        Supervisor(control, settings).serve()
    finally:
        processes.kill_all()
