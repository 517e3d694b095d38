"""The table of system calls, and which of them commands may make."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gateway.runners.jail.command_rules import COMMAND
from sandbox.confinement import seccomp
from sandbox.workers.jail.jail import PARSER, WORKER

HEADERS = {0: "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", 1: "/usr/include/asm-generic/unistd.h"}
OF_OTHERS = """ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp mount umount2 pivot_root chroot
move_mount open_tree fsopen fsmount mount_setattr unshare setns bpf perf_event_open keyctl add_key request_key userfaultfd
io_uring_setup
open_by_handle_at name_to_handle_at fanotify_init init_module kexec_load reboot swapon acct quotactl settimeofday clock_settime
sethostname syslog personality shmget semget msgget mq_open ioprio_set migrate_pages move_pages iopl ioperm capset setgroups
memfd_secret vhangup nfsservctl lookup_dcookie"""


@pytest.mark.parametrize("column", HEADERS)
def test_the_numbers_are_the_kernels(column: int) -> None:
    header = Path(HEADERS[column])
    if not header.exists():
        pytest.skip("the kernel's headers are not here")
    found = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\s", header.read_text()))
    found.setdefault("newfstatat", found.get("fstatat", ""))
    known = {name: numbers[column] for name, numbers in seccomp._NUMBERS.items() if numbers[column] != "-" and name in found}
    assert len(known) > 180 and known == {name: found[name] for name in known}


def test_tm_run_escape_commands_have_a_list_of_what_is_allowed_that_names_nothing_of_others() -> None:
    assert COMMAND.otherwise != seccomp.ALLOW and COMMAND.foreign != seccomp.ALLOW
    assert not set(OF_OTHERS.split()) & set(COMMAND.calls)
    for machine in COMMAND.machines:
        assert len(seccomp.assemble(COMMAND, machine)) // 8 < 4096


def test_a_filter_is_for_the_machines_it_names() -> None:
    assert (
        seccomp.is_known(COMMAND, "x86_64") and seccomp.is_known(COMMAND, "aarch64") and not seccomp.is_known(COMMAND, "riscv64")
    )
    assert (
        seccomp.is_known(WORKER, "x86_64") and not seccomp.is_known(WORKER, "aarch64") and not seccomp.is_known(PARSER, "aarch64")
    )
