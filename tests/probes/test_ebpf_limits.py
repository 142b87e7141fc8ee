# SPDX-License-Identifier: BSD-2-Clause
"""Waits that a limit makes: a slow disk, a quota of CPU time, too little memory; and files through another file system."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from records import ANONYMOUS, DISK, FAULT, IOWAIT, PREEMPTED, RECLAIM, WRITE_BACK

sys.path.append(str(Path(__file__).resolve().parent.parent / "scenarios" / "host"))

import rig  # noqa: E402
from janitor import Janitor  # noqa: E402

MIB = 1 << 20
NOBODY = 65534
ENTER = 'open("{procs}", "w").write("0")\n'


@pytest.fixture
def janitor():
    with Janitor() as j:
        yield j


def had(make, *args, **kwargs):
    try:
        return make(*args, **kwargs)
    except rig.Missing as why:
        pytest.skip(str(why))


def off_cpu(waits, stalls=()):
    return sum(w.into - w.out for w in waits) + sum(s.blocked_ns + s.queued_ns for s in stalls)


def test_slow_disk(follow, janitor, disk, cold):
    """Held back above the device: the wait is long, the request is not, and it comes from a thread of the kernel's."""
    group = had(rig.throttled_disk, janitor, disk, read=8 * MIB)
    run = follow(ENTER.format(procs=group.procs()) + f"""
fd = os.open("{cold}", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
begin = time.monotonic()
for i in range(8):
    os.pread(fd, 524288, i << 20)
told("seconds", time.monotonic() - begin)
""")
    waits = [w for w in run.waits() if w.inode == cold.stat().st_ino]
    took = float(run.told["seconds"]) * 1e9
    assert took > 250e6 and off_cpu(waits) > 0.9 * took
    assert all(w.flags & IOWAIT and run.trace.file(w) == str(cold) for w in waits)
    requests = [r for r in run.trace.requests if r.inode == cold.stat().st_ino]
    assert sum(r.bytes for r in requests) >= 4 * MIB - 524288
    assert sum(r.done - r.issued for r in requests) < 0.5 * took


def test_an_ordinary_user_sees_no_other_users_requests(follow, janitor, two_capabilities, disk, cold):
    """Its own are sent on by a thread of the kernel's, in nobody's name: these it sees, by their file. Meanwhile another reads as well."""
    group = had(rig.throttled_disk, janitor, disk, read=4 * MIB)
    secret = disk / "secret"
    secret.write_bytes(os.urandom(4 * MIB))
    secret.chmod(0o600)
    reader = subprocess.Popen([sys.executable, "-c", f"""
import os
fd = os.open("{secret}", os.O_RDONLY)
os.fsync(fd)
while True:
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.pread(fd, 65536, 1 << 20)
"""])
    try:
        run = follow(ENTER.format(procs=group.procs()) + f"""
fd = os.open("{cold}", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
for i in range(4):
    os.pread(fd, 524288, i << 20)
""", gpushim=two_capabilities, user=NOBODY)
    finally:
        reader.kill()
        reader.wait()
    waits = [w for w in run.waits(longer_ms=50) if w.inode == cold.stat().st_ino]
    assert waits and {run.trace.file(w) for w in waits} == {str(cold)}
    assert sum(r.bytes for r in run.trace.requests if r.inode == cold.stat().st_ino) >= MIB
    known = {t.tid for t in run.trace.tasks}
    assert {r.tid for r in run.trace.requests} <= known | {0}
    assert secret.stat().st_ino not in {r.inode for r in run.trace.requests}
    assert all(r.inode == cold.stat().st_ino for r in run.trace.requests if not r.tid)


def test_quota_of_cpu_time(follow, janitor):
    group = had(rig.quota, janitor, 10000, 100000)
    run = follow(ENTER.format(procs=group.procs()) + """
while time.process_time() < 0.1: pass
""")
    said = dict(line.split() for line in (group.path / "cpu.stat").read_text().splitlines())
    truth = int(said["throttled_time"]) if group.version == 1 else int(said["throttled_usec"]) * 1000
    found = sum(w.throttled_ns for w in run.waits(longer_ms=10) if w.flags & PREEMPTED)
    assert truth > 200e6 and 0.8 * truth < found < 1.2 * truth
    assert all(w.throttled_ns <= w.into - w.wake for w in run.waits())


def test_preempted_is_not_throttled(follow):
    cpu = min(os.sched_getaffinity(0))
    run = follow(f"""
os.sched_setaffinity(0, [{cpu}])
child = os.fork()
end = time.monotonic() + 0.2
while time.monotonic() < end: pass
if child: os.waitpid(child, 0)
""")
    assert any(w.flags & PREEMPTED for w in run.waits()) and not any(w.throttled_ns for w in run.trace.waits)


def test_little_memory(follow, janitor, cold):
    """Its group's limit makes it look for memory to free."""
    group = had(rig.little_memory, janitor, 24 * MIB)
    run = follow(ENTER.format(procs=group.procs()) + f"""
for i in range(4):
    data = open("{cold}", "rb").read()
    del data
""", "--wait", "20")
    mine = [r for r in run.trace.reclaims if r.tid == run.tid()]
    assert mine and all(r.group == 1 and r.begin < r.end for r in mine) and sum(r.pages for r in mine) > 100


def test_a_collector_that_has_little_memory(follow, janitor, gpushim, disk):
    """The kernel's buffer for its events is as large as its group's limit allows."""
    group = had(rig.little_memory, janitor, 44 * MIB)
    within = disk / "within"
    within.write_text(f'#!/bin/sh\necho 0 >{group.procs()}\nexec {gpushim} "$@"\n')
    within.chmod(0o755)
    run = follow("time.sleep(0.05)", gpushim=within)
    everything = follow("").trace.probes[0].watched
    assert run.waits(longer_ms=40) and run.trace.probes[0].watched == everything


def events_bytes(host):
    """The size of its buffer in the kernel, a map of type 27."""
    for info in Path(f"/proc/{host.pid}/fdinfo").iterdir():
        fields = dict(line.split(":\t", 1) for line in info.read_text().splitlines() if ":\t" in line)
        if fields.get("map_type") == "27":
            return int(fields["max_entries"])
    raise AssertionError("it has no such map")


def test_the_buffer_is_a_small_part_of_what_its_group_may_have(follow, janitor, gpushim, disk):
    """The group above its own has the limit: on any machine, 4 GiB allow 16 MiB and no more."""
    group = had(rig.little_memory, janitor, 4096 * MIB)
    below = group.path / "below"
    janitor.later("rmgroup", below)
    below.mkdir()
    program = subprocess.Popen(["sleep", "60"])
    within = disk / "within"
    within.write_text(f'#!/bin/sh\necho 0 >{below}/cgroup.procs\nexec {gpushim} "$@"\n')
    within.chmod(0o755)
    host, _ = follow.collector(program.pid, gpushim=within)
    try:
        said = host.stderr.readline()
        assert "following" in said, said
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        assert events_bytes(host) == (16 * MIB if memory >= 4096 * MIB else 8 * MIB)
    finally:
        program.kill()
        program.wait()
        host.communicate(timeout=60)


def test_swapped_out(follow, janitor, disk):
    """A fault on memory of no file."""
    group = had(rig.little_memory, janitor, 40 * MIB)
    had(rig.swap, janitor, disk, 96 * MIB)
    run = follow(ENTER.format(procs=group.procs()) + """
memory = bytearray(64 << 20)
for turn in range(2):
    for page in range(0, len(memory), 4096):
        memory[page] = turn + 1
""", "--wait", "10")
    faults = [w for w in run.waits() if w.flags & FAULT and w.flags & IOWAIT]
    stalls = [s for s in run.trace.stalls if s.tid == run.tid() and s.flags & FAULT and s.flags & IOWAIT]
    assert faults or stalls
    assert all(x.flags & ANONYMOUS and not x.inode for x in faults + stalls)
    assert any(w.flags & RECLAIM for w in run.waits()) or run.trace.reclaims


def test_held_back_by_what_is_dirty(follow, disk):
    """Who writes faster than the disk sleeps until it has caught up."""
    limits = Path("/proc/sys/vm/dirty_bytes"), Path("/proc/sys/vm/dirty_background_bytes")
    ratios = Path("/proc/sys/vm/dirty_ratio"), Path("/proc/sys/vm/dirty_background_ratio")
    before = [p.read_text() for p in (*limits, *ratios)]
    try:
        limits[1].write_text(str(2 * MIB))
        limits[0].write_text(str(4 * MIB))
        run = follow(f"""
f = open("{disk}/out", "wb", buffering=0)
for i in range(48):
    f.write(bytes(1 << 20))
""", "--wait", "20")
    finally:
        for path, value in zip((*limits, *ratios), before):
            if value.strip() != "0":
                path.write_text(value)  # which sets its other form to 0
    # Where the call is not known (-2), neither is the file.
    held = [w for w in run.waits() if w.flags & WRITE_BACK and w.syscall >= 0]
    assert held and {run.trace.file(w) for w in held} == {f"{disk}/out"}


def test_overlay(follow, janitor, disk, cold):
    """The name is the one that the program knows; the requests are the lower file's."""
    (disk / "lower").mkdir()
    lower = disk / "lower" / "cold.bin"
    os.rename(cold, lower)
    upper = disk / "mount"
    upper.mkdir()
    merged = had(rig.overlay, janitor, disk / "lower", upper)
    run = follow(f"""
fd = os.open("{merged}/cold.bin", os.O_RDONLY)
os.pread(fd, 1 << 20, 2 << 20)
""", "--wait", "20")
    waits = [w for w in run.waits() if w.flags & DISK and w.offset == 2 << 20]
    assert waits and {run.trace.file(w) for w in waits} == {f"{merged}/cold.bin"}
    requests = [r for r in run.trace.requests if r.tid == run.tid() and not r.flags & 1]
    assert any(r.inode == lower.stat().st_ino and r.offset >= 2 * MIB for r in requests)


def test_past_the_cache(follow, cold):
    """O_DIRECT: the pages are the program's own, so a request says who asked, and not of which file."""
    run = follow(f"""
import mmap
fd = os.open("{cold}", os.O_RDONLY | os.O_DIRECT)
room = mmap.mmap(-1, 1 << 20)
for i in range(8):
    os.preadv(fd, [room], i << 20)
""", "--wait", "20")
    waits = [w for w in run.waits() if w.flags & DISK and w.inode == cold.stat().st_ino]
    assert {run.trace.file(w) for w in waits} == {str(cold)} and {w.offset % MIB for w in waits} == {0} and len(waits) >= 4
    requests = [r for r in run.trace.requests if r.tid == run.tid() and not r.flags & 1]
    assert sum(r.bytes for r in requests if not r.inode) >= 4 * MIB
