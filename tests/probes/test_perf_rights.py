# SPDX-License-Identifier: BSD-2-Clause
"""perf_event_open with the capability that gpushim's file lends to an ordinary user: for what is the user's own."""

import os
import shutil
import subprocess

import pytest
from following import Follow, as_user
from records import LAST
from test_ebpf_waits import CALLS
from watching import why_not

NOBODY = 65534
SLEEP = CALLS["clock_nanosleep"]
PERF = ("--probes", "perf", "--stacks")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be two users")


@pytest.fixture
def follow(gpushim, build, disk):
    if why := why_not(build, "perf"):
        pytest.skip(why)
    return Follow(gpushim, disk)


@pytest.fixture(params=[(0o4755, (1, 1)), (0o2755, (0, 1))], ids=["set-user-ID", "set-group-ID"])
def other(disk, request):
    """A program that has its owner's rights, whoever starts it."""
    mode, owner = request.param
    path = disk / "other"
    shutil.copy(shutil.which("python3", path="/usr/bin:/bin"), path)
    os.chown(path, *owner)
    path.chmod(mode)
    return path


IDS = "os.write(1, f'ids={os.getresuid()}{os.getresgid()}\\n'.encode())"

# Runs and sleeps in turn, it and what it has made, until the pipe that it reads from has no other end.
OTHER = f"""
import os, select, time
{IDS}
if made := os.fork(): os.write(1, f'made={{made}}\\n'.encode())
while not select.select([0], [], [], 0.005)[0]:
    end = time.monotonic() + 0.005
    while time.monotonic() < end: pass
"""

PROGRAM = f"""
import os, sys, time
ends = os.pipe()
child = os.fork()
if not child:
    os.dup2(ends[0], 0)
    os.execv(sys.argv[1], ["other", "-c", {OTHER!r}])
os.write(1, f'child={{child}}\\n'.encode())
sys.stdin.readline()
end = time.monotonic() + 0.3
while time.monotonic() < end: pass
time.sleep(0.2)
os.close(ends[1])
os.waitpid(child, 0)
"""


def has_rights(ids):
    return ids != str((NOBODY,) * 3) * 2


def test_of_a_program_with_anothers_rights_nothing_is_seen(follow, two_capabilities, other):
    """One that runs already, in the user's own tree, and what that one has made."""
    python = shutil.which("python3", path="/usr/bin:/bin")
    program = subprocess.Popen([python, "-c", PROGRAM, other], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **as_user(NOBODY))
    told = dict(program.stdout.readline().strip().split("=", 1) for _ in range(3))
    trace = follow.beside(program, *PERF, gpushim=two_capabilities, **as_user(NOBODY))
    if not has_rights(told["ids"]):
        pytest.skip("this file system grants nobody's rights")
    assert "by perf" in trace.said
    assert {t.tid for t in trace.tasks} == {program.pid}
    assert {r.tid for r in trace.waits + trace.stalls + trace.ends} == {program.pid}
    assert {s.tid for s in trace.on_cpu} == {program.pid} and {e.pid for e in trace.pipe_ends} <= {program.pid}
    assert len([w for w in trace.waits if w.syscall == SLEEP and w.into - w.out > 150000000 and not w.flags & LAST]) == 1


def test_from_when_it_has_them_nothing_is_seen(follow, two_capabilities, other):
    """A program that the tree executes, and what that one makes."""
    text = f"import os, time; {IDS}; os.fork(); time.sleep(0.07)"
    run = follow(f"""
child = os.fork()
if not child:
    time.sleep(0.04)
    os.execv("{other}", ["other", "-c", {text!r}])
told("child", child)
os.waitpid(child, 0)
""", *PERF, gpushim=two_capabilities, user=NOBODY)
    if not has_rights(run.told["ids"]):
        pytest.skip("this file system grants nobody's rights")
    child = run.tid("child")
    assert len(run.waits(child, longer_ms=20)) == 1  # the one before
    assert {t.tid for t in run.trace.tasks} == {run.tid(), child}
    assert [e.tid for e in run.trace.ends].count(child) == 1


def test_a_program_with_another_groups_rights_is_not_followed(follow, two_capabilities):
    """Whichever way would be the next."""
    text = "import os, time; os.setgroups([]); os.setresgid({0}, 1, 1); os.setresuid({0}, {0}, {0}); print(flush=True); time.sleep(60)"
    python = shutil.which("python3", path="/usr/bin:/bin")
    program = subprocess.Popen([python, "-c", text.format(NOBODY)], stdout=subprocess.PIPE, text=True)
    try:
        program.stdout.readline()
        for way in ("auto", "perf", "proc"):
            options = () if way == "auto" else ("--probes", way)
            done = subprocess.run([two_capabilities, "host", "-p", str(program.pid), "-o", follow.folder / "none", *options],
                                  capture_output=True, text=True, timeout=60, **as_user(NOBODY))
            assert done.returncode == 4
            assert done.stderr == f"gpushim: process {program.pid} is another user's, or has another's rights\ntry: as root\n"
    finally:
        program.kill()
        program.wait()
