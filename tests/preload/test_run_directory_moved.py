# SPDX-License-Identifier: BSD-2-Clause
"""A trace that is recorded elsewhere (GPUSHIM_LOCAL): it is moved into the run directory at the end, by whoever is left to do it, and a
note stands for it until then."""

import json
import os
import shutil
import signal
import sys

import pytest

from run_directory import CALLS, PREFIX, WORK, assert_all_recorded, files_below, mode, mounted, needs_root, run  # noqa: F401


def staged(recorder, program, folder=None, status=0, **env):
    folder = folder or recorder.new_folder()
    local = folder / "local"
    local.mkdir(exist_ok=True)
    done = recorder.run([sys.executable, "-c", program], folder=folder, env={"GPUSHIM_LOCAL": local, **env})
    assert (done.status, done.stdout, done.stderr) == (status, "end\n", "")
    done.local = local
    return done


def test_moved_at_the_end(recorder):
    done = staged(recorder, WORK)
    assert len(done.traces()) == 1 and mode(done.traces()[0]) == 0o600
    assert files_below(done.out) == [done.traces()[0].name] and files_below(done.local) == []
    assert_all_recorded(done)


def test_a_note_says_where_it_is_meanwhile(recorder):
    program = PREFIX + """
start(); work()
[note] = glob.glob(out + "/*")
assert os.stat(note).st_mode & 0o777 == 0o600
lines = dict(line.split(" ", 1) for line in open(note).read().splitlines())
trace = lines["path"]
assert note == f"{out}/{host}-{os.getpid()}.gst.elsewhere" and trace.startswith(os.environ["GPUSHIM_LOCAL"] + "/gpushim-")
assert os.stat(trace).st_ino == int(lines["inode"]) and os.stat(trace).st_mode & 0o777 == 0o600
assert os.stat(os.path.dirname(trace)).st_mode & 0o777 == 0o700
assert int(lines["pid"]) == os.getpid() and lines["host"] == host
del os.environ["LD_PRELOAD"]
os.system(sys.argv[1] + " report --json " + out + " > " + out + "/../running.json")
print("end")
"""
    folder = recorder.new_folder()
    (folder / "local").mkdir()
    done = recorder.run([sys.executable, "-c", program, str(recorder.gpushim_path)], folder=folder, env={"GPUSHIM_LOCAL": folder / "local"})
    assert (done.status, done.stdout, done.stderr) == (0, "end\n", "")
    running = json.loads((folder / "running.json").read_text())
    assert running["calls"]["cuMemsetD8_v2"] == CALLS
    assert_all_recorded(done)


ENDS = {
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    "_exit": ("os._exit(0)", 0),
    "exec": ("os.execv('/bin/true', ['true'])", 0),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_program_that_cannot_move_it(recorder, end):
    """The note stands for it on this machine; the trace stays where it is."""
    how, status = ENDS[end]
    done = staged(recorder, WORK + "sys.stdout.flush()\n" + how, status=status, SIMGPU_LOG=None)
    assert done.traces() == [] and len(files_below(done.out)) == len(files_below(done.local)) == 1
    report = done.report()
    assert report["calls"]["cuMemsetD8_v2"] == CALLS and report["losses"]["records_dropped"] == 0


@pytest.mark.parametrize("end", ENDS)
def test_gpushim_run_moves_what_is_left(recorder, end):
    how, status = ENDS[end]
    folder = recorder.new_folder()
    local, out = folder / "local", folder / "gpushim-out"
    local.mkdir()
    program = [sys.executable, "-c", WORK + "sys.stdout.flush()\n" + how]
    done = recorder.run([str(recorder.gpushim_path), "run", "-o", str(out), "--", *program], shim=False, folder=folder,
                        env={"GPUSHIM_LOCAL": local, "SIMGPU_LOG": None})
    assert done.stdout == "end\n" and done.status == status
    assert files_below(local) == [] and [mode(path) for path in out.iterdir() if not path.name.endswith(".host.gst")] == [0o600]
    assert done.report()["calls"]["cuMemsetD8_v2"] == CALLS


def test_each_process_moves_its_own(recorder):
    program = WORK.replace("print('end')", """
sys.stdout.flush()
if os.fork() == 0:
    lib.cuInit(0)
    sys.exit(0)
os.wait(); print('end')""")
    done = staged(recorder, program, SIMGPU_LOG=None)
    assert len(done.traces()) == 2 and len(files_below(done.out)) == 2 and files_below(done.local) == []
    assert done.report("--run", "all")["calls"]["cuMemsetD8_v2"] == CALLS


def test_no_child_of_ours_is_seen_by_the_program(recorder):
    program = PREFIX + """
seen = []
signal.signal(signal.SIGCHLD, lambda *_: seen.append(1))
start(); work(); time.sleep(0.1)
try:
    seen.append(os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    pass
assert seen == [], seen
print("end")
"""
    assert_all_recorded(staged(recorder, program))


def killed(recorder):
    return staged(recorder, WORK + "sys.stdout.flush(); os.kill(os.getpid(), signal.SIGKILL)", status=-signal.SIGKILL, SIMGPU_LOG=None)


def test_on_another_machine_it_is_missing(recorder):
    done = killed(recorder)
    other = recorder.run([sys.executable, "-c", WORK], folder=done.folder, env={"SIMGPU_LOG": None})  # of the same directory, and here
    assert other.status == 0 and len(done.traces()) == 1
    [note] = done.out.glob("*.elsewhere")
    [trace] = done.local.rglob("*.gst")
    trace.rename(done.folder / "far-away")
    note.write_text("".join("host far-away\n" if line.startswith("host ") else line for line in note.read_text().splitlines(True)))
    for command in (["report"], ["report", "--run", "all"], ["info"]):
        answer = recorder.gpushim(*command, done.out)
        if command == ["report"]:  # the last run, which began later and is whole
            assert (answer.returncode, answer.stderr) == (0, "")
            continue
        assert answer.returncode == 3
        last = answer.stderr.splitlines()[-1]
        assert last.startswith("gpushim: the trace of process ") and f"still on far-away, in {trace}" in last
    alone = recorder.gpushim("report", done.out, "--run", "all", "--json")
    answer = json.loads(alone.stdout)
    assert answer["calls"]["cuMemsetD8_v2"] == CALLS
    assert (answer["run"]["processes"], answer["run"]["traces_missing"]) == (1, 1)
    assert "missing  " in recorder.gpushim("report", "--trust", done.out, "--run", "all").stdout
    assert "not whole: 1 trace is not here" in recorder.gpushim("report", done.out, "--run", "all").stdout


def test_a_run_directory_that_is_removed_meanwhile_is_made_again(recorder):
    done = staged(recorder, PREFIX + "start(); work(); shutil.rmtree(out); print('end')\n")
    assert files_below(done.out) == [done.traces()[0].name] and files_below(done.local) == []
    assert_all_recorded(done)


def test_moved_without_a_note_beside_what_others_left(recorder):
    """The run directory could not be had at the first call, so there is no note; the rest of another process's move is no obstacle."""
    done = staged(recorder, PREFIX + """
open(out, "w").close()
start(); work()
os.unlink(out); os.mkdir(out)
open(out + "/.gpushim.moving", "w").close()
print("end")
""")
    assert files_below(done.out) == [".gpushim.moving", done.traces()[0].name] and files_below(done.local) == []
    assert_all_recorded(done)


def test_an_interrupted_move_counts_once(recorder):
    done = killed(recorder)
    [trace] = done.local.rglob("*.gst")
    (done.out / trace.name).write_bytes(trace.read_bytes())
    report = done.report()
    assert report["run"]["processes"] == 1 and report["calls"]["cuMemsetD8_v2"] == CALLS


def test_a_note_that_was_left_behind_says_nothing(recorder):
    done = killed(recorder)
    [trace] = done.local.rglob("*.gst")
    shutil.copy(trace, done.out)
    trace.unlink()
    report = done.report("--run", "all")
    assert (report["run"]["processes"], report["run"]["traces_missing"]) == (1, 0)


@needs_root
def test_a_note_cannot_speak_of_a_third_partys_file(recorder):
    done = killed(recorder)
    [note] = done.out.glob("*.elsewhere")
    [trace] = done.local.rglob("*.gst")
    os.chown(note, 12345, 12345)
    os.chown(trace, 23456, 23456)
    answer = recorder.gpushim("info", done.out)
    assert answer.returncode == 3 and "is missing" in answer.stderr and answer.stdout == ""


@pytest.mark.parametrize("text", ["", "x\n", "gpushim elsewhere 1\n", "gpushim elsewhere 1\nhost h\npid 1\nbegin 2\nticks 3\ninode 4\nrun \npath x\n",
                                  "\0" * 500 + "\n", "y" * 10000])
def test_what_is_no_note_says_nothing(recorder, text):
    done = run(recorder, WORK)
    (done.out / "z.gst.elsewhere").write_text(text)
    assert_all_recorded(done)


PLACES = {
    "somebody-elses": "os.mkdir(local + '/' + own); os.chown(local + '/' + own, 12345, 12345)",
    "a-link": "os.mkdir(out + '/../victim'); os.symlink(out + '/../victim', local + '/' + own)",
    "a-file": "open(local + '/' + own, 'w').close()",
    "all-may-write": "os.mkdir(local + '/' + own); os.chmod(local + '/' + own, 0o777)",
    "not-sticky": "os.chmod(local, 0o777)",
    "not-there": "os.rmdir(local)",
}


@needs_root
@pytest.mark.parametrize("kind", PLACES)
def test_a_local_directory_that_is_not_ours_is_not_used(recorder, kind):
    program = PREFIX + f"""
local, own = os.environ["GPUSHIM_LOCAL"], f"gpushim-{{os.geteuid()}}"
os.mkdir(out)
{PLACES[kind]}
start(); work()
[note] = glob.glob(out + "/*")
assert f"path {{out}}/../next/" in open(note).read().replace(os.path.realpath(out + "/.."), out + "/..")
print("end")
"""
    folder = recorder.new_folder()
    (folder / "next").mkdir()
    done = staged(recorder, program, folder=folder, TMPDIR=folder / "next")
    assert not (folder / "victim").exists() or files_below(folder / "victim") == []
    assert len(done.traces()) == 1 and files_below(folder / "next") == []
    assert_all_recorded(done)


def test_only_so_much_of_a_file_system_in_memory(recorder, mounted):
    """It is the program's memory: a quarter of what is free there, here 8 MiB; past that the oldest is given up, as at GPUSHIM_LIMIT."""
    place = mounted("size=32m")
    folder = recorder.new_folder()
    done = recorder.run([sys.executable, "-c", PREFIX + "start(); work(200000); print('end')"], folder=folder,
                        env={"GPUSHIM_LOCAL": place})
    assert (done.status, done.stdout) == (0, "end\n")
    assert 6 << 20 < done.traces()[0].stat().st_size <= 8 << 20
    recorded = done.report()["calls"]["cuMemsetD8_v2"]
    assert (11 << 19) // 64 <= recorded <= (8 << 20) // 64  # 64 bytes each: the last of them; of 28 segments some are others'
