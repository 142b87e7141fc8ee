# SPDX-License-Identifier: BSD-2-Clause
"""A run directory on a file system whose server is slow, fails, hangs or goes away (tests/fuse/slow_fs.c): none of it reaches the
program's calls, and the trace is in its place, or here."""

import json
import os
import subprocess
import sys
import time

import pytest

from recording import end_with_the_tests
from run_directory import CALLS, PREFIX, WORK, files_below, mode, truth_calls

SLOW_MS = 1500  # each operation asked of the server
CALL_MS = 500   # no call of the program's takes that long
TRIES = 3       # on a busy machine a thread waits that long for a CPU now and then; for a server it would wait each time
END_S = 10      # STAGING_END_NS


class SlowFs:
    def __init__(self, build, folder):
        self.source, self.mount = folder / "source", folder / "mount"
        self.control, self.log, self.local = folder / "control", folder / "log", folder / "local"
        for path in (self.source, self.mount, self.local):
            path.mkdir()
        self.obey()
        self.out = self.mount / "runs" / "gpushim-out"  # as the program names it
        self.server = subprocess.Popen([str(build / "fuse" / "slow_fs"), *map(str, (self.source, self.control, self.log, self.mount))],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       preexec_fn=end_with_the_tests)
        for _ in range(500):
            if os.path.ismount(self.mount) or self.server.poll() is not None:
                break
            time.sleep(0.01)
        if not os.path.ismount(self.mount):
            self.end()
            pytest.skip("FUSE file systems cannot be mounted here")

    def obey(self, *lines):
        fresh = self.control.with_suffix(".new")
        fresh.write_text("".join(line + "\n" for line in lines))
        fresh.rename(self.control)

    def asked(self):
        return self.log.read_text().splitlines()

    def at_rest(self):
        """What is really there, without asking the server."""
        return self.source / "runs" / "gpushim-out"

    def end(self):
        self.obey()
        subprocess.run(["umount", "-l", str(self.mount)], capture_output=True)
        self.server.kill()
        self.server.wait()


@pytest.fixture
def slow(build, tmp_path):
    if not (build / "fuse" / "slow_fs").exists():
        pytest.skip("libfuse3's headers were not there when this was built (scripts/setup.sh build)")
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        pytest.skip("needs root and /dev/fuse, to mount")
    fs = SlowFs(build, tmp_path)
    yield fs
    fs.end()


def record(recorder, slow, program, env=None):
    done = recorder.run([sys.executable, "-c", program], env={"GPUSHIM_OUT": slow.out, "TMPDIR": slow.local, "GPUSHIM_LOG": "1", **(env or {})})
    assert (done.status, done.stdout) == (0, "end\n"), done.stderr
    done.out = slow.at_rest()
    return done


def assert_moved(done, slow):
    assert len(done.stderr.splitlines()) == 1 and "it is moved to" in done.stderr
    assert files_below(slow.local) == [] and files_below(done.out) == [done.traces()[0].name]
    assert mode(done.traces()[0]) == 0o600
    report = done.report()
    assert report["losses"]["records_dropped"] == 0
    assert report["calls"]["cuMemsetD8_v2"] == truth_calls(done)["cuMemsetD8_v2"] == CALLS


def local_report(recorder, slow):
    [trace] = slow.local.rglob("*.gst")
    return json.loads(recorder.gpushim("report", trace, "--json").stdout)


def test_is_moved_there_at_the_end(recorder, slow):
    assert_moved(record(recorder, slow, WORK), slow)


def test_is_found_behind_a_symbolic_link(recorder, slow):
    link = slow.source.parent / "link"
    link.symlink_to(slow.mount)
    done = record(recorder, slow, WORK, env={"GPUSHIM_OUT": link / "runs" / "gpushim-out"})
    assert_moved(done, slow)


def test_a_network_directory_is_no_local_one(recorder, slow):
    """TMPDIR is there as well: the next place is taken, and nothing of ours is ever mapped there."""
    os.mkdir(slow.mount / "tmp")
    done = record(recorder, slow, WORK, env={"TMPDIR": slow.mount / "tmp"})
    assert f"recording in {slow.mount}" not in done.stderr
    assert files_below(slow.source / "tmp") == []
    assert_moved(done, slow)


# Each call's time, the recorder's own work included; the file is as large as several segments.
TIMED = PREFIX + """
def timed(f, *args):
    begin = time.monotonic_ns()
    f(*args)
    return time.monotonic_ns() - begin
slow = [timed(lib.cuInit, 0)]
start()
size = ctypes.c_size_t(16)
for _ in range(30):
    slow += [timed(lib.cuMemsetD8_v2, memory, 0, size) for _ in range(1000)]
    time.sleep(0.02)
open(out_of_band, "w").write(f"{max(slow)} {sum(ns > limit for ns in slow)} {len(slow)}")
print("end", flush=True)
"""


def longest_call(recorder, slow, ending="", **how):
    answer = slow.source.parent / "answer"
    program = TIMED.replace("out_of_band", repr(str(answer))).replace("limit", str(CALL_MS * 1000000)) + ending
    done = record(recorder, slow, program, **how)
    longest_ns, over, calls = map(int, answer.read_text().split())
    assert calls == 30001
    return done, longest_ns, over


@pytest.mark.parametrize("order", [f"all delay {SLOW_MS}", "all hang"])
def test_no_call_waits_for_it(recorder, slow, order):
    """A server that takes seconds for a file, or does not answer at all: the program's calls are what they are without the shim. It ends
    by _exit, so as not to wait for the move."""
    slow.obey(order)
    for _ in range(TRIES):
        for trace in slow.local.rglob("*.gst"):
            trace.unlink()
        _, longest_ns, over = longest_call(recorder, slow, ending="os._exit(0)", env={"SIMGPU_LOG": None})
        if over == 0:
            break
    assert over == 0, f"a call took {longest_ns / 1e6:.0f} ms"
    assert slow.asked() and not [line for line in slow.asked() if line.endswith(".gst")]  # not for a page of the trace
    assert local_report(recorder, slow)["calls"]["cuMemsetD8_v2"] == 30000


def test_slow_writes_delay_the_end_alone(recorder, slow):
    slow.obey("write delay 300")  # a dozen of them
    done, _, _ = longest_call(recorder, slow)
    assert files_below(slow.local) == [] and len(done.traces()) == 1
    assert done.report()["calls"]["cuMemsetD8_v2"] == truth_calls(done)["cuMemsetD8_v2"] == 30000


def test_a_server_that_hangs_at_the_end_holds_nobody_up(recorder, slow):
    """The program ends after the bound, its pipes are closed, its trace is here; when the server is back, a report finds it."""
    slow.obey("fsync hang")
    begin = time.monotonic()
    done = record(recorder, slow, WORK)
    assert END_S <= time.monotonic() - begin < END_S + 4
    assert "does not answer" in done.stderr.splitlines()[1]
    assert local_report(recorder, slow)["calls"]["cuMemsetD8_v2"] == CALLS
    slow.obey()
    answer = recorder.gpushim("report", slow.out, "--json")
    assert answer.returncode == 0 and json.loads(answer.stdout)["calls"]["cuMemsetD8_v2"] == CALLS


def test_a_server_that_goes_away_leaves_the_trace_here(recorder, slow):
    program = WORK.replace("print('end')", f"os.kill({slow.server.pid}, signal.SIGKILL); time.sleep(0.2); work(); print('end')")
    done = record(recorder, slow, program)
    assert "Transport endpoint is not connected" in done.stderr.splitlines()[1]
    assert local_report(recorder, slow)["calls"]["cuMemsetD8_v2"] == truth_calls(done)["cuMemsetD8_v2"] == 2 * CALLS


FAILURES = {
    "no-space": ("write fail 28", "No space left on device"),
    "over-quota": ("fsync fail 122", "Disk quota exceeded"),
    "no-rename-at-all": ("link fail 95", "rename fail 95", "Operation not supported"),
    "refused": ("create fail 13", "Permission denied"),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_what_fails_leaves_the_trace_here(recorder, slow, kind):
    *orders, reason = FAILURES[kind]
    slow.obey(*orders)
    done = record(recorder, slow, WORK)
    assert reason in done.stderr.splitlines()[1]
    assert [name for name in files_below(done.out) if not name.endswith(".elsewhere")] == []
    assert local_report(recorder, slow)["calls"]["cuMemsetD8_v2"] == CALLS


def test_a_file_system_without_hard_links(recorder, slow):
    """As sshfs and s3fs: the name is taken first, then replaced, and never another's."""
    slow.obey("link fail 1")
    for expected in (1, 2):
        done = record(recorder, slow, PREFIX.replace("host = ", "os.getpid = lambda: 1; host = ") + "start(); work(); print('end')\n")
        assert len(done.traces()) == expected and len(files_below(done.out)) == expected
    assert files_below(slow.local) == []
    assert done.report()["calls"]["cuMemsetD8_v2"] == CALLS


def test_no_local_directory_at_all(recorder, slow):
    """Then nothing is recorded: a mapping there could end the program."""
    program = PREFIX + """
libc = ctypes.CDLL(None, use_errno=True)
NEWNS, REC, PRIVATE = 0x20000, 0x4000, 0x40000
if libc.unshare(NEWNS) == 0 and libc.mount(b"none", b"/", None, REC | PRIVATE, None) == 0:
    for place in ("/tmp", "/var/tmp", "/dev/shm"):
        assert not os.path.isdir(place) or os.system(f"mount -t tmpfs -o size=1m none {place}") == 0
    start(); work()
print("end")
"""
    done = record(recorder, slow, program, env={"SIMGPU_LOG": None, "TMPDIR": None})
    if done.stderr == "":
        pytest.skip("mounts of one's own cannot be had here")
    assert "there is no local directory with room (GPUSHIM_LOCAL)" in done.stderr
    assert not done.out.exists()
