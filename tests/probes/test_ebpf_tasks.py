# SPDX-License-Identifier: BSD-2-Clause
"""Which tasks are followed, what they are called, and by whom they may be."""

import os
import platform
import shutil
import subprocess
import sys

import pytest
from records import LAST, Trace

ROOT, THERE, STRANGER, KERNEL, EXEC = 1, 2, 4, 8, 16
NOBODY = 65534
SWITCH, WAKING, TASKS, INTERRUPT, BLOCK, FAULT, RECLAIM, MEMCG_RECLAIM, THROTTLE, ON_CPU = range(10)
WRITE_BACK, WRITTEN = 13, 14


SLEEP = {"x86_64": 230, "aarch64": 115}[platform.machine()]  # clock_nanosleep


def test_tree_is_inherited(follow):
    run = follow("""
child = os.fork()
if not child:
    grandchild = os.fork()
    if grandchild:
        told("grandchild", grandchild)
        os.waitpid(grandchild, 0)
        os._exit(0)
    def work():
        told("thread", threading.get_native_id())
        time.sleep(0.02)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    os._exit(0)
told("child", child)
os.waitpid(child, 0)
""")
    child, grandchild, thread = (run.tid(name) for name in ("child", "grandchild", "thread"))
    assert [run.task(t).creator for t in (child, grandchild, thread)] == [run.tid(), child, grandchild]
    assert run.task(thread).pid == grandchild
    assert run.task(run.tid()).flags == ROOT | THERE
    assert run.waits(thread, longer_ms=15, syscall=SLEEP)
    begins, ends = {t.tid: t.begin for t in run.trace.tasks}, {e.tid: e.at for e in run.trace.ends}
    assert begins[child] < begins[grandchild] < begins[thread] < min(ends[thread], ends[grandchild], ends[child])


def test_tree_that_runs_already(follow):
    """Threads and children that are older than the collector, which looks from outside."""
    program = subprocess.Popen([sys.executable, "-c", """
import os, signal, sys, threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
child = os.fork()
if not child:
    time.sleep(60)
threads = [int(t) for t in os.listdir("/proc/self/task")]
print(child, max(threads), flush=True)
sys.stdin.readline()
time.sleep(0.1)
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child, thread = map(int, program.stdout.readline().split())
    trace = follow.beside(program)
    tasks = {t.tid: t for t in trace.tasks}
    assert set(tasks) >= {program.pid, child, thread}
    assert tasks[child].flags == THERE and tasks[child].creator == program.pid
    assert tasks[thread].pid == program.pid
    (wait,) = [w for w in trace.waits if w.tid == child and w.syscall == SLEEP and w.into - w.out > 1e8]
    assert wait.out <= trace.probes[0].begin < wait.into and wait.waker == program.pid


def test_numbers_as_a_namespace_has_them(follow):
    run = follow("""
import subprocess
subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", '''
import threading, time, os
print(f"space={os.stat('/proc/self/ns/pid').st_ino}", flush=True)
threading.Thread(target=time.sleep, args=(0.03,)).start()
'''])
""")
    inside = [t for t in run.trace.tasks if t.pid_ns == int(run.told["space"])]
    (first,) = {(t.tid, t.pid, t.own_pid) for t in inside if t.own_tid == 1}
    assert first[0] == first[1] > 1 and first[2] == 1
    (thread,) = {(t.tid, t.own_tid) for t in inside if t.own_pid == 1 and t.own_tid != 1}
    assert thread[0] != thread[1] < 10
    (wait,) = run.waits(thread[0], longer_ms=20)
    assert run.task(run.tid()).own_tid == run.tid()


def test_new_names(follow):
    run = follow("""
child = os.fork()
if not child:
    os.execvp("sleep", ["sleep", "0.02"])
told("child", child)
os.waitpid(child, 0)
open("/proc/self/comm", "w").write("renamed")
""")
    assert "sleep" in {t.name for t in run.trace.tasks if t.tid == run.tid("child") and t.flags & EXEC}
    assert [t.name for t in run.trace.tasks if t.tid == run.tid()][-1] == "renamed"


def writes_twice(pipe, before=""):
    return f"""
f = open("{pipe}", "wb", buffering=0)
{before}
time.sleep(0.05)
f.write(b"1")
time.sleep(0.05)
f.write(b"2")
"""


def reads_twice(pipe):
    return f"""
f = open("{pipe}", "rb", buffering=0)
f.read(1)
f.read(1)
"""


def test_stranger_that_wakes_is_named(follow, tmp_path):
    """A process that is not of the tree writes into its pipe."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen([sys.executable, "-c", "import time\n" + writes_twice(pipe)])
    run = follow(reads_twice(pipe))
    writer.wait()
    assert run.task(writer.pid).flags & STRANGER
    assert [w.waker for w in run.waits(longer_ms=30) if w.inode == os.stat(pipe).st_ino] == [writer.pid] * 2
    assert run.waits(writer.pid, longer_ms=40)  # its own wait, from when it was known


def test_what_a_stranger_waits_for_at_the_end_is_told(follow, tmp_path):
    """It woke a task of the tree and went to sleep: without that wait it would be taken to compute from then on."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen([sys.executable, "-c", f"""
import time
f = open("{pipe}", "wb", buffering=0)
time.sleep(0.05)
f.write(b"1")
time.sleep(60)
"""])
    try:
        run = follow(f"""
f = open("{pipe}", "rb", buffering=0)
f.read(1)
time.sleep(0.1)
""")
    finally:
        writer.kill()
        writer.wait()
    (wait,) = run.waits(writer.pid, longer_ms=90)
    assert wait.flags & LAST and wait.syscall == SLEEP and run.trace.probes[-1].end - wait.into < 500000000


def test_strangers_beyond_what_may_be_followed_are_counted(follow, tmp_path):
    """Each once, however often it wakes one of the tree."""
    pipe, back = tmp_path / "pipe", tmp_path / "back"
    os.mkfifo(pipe)
    os.mkfifo(back)
    wakers = subprocess.Popen([sys.executable, "-c", f"""
import threading, time
threading.stack_size(1 << 16)
out, back, turn, done = open("{pipe}", "wb", buffering=0), open("{back}", "rb", buffering=0), threading.Lock(), threading.Semaphore(0)
def wake():
    for _ in range(2):
        with turn:
            time.sleep(0.0005)
            out.write(b"1")
            back.read(1)
    done.release()
    time.sleep(60)
for _ in range(160): threading.Thread(target=wake, daemon=True).start()
for _ in range(160): done.acquire()
"""])
    run = follow(f"""
f, back = open("{pipe}", "rb", buffering=0), open("{back}", "wb", buffering=0)
for _ in range(320):
    f.read(1)
    back.write(b"1")
""")
    wakers.wait()
    assert len({t.tid for t in run.trace.tasks if t.flags & STRANGER}) >= 128
    assert 32 <= run.trace.probes[-1].tasks_lost < 64


@pytest.mark.parametrize("name, bit", [("waking", WAKING), ("tasks", TASKS), ("interrupt", INTERRUPT), ("block", BLOCK), ("fault", FAULT),
                                       ("reclaim", RECLAIM), ("memcg-reclaim", MEMCG_RECLAIM), ("throttle", THROTTLE), ("write-back", WRITE_BACK),
                                       ("written", WRITTEN)])
def test_each_probe_may_be_missing(follow, name, bit):
    run = follow("time.sleep(0.03)", "--off", name)
    watched = run.trace.probes[0].watched
    assert not watched & 1 << bit
    everything = 1 << SWITCH | 1 << WAKING | 1 << TASKS | 1 << INTERRUPT
    assert watched & everything == everything & ~(1 << bit)
    wait = run.only(longer_ms=25, syscall=SLEEP)
    assert bool(wait.wake) == (name != "waking")
    assert run.trace.probes[-1].end and not run.trace.probes[-1].events_lost


def test_samples_of_who_runs(follow):
    run = follow("""
end = time.monotonic() + 0.4
while time.monotonic() < end: pass
told("cpu", time.process_time())
""", "--stacks=200")
    assert run.trace.probes[0].watched & 1 << ON_CPU and run.trace.probes[0].sample_ns == 5000000
    mine = [s for s in run.trace.on_cpu if s.tid == run.tid()]
    expected = float(run.told["cpu"]) * 200
    assert 0.5 * expected - 10 <= len(mine) <= 1.2 * expected + 10 and any(len(s.frames) > 1 for s in mine)


# ---- privileges ------------------------------------------------------------------------------------------------------


def test_ordinary_user_with_two_capabilities(follow, two_capabilities, cold):
    run = follow(f"""
fd = os.open("{cold}", os.O_RDONLY)
os.pread(fd, 1 << 20, 3 << 20)
time.sleep(0.03)
""", "--wait", "20", "--stacks", gpushim=two_capabilities, user=NOBODY)
    every = (SWITCH, WAKING, TASKS, INTERRUPT, BLOCK, FAULT, RECLAIM, MEMCG_RECLAIM, THROTTLE, ON_CPU)
    assert all(run.trace.probes[0].watched & 1 << bit for bit in every)
    read = [w for w in run.waits() if w.inode == cold.stat().st_ino]
    assert read and {(run.trace.file(w), w.offset) for w in read} == {(str(cold), 3 << 20)}
    assert run.only(longer_ms=25, syscall=SLEEP).by == 3


def test_ordinary_user_may_not_follow_another(follow, two_capabilities):
    with pytest.raises(AssertionError, match="another user's|not permitted|may not"):
        follow("", gpushim=two_capabilities, user=NOBODY, program_user=1)


@pytest.mark.parametrize("mode, owner, capabilities", [(0o4755, (1, 1), None), (0o2755, (0, 1), None), (0o755, (0, 0), "cap_net_raw+ep"),
                                                       (0o711, (0, 0), None)], ids=["set-user-ID", "set-group-ID", "capabilities", "unreadable"])
def test_rights_of_another_are_not_for_an_ordinary_user_to_see(follow, two_capabilities, disk, mode, owner, capabilities):
    """A program that the tree executes, with the rights of its owner or of its file, or which its user may not read, and what that one makes."""
    other = disk / "other"
    shutil.copy(shutil.which("python3", path="/usr/bin:/bin"), other)
    os.chown(other, *owner)
    other.chmod(mode)
    if capabilities:
        subprocess.run(["setcap", capabilities, other], check=True)
    text = "import os, time; os.write(1, f'owner={os.stat(\"/proc/self/fd\").st_uid}\\n'.encode()); os.fork(); time.sleep(0.07)"
    run = follow(f"""
child = os.fork()
if not child:
    time.sleep(0.04)
    os.execv("{other}", ["other", "-c", {text!r}])
told("child", child)
os.waitpid(child, 0)
""", gpushim=two_capabilities, user=NOBODY)
    if run.told["owner"] == str(NOBODY):
        pytest.skip("this file system grants nobody's rights")
    child = run.tid("child")
    assert len(run.waits(child, longer_ms=20, syscall=SLEEP)) == 1  # the one before
    assert {t.tid for t in run.trace.tasks if not t.flags & STRANGER} == {run.tid(), child}
    assert [e.tid for e in run.trace.ends].count(child) == 1


def test_in_a_namespace_of_its_own_a_user_is_no_other(follow, two_capabilities):
    """There it has all capabilities, and may do no more with them than its user."""
    run = follow("""
import subprocess
done = subprocess.run(["unshare", "--user", "--map-root-user", sys.executable, "-c", "import time; time.sleep(0.06)"])
told("status", done.returncode)
""", gpushim=two_capabilities, user=NOBODY)
    if run.told["status"] != "0":
        pytest.skip("an ordinary user may make no namespace here")
    assert [w for w in run.trace.waits if w.tid != run.tid() and w.syscall == SLEEP and w.into - w.out > 5e7]


def hidden(text):
    """A process of the same user that lets nobody look, as those do that hold secrets."""
    python = shutil.which("python3", path="/usr/bin:/bin")
    return subprocess.Popen([python, "-c", "import ctypes, os, sys, time\nhide = lambda: ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n" + text],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=NOBODY, group=NOBODY, extra_groups=[])


def follow_as_its_user(follow, two_capabilities, program, pid):
    """What the collector says first, then all that it has written; None: it would not."""
    host, out = follow.collector(pid, gpushim=two_capabilities, user=NOBODY, group=NOBODY, extra_groups=[])
    told = ""
    try:
        said = host.stderr.readline()
        if "following" in said:
            told = program.communicate("\n", timeout=60)[0]
        said += host.communicate(timeout=60)[1]
    finally:
        program.kill()
        host.kill()
        program.wait()
    files = list(out.glob("*.host.gst"))
    return said, told, Trace(files[0]) if "following" in said else None


def test_who_lets_nobody_look_is_not_followed(follow, two_capabilities):
    program = hidden("hide()\nprint(os.getpid(), flush=True)\nsys.stdin.readline()")
    said, _, trace = follow_as_its_user(follow, two_capabilities, program, int(program.stdout.readline()))
    assert trace is None and "lets nobody look" in said


def test_who_lets_nobody_look_since_makes_no_children_that_are_seen(follow, two_capabilities):
    program = hidden("""
print(os.getpid(), flush=True)
sys.stdin.readline()
seen = os.fork()
if not seen: os._exit(0)
hide()
unseen = os.fork()
time.sleep(0.03)
if not unseen: os._exit(0)
print(seen, unseen, flush=True)
os.waitpid(seen, 0)
os.waitpid(unseen, 0)
""")
    pid = int(program.stdout.readline())
    said, told, trace = follow_as_its_user(follow, two_capabilities, program, pid)
    assert trace, said
    seen, unseen = map(int, told.split())
    tasks = {t.tid for t in trace.tasks}
    assert {pid, seen} <= tasks and unseen not in tasks


@pytest.mark.parametrize("hides", [False, True], ids=["plain", "hidden"])
def test_a_stranger_that_lets_nobody_look_is_a_number(follow, two_capabilities, disk, hides):
    """It wakes the tree: by whom that was woken is seen, and nothing else of it."""
    pipe = disk / "pipe"
    os.mkfifo(pipe)
    pipe.chmod(0o666)
    writer = hidden(writes_twice(pipe, "hide()" if hides else ""))
    run = follow(reads_twice(pipe), gpushim=two_capabilities, user=NOBODY)
    writer.wait()
    assert [w.waker for w in run.waits(longer_ms=30) if w.inode == os.stat(pipe).st_ino] == [writer.pid] * 2
    assert (writer.pid in {t.tid for t in run.trace.tasks}) != hides
    assert bool(run.waits(writer.pid, longer_ms=40)) != hides


RIGHTS_BACK = """
import ctypes
libc = ctypes.CDLL(None)
libc.prctl(28, 4, 0, 0, 0)  # what it may do does not hang on its ids
os.setgroups([])
os.setresgid({user}, {user}, {user})
os.setresuid({user}, {user}, {saved})
libc.prctl(4, 1, 0, 0, 0)
print(f"pid={{os.getpid()}}", flush=True)
sys.stdin.readline()
"""


def two_users(saved):
    return subprocess.Popen([sys.executable, "-c", "import os, sys\n" + RIGHTS_BACK.format(user=NOBODY, saved=saved)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("saved", [0, NOBODY], ids=["saved ID", "capabilities"])
def test_who_may_become_root_again_is_not_followed(follow, two_capabilities, saved):
    program = two_users(saved)
    pid = int(program.stdout.readline().partition("=")[2])
    said, _, trace = follow_as_its_user(follow, two_capabilities, program, pid)
    assert trace is None and "another" in said


def test_ordinary_user_without_capabilities_is_told(follow, gpushim, disk):
    copy = disk / "plain"
    shutil.copy(gpushim, copy)
    copy.chmod(0o755)
    with pytest.raises(AssertionError, match="CAP_BPF and CAP_PERFMON"):
        follow("", gpushim=copy, user=NOBODY)
