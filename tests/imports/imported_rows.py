# SPDX-License-Identifier: BSD-2-Clause
"""What the tables of an imported trace (export --sqlite) and its report say, beside what import_reference_rows says of the file: the same rows."""

import sqlite3
import subprocess
from collections import Counter
from contextlib import closing

import import_reference_rows

OPERATIONS = """SELECT o.device, s.handle, k.name, coalesce(n.symbol, n.text), o.begin_ns, o.end_ns, o.bytes, c.begin_ns, m.text
    FROM operations o JOIN kinds k USING (kind) LEFT JOIN streams s USING (stream) LEFT JOIN strings n ON n.string = o.name
    LEFT JOIN calls c USING (call) LEFT JOIN strings m ON m.string = c.name"""
CALLS = """SELECT pid, tid, text, c.begin_ns, c.end_ns FROM {} c JOIN processes USING (process) JOIN strings ON string = name"""
RANGES = """SELECT pid, tid, coalesce(text, '') || coalesce(number, ''), r.begin_ns, r.end_ns
    FROM ranges r JOIN processes USING (process) LEFT JOIN strings ON string = name"""


def exported(gpushim, path, to):
    done = subprocess.run([gpushim, "export", path, "--all", "--sqlite", to], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    base = sqlite3.connect(to)
    base.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    return closing(base)


def same(what, said, true):
    said, true = Counter(said), Counter(true)
    assert said == true, f"{what}: {said.total()} rows, truly {true.total()}; said {sorted((said - true).elements(), key=repr)[:3]}, " \
                         f"truly {sorted((true - said).elements(), key=repr)[:3]}"


def operations(base, numbered):
    for device, stream, kind, name, begin, end, size, asked, call in base.execute(OPERATIONS):
        yield device if numbered else None, int(stream, 16) if stream else None, kind, name, begin, end, size, (call, asked) if call else None


def check_losses(said, base, rows):
    losses = {kind: value for kind, value in said["losses"].items() if kind not in ("entry_points", "warnings")}
    assert dict(base.execute("SELECT kind, count FROM losses")) == losses
    assert rows.left_out in (None, losses["imported_left_out"])
    assert losses["operations_unlinked"] == sum(op.call is None for op in rows.operations)


def check(gpushim, path, to, said):
    """Not the steps: those of several processes are told apart by what each works on."""
    rows = import_reference_rows.read(path)
    with exported(gpushim, path, to) as base:
        check_rows(said, base, rows)
    return rows


def of_threads(said, rows):
    """Processes that the file has no number for are numbered by the report."""
    numbered = all(row.pid is not None for row in rows)
    return [(pid if numbered else None, *row) for pid, *row in said]


def check_rows(said, base, rows):
    numbered = all(op.device is not None for op in rows.operations)
    same("operations", operations(base, numbered), rows.operations)
    same("calls", of_threads(base.execute(CALLS.format("calls")), rows.calls), (call[:5] for call in rows.calls))
    same("ranges", of_threads(base.execute(RANGES), rows.ranges), rows.ranges)
    same("collectives", of_threads(base.execute(CALLS.format("nccl_calls")), rows.collectives), rows.collectives)
    assert said["calls"] == Counter(call.name for call in rows.calls + rows.collectives)
    assert said["run"]["activities"] == len(rows.operations)
    check_losses(said, base, rows)
    if numbered:
        check_streams(said, rows)
    check_memory(said, rows)


def check_streams(said, rows):
    for device in said["devices"]:
        used = {op.stream for op in rows.operations if op.device == device["device"] and op.stream is not None}
        assert device["streams"] == len(used), (device["device"], device["streams"], used)


def check_memory(said, rows):
    known = {row["device"]: row for row in said["memory"] if row["course"]}
    assert sorted(known) == [m.device for m in rows.memory]
    for m in rows.memory:
        row = known[m.device]
        assert (row["peak_allocated_bytes"], row["peak_reserved_bytes"]) == (m.peak_allocated, m.peak_reserved)
        assert (row["end"]["allocated_bytes"], row["end"]["reserved_bytes"]) == (m.allocated, m.reserved)


def check_steps(said, rows):
    """Where the program numbers its steps, they are these, on each device that did something meanwhile."""
    for device in said["devices"] if rows.steps else ():
        steps = [(s["name"], s["begin_ns"], s["end_ns"]) for s in said["steps"] if s["device"] == device["device"] and s["kind"] == "step"]
        true = [tuple(step) for step in rows.steps if step.begin < device["end_ns"] and device["begin_ns"] < step.end]
        assert steps == true, (device["device"], steps[:3], true[:3])
