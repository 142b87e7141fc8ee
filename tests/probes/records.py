# SPDX-License-Identifier: BSD-2-Clause
"""records.py: a file of host probes as lists of records, by the layouts in shim/format_host.h alone: what the collector wrote, without what
the analyzer makes of it."""

import struct
from collections import namedtuple
from pathlib import Path

WHAT = "arg offset bytes inode dev fs file syscall flags fd_kind"
WHAT_LAYOUT = "QQQQIIIiHB5x"
NAME, SPACE_FILE, ON_CPU = 2, 3, 49
SEGMENTS_OFFSET, SEGMENT_HEADER, COMMIT = 8192 + 4 * 65536, 64, 0xC3A5
LAYOUTS = {
    40: ("probes", "QQIIIIIIQQQ", "begin end how root watched wait_ns period_ns sample_ns events_lost tasks_lost kernel_ns"),
    41: ("task", "QQQIIIIIHH16s", "begin start_ns pid_ns tid pid own_tid own_pid creator flags zero name"),
    42: ("end", "QII", "at tid zero"),
    43: ("wait", "QQQQIIII" + WHAT_LAYOUT, "out wake into throttled_ns tid waker by zero " + WHAT),
    44: ("stalls", "QQQQQIIQ" + WHAT_LAYOUT, "begin end blocked_ns queued_ns throttled_ns tid count last_offset " + WHAT),
    45: ("request", "QQQQQQIIIIII", "queued issued done sector inode offset tid dev file_dev bytes flags zero"),
    46: ("reclaim", "QQQII", "begin end pages tid group"),
    47: ("pipe_end", "QQQIHBB", "at inode peer pid flags fd_kind zero"),
    48: ("pressure", "QQ8I", "begin end cpu_some_us memory_some_us memory_full_us io_some_us io_full_us throttled_us throttled_periods zero"),
    50: ("written", "QQII" + WHAT_LAYOUT, "begin end tid count " + WHAT),
}
TYPES = {number: (namedtuple(name, fields), struct.Struct("<" + layout)) for number, (name, layout, fields) in LAYOUTS.items()}
OnCpu = namedtuple("on_cpu", "at tid frames")

PREEMPTED, DISK, IOWAIT, FAULT, ANONYMOUS, RECLAIM, LOOKED, LAST, WRITE_BACK = (1 << n for n in range(9))
UNKNOWN, TASK, INTERRUPT, TIMER = range(4)


def raw_records(data):
    """Type and payload of each record, in the order of the file."""
    size = struct.unpack_from("<Q", data, 16)[0]
    for segment in range(SEGMENTS_OFFSET, len(data), size):
        at, end = segment + SEGMENT_HEADER, min(segment + size, len(data))
        while at + 8 <= end:
            number, length, _, commit = struct.unpack_from("<HHHH", data, at)
            if not length:
                break
            if commit == COMMIT:
                yield number, data[at + 8:at + length]
            at += length


class Trace:
    def __init__(self, path):
        self.names, rows = {}, {name: [] for name, _, _ in LAYOUTS.values()}
        self.on_cpu = []
        data = Path(path).read_bytes()
        for number, payload in raw_records(data):
            if number == NAME:
                ident, space, length = struct.unpack_from("<IHH", payload)
                if space == SPACE_FILE:
                    self.names[ident] = payload[8:8 + length].decode()
            elif number in TYPES:
                kind, layout = TYPES[number]
                row = kind._make(layout.unpack_from(payload))
                rows[LAYOUTS[number][0]].append(row._replace(name=row.name.split(b"\0")[0].decode()) if number == 41 else row)
            elif number == ON_CPU:
                at, tid, count = struct.unpack_from("<QII", payload)
                self.on_cpu.append(OnCpu(at, tid, struct.unpack_from(f"<{count}Q", payload, 16)))
        self.__dict__.update({"tasks": rows["task"], "ends": rows["end"], "waits": rows["wait"], "stalls": rows["stalls"]})
        self.__dict__.update({"pipe_ends": rows["pipe_end"], "pressures": rows["pressure"]})
        self.__dict__.update({"requests": rows["request"], "reclaims": rows["reclaim"], "probes": rows["probes"], "written": rows["written"]})

    def file(self, record):
        return self.names.get(record.file, "")
