# SPDX-License-Identifier: BSD-2-Clause
"""Files of host probes as users meet them: which belong to what is reported, what damage does, and that the text that golden traces are made of
(tests/support/gst_text_probes.c) means what a second, independent reader finds in the file."""

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "probes"))

import records  # noqa: E402

SEGMENT = records.SEGMENTS_OFFSET + records.SEGMENT_HEADER
PROBES, TASK, WAIT = 72, 72, 112


@pytest.fixture
def run(build, tmp_path):
    """A run of one process that was watched: its host file has two GST_PROBES, two GST_TASK, and a wait."""
    subprocess.run([build / "tools/gst_write", HERE / "host-lost/trace.txt", tmp_path / "run"], check=True)
    return tmp_path / "run"


def report(gpushim, *paths):
    return subprocess.run([gpushim, "report", "--json", *paths], capture_output=True, text=True)


def flip(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name, words", [
    ("host-lost", "host probes records lost: 3, threads not followed: 1; what a chain says of such a moment may be incomplete losses none"),
    ("host-lost", "host side every wait of the program's threads, who ended it, and what those had been waiting for (eBPF)"),
    ("host-killed", "host side looks at /proc: waits of a few milliseconds and more; who ended them is inferred"),
])
def test_the_report_says_how_far_to_trust_it(name, words, build, gpushim, tmp_path):
    subprocess.run([build / "tools/gst_write", HERE / name / "trace.txt", tmp_path / "run"], check=True)
    done = subprocess.run([gpushim, "report", "--full", tmp_path / "run"], capture_output=True, text=True)
    assert done.returncode == 0 and words in " ".join(done.stdout.split()), done.stdout


def test_a_flip_in_a_record_ends_what_is_known(run, gpushim):
    """One error line with file, byte and fact; the report is there, and the damage is that of the host's file."""
    wait = SEGMENT + 2 * PROBES + 2 * TASK
    flip(run / "host-100.host.gst", wait + 2)
    done = report(gpushim, run)
    assert done.returncode == 3
    assert done.stderr == f"gpushim: {run}/host-100.host.gst: byte {wait}: the record's check value does not hold (type 43, size 113)\n"
    said = json.loads(done.stdout)
    assert said["run"]["host_probes"] == "ebpf"
    page = subprocess.run([gpushim, "report", "--full", run], capture_output=True, text=True)
    assert page.returncode == 3 and "host-100.host.gst: what host probes saw later is not used" in " ".join(page.stdout.split())
    info = subprocess.run([gpushim, "info", run], capture_output=True, text=True)
    assert info.returncode == 3 and f"What stands behind the damage at byte {wait} of the file is not used." in " ".join(info.stdout.split())


def test_a_truncated_file_is_used_as_far_as_it_goes(run, gpushim):
    host = run / "host-100.host.gst"
    host.write_bytes(host.read_bytes()[:SEGMENT + 2 * PROBES + TASK + 8])
    done = report(gpushim, run)
    assert done.returncode == 3 and f"{host}: byte {SEGMENT + 2 * PROBES + TASK + 8}: " in done.stderr and done.stderr.count("\n") == 1
    assert json.loads(done.stdout)["run"]["host_probes"] == "ebpf"


@pytest.mark.parametrize("offset, fact", [(0, "not a gpushim trace"), (2836, "the file header's check value does not hold"), (9, "the file header's check")])
def test_a_flip_in_its_header_leaves_it_out(run, gpushim, offset, fact):
    """What the processes did is reported all the same."""
    host = run / "host-100.host.gst"
    flip(host, offset)
    done = report(gpushim, run)
    assert done.returncode == 3 and f"the host probes in {host} are not used: {fact}" in done.stderr and done.stderr.count("\n") == 1
    told = json.loads(done.stdout)["run"]
    assert (told["processes"], told["traces_missing"], told["host_files_missing"]) == (1, 0, 1)
    named = report(gpushim, host, run)
    assert (named.returncode, named.stdout) == (3, "") and fact in named.stderr


def test_a_killed_collector_is_no_damage(run, gpushim):
    """Its last record was not finished, and there is no regular end."""
    host = run / "host-100.host.gst"
    data = bytearray(host.read_bytes())
    struct.pack_into("<H", data, SEGMENT + 2 * PROBES + 2 * TASK + 6, 0)
    struct.pack_into("<Q", data, 4096 + 7 * 8, 0)
    host.write_bytes(data)
    done = report(gpushim, run)
    assert (done.returncode, done.stderr) == (0, "")


def test_host_probes_alone_have_nothing_to_report(run, gpushim, tmp_path):
    """There is no device's time to explain; what was recorded, and whether it can be trusted, is told all the same."""
    host = run / "host-100.host.gst"
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(host, alone)
    done = report(gpushim, alone)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"gpushim: {alone}: only host probes in this directory, and no recording of a process\n"
    done = report(gpushim, host)
    assert (done.returncode, done.stderr) == (3, f"gpushim: {host}: only host probes, and no recording of a process\n")
    told = [subprocess.run([gpushim, "info", path], capture_output=True, text=True) for path in (host, alone / host.name, alone)]
    assert {(done.returncode, done.stderr) for done in told} == {(0, "")}
    assert all(done.stdout.startswith("host-100.host.gst") or "host-100.host.gst" in done.stdout.splitlines()[0] for done in told)
    both = subprocess.run([gpushim, "info", run], capture_output=True, text=True).stdout
    assert told[0].stdout and both.endswith("\n" + told[0].stdout)
    flip(host, SEGMENT + 2 * PROBES + TASK + 4)
    damaged = subprocess.run([gpushim, "info", host], capture_output=True, text=True)
    assert damaged.returncode == 3 and f"{host}: byte " in damaged.stderr and damaged.stdout


def test_files_by_name(run, gpushim):
    """A process's file alone knows nothing of the host; with the host's, wherever that lies, it does."""
    process, host = run / "host-100.gst", run / "host-100.host.gst"
    assert json.loads(report(gpushim, process).stdout)["run"]["host_probes"] == "none"
    assert json.loads(report(gpushim, host, process).stdout)["run"]["host_probes"] == "ebpf"
    assert json.loads(report(gpushim, run, host).stdout)["losses"]["records_dropped"] == 3


def test_another_process_s_host_file_is_none_of_it(run, gpushim, build, tmp_path):
    text = tmp_path / "other.txt"
    text.write_text("host 300 end=9ms lost=7\ntask 300 t=0us flags=root,there start=0us\n")
    subprocess.run([build / "tools/gst_write", text, run], check=True)
    said = json.loads(report(gpushim, run).stdout)
    assert (said["run"]["host_probes"], said["losses"]["records_dropped"]) == ("ebpf", 3)


EVERYTHING = """
host 100 how=perf start=1ms end=9ms wait=50us period=10ms sample=5ms watched=0x205 lost=3 tasks-lost=4 kernel=2us
task 200 t=2ms pid=201 own=5 own-pid=6 creator=100 start=1.5ms ns=77 name=worker flags=there,exec
task-end 200 t=8ms
wait 200 t=3ms..5ms wake=4ms waker=100 throttled=7us syscall=17 arg=9 file=/data/x offset=4096 bytes=512 inode=8 dev=0xfe00001 fs=0x6969 fd=file flags=disk,iowait,write-back
wait 200 t=6ms..7ms flags=preempted
wait 200 t=7ms..7.5ms wake=unknown by=timer syscall=-1 flags=looked,last
stalls 200 t=3ms..4ms count=12 blocked=100us queued=30us throttled=20us last=65536 offset=0 flags=fault,anonymous
request 100 t=3ms..5ms issued=4ms dev=1 file-dev=2 inode=8 offset=4096 bytes=8192 sector=99 flags=write,sync
request 100 t=6ms
reclaim 200 t=3ms..4ms pages=32 group=1
written 200 t=5ms..5.4ms count=3 syscall=1 file=/out/x fd=file bytes=2097152 inode=9 dev=7
pipe-end 201 t=2ms inode=44 peer=45 fd=socket flags=reads,writes
pressure t=1ms..9ms cpu=1 memory=2 memory-full=3 io=4 io-full=5 throttled=6 periods=7
on-cpu 200 t=5.5ms frames=0x10,0x20,0x30
"""
UNKNOWN = 2**64 - 1


def ms(value):
    return 10**9 + round(value * 10**6)


def test_text_becomes_what_the_format_says(build, tmp_path):
    (tmp_path / "trace.txt").write_text(EVERYTHING)
    subprocess.run([build / "tools/gst_write", tmp_path / "trace.txt", tmp_path], check=True)
    t = records.Trace(tmp_path / "host-100.host.gst")
    first, last = t.probes
    assert first == (ms(1), 0, 2, 100, 0x205, 50000, 10000000, 5000000, 0, 0, 0)
    assert last == (*first[:1], ms(9), *first[2:8], 3, 4, 2000)
    assert t.tasks == [(ms(2), ms(1.5), 77, 200, 201, 5, 6, 100, 2 | 16, 0, "worker")]
    assert t.ends == [(ms(8), 200, 0)]
    read, preempted, looked = t.waits
    assert read[:8] == (ms(3), ms(4), ms(5), 7000, 200, 100, records.TASK, 0)
    assert t.file(read) == "/data/x"
    assert (read.arg, read.offset, read.bytes, read.inode, read.dev, read.fs, read.syscall, read.fd_kind) == (9, 4096, 512, 8, 0xFE00001, 0x6969, 17, 1)
    assert read.flags == records.DISK | records.IOWAIT | records.WRITE_BACK
    assert preempted[:8] == (ms(6), ms(6), ms(7), 0, 200, 0, records.UNKNOWN, 0)
    assert (preempted.offset, preempted.syscall, preempted.flags, t.file(preempted)) == (UNKNOWN, -2, records.PREEMPTED, "")
    assert (looked.wake, looked.by, looked.syscall, looked.flags) == (0, records.TIMER, -1, records.LOOKED | records.LAST)
    (stalls,) = t.stalls
    assert stalls[:8] == (ms(3), ms(4), 100000, 30000, 20000, 200, 12, 65536)
    assert (stalls.offset, stalls.flags) == (0, records.FAULT | records.ANONYMOUS)
    assert t.requests == [(ms(3), ms(4), ms(5), 99, 8, 4096, 100, 1, 2, 8192, 1 | 8, 0), (0, 0, ms(6), 0, 0, UNKNOWN, 100, 0, 0, 0, 0, 0)]
    assert t.reclaims == [(ms(3), ms(4), 32, 200, 1)]
    (written,) = t.written
    assert written[:4] == (ms(5), ms(5.4), 200, 3)
    assert (t.file(written), written.bytes, written.inode, written.dev, written.syscall, written.offset) == ("/out/x", 2 << 20, 9, 7, 1, UNKNOWN)
    assert t.pipe_ends == [(ms(2), 44, 45, 201, 3, 3, 0)]
    assert t.pressures == [(ms(1), ms(9), 1, 2, 3, 4, 5, 6, 7, 0)]
    assert t.on_cpu == [(ms(5.5), 200, (0x10, 0x20, 0x30))]
