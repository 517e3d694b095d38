"""WASI preview 1, whole: the calls that are not about files, and the class that has them all.

Rules: one `Wasi` serves one guest; its `memory`, `vfs` and `table` may be exchanged between runs (rollback, fork). Time,
randomness, streams and waiting are the host's; nothing here looks at the machine. `proc_exit` raises `GuestExit`; whatever the
host raises to stop a guest passes through untouched. There are no sockets: the calls exist and answer ENOTSOCK.

    wasi = Wasi(memory, vfs, DescriptorTable.standard(vfs), host)
    for name, (parameters, results) in SIGNATURES.items():
        define("wasi_snapshot_preview1", name, parameters, results, getattr(wasi, name))
"""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.filesystem.descriptors import FILE, FOLDER, Right
from sandbox.filesystem.errnos import EBADF, EINVAL, ENOTCAPABLE, ENOTSOCK, ENOTSUP, SUCCESS
from sandbox.wasi.abi import (
    CHUNK_BYTES_MAX,
    EVENT,
    OFFSET_MAX,
    SIGNATURES,
    SUBSCRIPTION,
    SUBSCRIPTIONS_MAX,
    U32,
    U64,
    Host,
    Memory,
    answer_errors,
)
from sandbox.wasi.path_calls import PathCalls

__all__ = ["SIGNATURES", "GuestExit", "Host", "Memory", "Wasi"]

_REALTIME, _MONOTONIC, _PROCESS_CPU, _THREAD_CPU = range(4)
_EVENT_CLOCK, _EVENT_READ, _EVENT_WRITE = range(3)
_CHUNKS_BETWEEN_CHECKS = 16


class GuestExit(Exception):
    """The guest called `proc_exit`."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Wasi(PathCalls):
    """Every function of `wasi_snapshot_preview1` as a method of the same name."""

    @answer_errors
    def args_sizes_get(self, count: int, size: int) -> int:
        return self._put_sizes(self.host.args, count, size)

    @answer_errors
    def args_get(self, pointers: int, text: int) -> int:
        return self._put_strings(self.host.args, pointers, text)

    @answer_errors
    def environ_sizes_get(self, count: int, size: int) -> int:
        return self._put_sizes(self.host.environ, count, size)

    @answer_errors
    def environ_get(self, pointers: int, text: int) -> int:
        return self._put_strings(self.host.environ, pointers, text)

    def _put_sizes(self, strings: Sequence[bytes], count: int, size: int) -> int:
        self.memory.put_u32(count & U32, len(strings))
        self.memory.put_u32(size & U32, sum(len(string) + 1 for string in strings))
        return SUCCESS

    def _put_strings(self, strings: Sequence[bytes], pointers: int, text: int) -> int:
        pointers, text = pointers & U32, text & U32
        for string in strings:
            self.memory.put_u32(pointers, text)
            self.memory.write(text, string + b"\0")
            pointers += 4
            text += len(string) + 1
        return SUCCESS

    @answer_errors
    def clock_time_get(self, clock: int, precision: int, out: int) -> int:
        if clock == _MONOTONIC:
            now = self.host.now_monotonic_ns()
        elif clock == _REALTIME:
            now = self.host.now_realtime_ns()
        elif clock in (_PROCESS_CPU, _THREAD_CPU):
            now = self.host.cpu_time_ns()
        else:
            return EINVAL
        self.memory.put_u64(out & U32, now & U64)
        return SUCCESS

    @answer_errors
    def clock_res_get(self, clock: int, out: int) -> int:
        if not _REALTIME <= clock <= _THREAD_CPU:
            return EINVAL
        self.memory.put_u64(out & U32, 1)
        return SUCCESS

    @answer_errors
    def random_get(self, out: int, length: int) -> int:
        out, length = out & U32, length & U32
        memory, host = self.memory, self.host
        if length <= CHUNK_BYTES_MAX:
            memory.write(out, host.random(length))
            return SUCCESS
        memory.view(out, length)
        for chunk, start in enumerate(range(0, length, CHUNK_BYTES_MAX), 1):
            memory.write(out + start, host.random(min(CHUNK_BYTES_MAX, length - start)))
            if chunk % _CHUNKS_BETWEEN_CHECKS == 0:
                # THREAT[TM-LIM-HOSTCALL]: long fills must notice a deadline; to wait for the past returns or stops the guest.
                host.wait_until(0)
        return SUCCESS

    def sched_yield(self) -> int:
        return SUCCESS

    def proc_exit(self, code: int) -> int:
        raise GuestExit(code & U32)

    def proc_raise(self, signal: int) -> int:
        return ENOTSUP

    @answer_errors
    def poll_oneoff(self, subscriptions: int, out: int, count: int, used: int) -> int:
        count &= U32
        if not 0 < count <= SUBSCRIPTIONS_MAX:
            return EINVAL
        raw = self.memory.read(subscriptions & U32, count * SUBSCRIPTION.size)
        self.memory.view(out & U32, count * EVENT.size)
        self.memory.view(used & U32, 4)
        events: list[bytes] = []
        waiting: list[tuple[int, int]] = []
        for userdata, tag, which, timeout, _precision, flags in SUBSCRIPTION.iter_unpack(raw):
            if tag == _EVENT_CLOCK:
                deadline = self._deadline(which, timeout, flags)
                if deadline is None:
                    events.append(EVENT.pack(userdata, EINVAL if which > _THREAD_CPU else ENOTSUP, tag, 0, 0))
                else:
                    waiting.append((deadline, userdata))
            elif tag in (_EVENT_READ, _EVENT_WRITE):
                error, ready = self._readiness(which, tag)
                events.append(EVENT.pack(userdata, error, tag, ready, 0))
            else:
                return EINVAL
        if waiting:
            # Files and streams are always ready, so only clocks without company wait; those that are due come along.
            now = min(waiting)[0] if not events else self.host.now_monotonic_ns()
            if not events:
                self.host.wait_until(now)
            events += [EVENT.pack(userdata, 0, _EVENT_CLOCK, 0, 0) for deadline, userdata in waiting if deadline <= now]
        self.memory.write(out & U32, b"".join(events))
        self.memory.put_u32(used & U32, len(events))
        return SUCCESS

    def _deadline(self, clock: int, timeout: int, flags: int) -> int | None:
        """When a clock subscription is due, on the monotonic clock; None for clocks one cannot wait on."""
        if clock not in (_REALTIME, _MONOTONIC):
            return None
        absolute = flags & 1
        if absolute and clock == _MONOTONIC:
            return min(timeout, OFFSET_MAX)
        ahead = max(0, timeout - self.host.now_realtime_ns()) if absolute else timeout
        return min(self.host.now_monotonic_ns() + ahead, OFFSET_MAX)

    def _readiness(self, fd: int, tag: int) -> tuple[int, int]:
        descriptor = self.table.entries.get(fd)
        if descriptor is None or descriptor.kind == FOLDER:
            return EBADF, 0
        if not descriptor.rights & (Right.READ if tag == _EVENT_READ else Right.WRITE):
            return EBADF, 0
        if not descriptor.rights & Right.POLL:
            return ENOTCAPABLE, 0
        if tag == _EVENT_READ and descriptor.kind == FILE:
            return SUCCESS, max(0, self.vfs.node(descriptor.ino).size() - descriptor.offset)
        return SUCCESS, 1

    def sock_accept(self, fd: int, flags: int, out: int) -> int:
        return self._refuse_socket(fd)

    def sock_recv(self, fd: int, iovs: int, iovs_len: int, flags: int, received: int, out_flags: int) -> int:
        return self._refuse_socket(fd)

    def sock_send(self, fd: int, iovs: int, iovs_len: int, flags: int, sent: int) -> int:
        return self._refuse_socket(fd)

    def sock_shutdown(self, fd: int, how: int) -> int:
        return self._refuse_socket(fd)

    def _refuse_socket(self, fd: int) -> int:
        return ENOTSOCK if fd in self.table.entries else EBADF
