# SPDX-License-Identifier: BSD-2-Clause
"""Whether this machine has what a way to watch is made of. The system calls are asked, never our own commands: one that fails where
it should work fails the tests."""

import contextlib
import ctypes
import functools
import os
import platform
import re
import struct
from pathlib import Path

BTF = Path("/sys/kernel/btf/vmlinux")
OLDEST = (5, 15)
BPF, PERF_EVENT_OPEN = {"x86_64": (321, 298), "aarch64": (280, 241)}.get(platform.machine(), (None, None))

PROG_LOAD, RAW_TRACEPOINT = 5, 17
RETURN_0 = bytes.fromhex("b700000000000000" "9500000000000000")

SOFTWARE, DUMMY = 1, 9
INHERIT, EXCLUDE_KERNEL, SAMPLE_ID_ALL, CONTEXT_SWITCH = 1 << 1, 1 << 5, 1 << 18, 1 << 26
ATTR_BYTES = 64


def system_call(number, *arguments):
    """None, or the error's number."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    if fd < 0:
        return ctypes.get_errno()
    with contextlib.suppress(OSError):
        os.close(fd)
    return None


def load_program():
    """The smallest one that there is, of the kind that needs both capabilities."""
    code, licence = ctypes.create_string_buffer(RETURN_0), ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("<IIQQIIQII", RAW_TRACEPOINT, len(RETURN_0) // 8, ctypes.addressof(code), ctypes.addressof(licence), 0, 0, 0, 0, 0)
    return system_call(BPF, PROG_LOAD, ctypes.create_string_buffer(attr), len(attr))


def open_event():
    attr = struct.pack("<IIQQQQQIIQ", SOFTWARE, ATTR_BYTES, DUMMY, 0, 0, 0, INHERIT | EXCLUDE_KERNEL | SAMPLE_ID_ALL | CONTEXT_SWITCH, 0, 0, 0)
    assert len(attr) == ATTR_BYTES
    return system_call(PERF_EVENT_OPEN, ctypes.create_string_buffer(attr), os.getpid(), -1, -1, 0)


def why_not_ebpf(build):
    if not (build / "ebpf" / "host.skel.h").exists():
        return "built without eBPF"
    if os.geteuid() != 0:
        return "needs root"
    if not BTF.exists():
        return f"the kernel has no {BTF}"
    if tuple(int(n) for n in re.match(r"(\d+)\.(\d+)", platform.release()).groups()) < OLDEST:
        return f"Linux {platform.release()} is too old"
    error = load_program()
    return error and f"bpf(2): {os.strerror(error)}"


def why_not_perf(_build):
    error = open_event()
    return error and f"perf_event_open(2): {os.strerror(error)}"


@functools.cache
def why_not(build, way):
    """None, or one line: what this machine, or this build, lacks for that way. `build`: the build directory."""
    if way == "proc":
        return None
    if BPF is None:
        return f"system calls of {platform.machine()} are not known here"
    return why_not_perf(build) if way == "perf" else why_not_ebpf(build)
