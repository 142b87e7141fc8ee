# SPDX-License-Identifier: BSD-2-Clause
"""Would probes of the kernel load here: BPF programs, perf events, BTF? Each is tried as the recorder would, and the error told. Nothing of
it needs a GPU; where it is refused (containers, gVisor), the recorder has to do without, and that is a finding, no failure."""

import ctypes
import errno
import os
import platform
import struct
from pathlib import Path

import part

SYS = {"x86_64": {"bpf": 321, "perf_event_open": 298}, "aarch64": {"bpf": 280, "perf_event_open": 241}}
BPF_MAP_CREATE, BPF_PROG_LOAD = 0, 5
MAP_TYPE_ARRAY, MAP_TYPE_RINGBUF = 2, 27
PROG_TYPES = {"socket_filter": 1, "kprobe": 2, "tracepoint": 5, "raw_tracepoint": 17}
PERF_SOFTWARE, PERF_HARDWARE, CONTEXT_SWITCHES, CPU_CLOCK, CPU_CYCLES = 1, 0, 3, 0, 0
ATTR_BYTES = 128
EXCLUDE_KERNEL = 1 << 5
RETURN_0 = struct.pack("<BBhi", 0xb7, 0, 0, 0) + struct.pack("<BBhi", 0x95, 0, 0, 0)  # r0 = 0; exit

LIBC = ctypes.CDLL(None, use_errno=True)


def call(name, *args):
    """"ok", or the error's name. A descriptor that comes of it is closed again."""
    number = SYS.get(platform.machine(), {}).get(name)
    if number is None:
        return "unknown processor"
    ctypes.set_errno(0)
    fd = LIBC.syscall(ctypes.c_long(number), *args)
    if fd < 0:
        return errno.errorcode.get(ctypes.get_errno(), str(ctypes.get_errno()))
    os.close(fd)
    return "ok"


def bpf(command, attr):
    buffer = ctypes.create_string_buffer(attr.ljust(ATTR_BYTES, b"\0"), ATTR_BYTES)
    return call("bpf", ctypes.c_int(command), buffer, ctypes.c_uint(ATTR_BYTES))


def load_program(kind):
    code, licence = ctypes.create_string_buffer(RETURN_0, len(RETURN_0)), ctypes.create_string_buffer(b"Dual BSD/GPL")
    return bpf(BPF_PROG_LOAD, struct.pack("<IIQQ", PROG_TYPES[kind], len(RETURN_0) // 8, ctypes.addressof(code), ctypes.addressof(licence)))


def create_map(kind):
    sizes = (4, 8, 1) if kind == MAP_TYPE_ARRAY else (0, 0, 4096 * 16)
    return bpf(BPF_MAP_CREATE, struct.pack("<4I", kind, *sizes))


def perf_event(kind, config, flags=0):
    attr = struct.pack("<IIQQQQQ", kind, ATTR_BYTES, config, 0, 0, 0, flags).ljust(ATTR_BYTES, b"\0")
    buffer = ctypes.create_string_buffer(attr, ATTR_BYTES)
    return call("perf_event_open", buffer, ctypes.c_int(0), ctypes.c_int(-1), ctypes.c_int(-1), ctypes.c_ulong(0))


def read(path):
    try:
        return Path(path).read_text().strip()[:100]
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))


def measure(_args, result):
    result["programs"] = {kind: load_program(kind) for kind in PROG_TYPES}
    result["maps"] = {"array": create_map(MAP_TYPE_ARRAY), "ringbuf": create_map(MAP_TYPE_RINGBUF)}
    result["perf"] = {"context_switches": perf_event(PERF_SOFTWARE, CONTEXT_SWITCHES), "cpu_clock": perf_event(PERF_SOFTWARE, CPU_CLOCK),
                      "cpu_clock_user": perf_event(PERF_SOFTWARE, CPU_CLOCK, EXCLUDE_KERNEL), "cycles": perf_event(PERF_HARDWARE, CPU_CYCLES)}
    result.update(btf=os.path.exists("/sys/kernel/btf/vmlinux"), tracefs=os.path.exists("/sys/kernel/tracing/events/sched"),
                  perf_event_paranoid=read("/proc/sys/kernel/perf_event_paranoid"),
                  unprivileged_bpf_disabled=read("/proc/sys/kernel/unprivileged_bpf_disabled"),
                  capabilities=next((line.split()[1] for line in read_lines("/proc/self/status") if line.startswith("CapEff")), None))
    loads = [result["programs"][kind] == "ok" for kind in ("kprobe", "tracepoint", "raw_tracepoint")]
    result["ebpf"] = all(loads) and result["maps"]["ringbuf"] == "ok"
    result["level"] = "ebpf" if result["ebpf"] else "perf" if result["perf"]["context_switches"] == "ok" else "proc"


def read_lines(path):
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


if __name__ == "__main__":
    part.main(measure)
