# SPDX-License-Identifier: BSD-2-Clause
"""The run directory: whatever it is and becomes, the program does what it does without the shim, what can be recorded is, in files of
mode 0600 inside the directory, and nothing else is touched."""

import json
import os
import signal
import stat
import subprocess
import sys

import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user or to mount")

CALLS = 3000
PREFIX = f"""
import ctypes, glob, os, resource, shutil, signal, socket, sys, time
out = os.environ.get("GPUSHIM_OUT", "")
host = socket.gethostname()
lib = ctypes.CDLL("libcuda.so.1")
memory = ctypes.c_uint64()
def start():
    context = ctypes.c_void_p()
    assert lib.cuInit(0) == 0 and lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert lib.cuCtxSetCurrent(context) == 0 and lib.cuMemAlloc_v2(ctypes.byref(memory), 4096) == 0
def work(n={CALLS}):
    for _ in range(n):
        lib.cuMemsetD8_v2(memory, 0, ctypes.c_size_t(16))
"""
WORK = PREFIX + "start(); work(); print('end')\n"
NOBODY = "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
SEGMENT_CALLS = 4095  # of 64 bytes in one segment


def run(recorder, program, **how):
    """With the shim; it must end as it does without."""
    done = recorder.run([sys.executable, "-c", program], **how)
    assert (done.status, done.stdout) == (0, "end\n"), done.stderr
    return done


def truth_calls(done):
    return json.loads(done.truth.read_text().splitlines()[-1])["calls"]


def assert_all_recorded(done, *options):
    report = done.report(*options)
    assert report["losses"]["records_dropped"] == 0
    assert report["calls"]["cuMemsetD8_v2"] == truth_calls(done)["cuMemsetD8_v2"] == CALLS


def assert_not_recorded(done, reason):
    """One line says why; not a file is left."""
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("gpushim: not recording: "), done.stderr
    assert reason in lines[0]
    assert not done.truth.exists() or truth_calls(done)["cuMemsetD8_v2"] == CALLS


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


# ---- where it is made --------------------------------------------------------------------------------------------------------------


def test_missing_parents_are_made(recorder):
    folder = recorder.new_folder()
    done = run(recorder, WORK, folder=folder, env={"GPUSHIM_OUT": folder / "a" / "b" / "gpushim-out"})
    assert len(files_below(folder / "a")) == 1
    done.out = folder / "a" / "b" / "gpushim-out"
    assert_all_recorded(done)


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o277, 0o777])
def test_files_are_0600_whatever_the_umask(recorder, umask):
    done = run(recorder, PREFIX + f"os.umask({umask})\nstart(); work(); print('end')\n")
    assert [mode(path) for path in done.traces()] == [0o600]
    assert mode(done.out) & 0o700 == 0o700
    assert_all_recorded(done)


def test_a_run_directory_that_is_a_link_of_ours_is_followed(recorder):
    folder = recorder.new_folder()
    (folder / "elsewhere").mkdir()
    (folder / "gpushim-out").symlink_to(folder / "elsewhere")
    done = run(recorder, WORK, folder=folder)
    assert len(files_below(folder / "elsewhere")) == 1
    assert_all_recorded(done)


@needs_root
def test_a_link_that_another_user_planted_is_not_followed(recorder):
    folder = recorder.new_folder()
    folder.chmod(0o1777)
    (folder / "victim").mkdir()
    (folder / "victim").chmod(0o777)
    (folder / "gpushim-out").symlink_to(folder / "victim")
    os.lchown(folder / "gpushim-out", 12345, 12345)
    done = run(recorder, WORK, folder=folder, env={"GPUSHIM_LOG": "1"})
    assert_not_recorded(done, "Too many levels of symbolic links")
    assert files_below(folder / "victim") == []


PLANTED = {
    "symlink": "os.symlink(victim, name)",
    "dangling-symlink": "os.symlink(out + '/../made', name)",
    "fifo": "os.mkfifo(name)",
    "directory": "os.mkdir(name)",
    "hard-link": "os.link(victim, name)",
}


@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_planted_under_the_name_is_left_alone(recorder, kind):
    program = PREFIX + f"""
os.mkdir(out)
victim = out + "/../victim"
open(victim, "w").write("mine")
name = f"{{out}}/{{host}}-{{os.getpid()}}.gst"
{PLANTED[kind]}
before = os.lstat(name)
start(); work()
after = os.lstat(name)
assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)
print("end")
"""
    done = run(recorder, program)
    assert (done.folder / "victim").read_text() == "mine"
    assert not (done.folder / "made").exists()
    second = [path for path in done.out.iterdir() if path.name.endswith("-2.gst")]
    assert len(second) == 1 and mode(second[0]) == 0o600
    done.out = second[0]
    assert_all_recorded(done)


def test_a_host_name_cannot_lead_out_of_it(recorder, root):
    """The name is made of letters, digits and a few marks whatever gethostname says: see process_info_host."""
    done = run(recorder, WORK)
    assert files_below(done.folder) == [f"gpushim-out/{done.traces()[0].name}", "truth.json"]
    assert set(done.traces()[0].name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


# ---- where it cannot be made -------------------------------------------------------------------------------------------------------


def test_a_file_in_its_place(recorder):
    folder = recorder.new_folder()
    (folder / "gpushim-out").write_text("mine")
    done = run(recorder, WORK, folder=folder, env={"GPUSHIM_LOG": "1"})
    assert_not_recorded(done, "Not a directory")
    assert (folder / "gpushim-out").read_text() == "mine"


def test_a_name_that_is_too_long(recorder):
    folder = recorder.new_folder()
    done = run(recorder, WORK, folder=folder, env={"GPUSHIM_LOG": "1", "GPUSHIM_OUT": folder / ("x" * 300)})
    assert_not_recorded(done, "File name too long")


def test_a_path_with_no_room_for_the_name(recorder):
    folder = recorder.new_folder()
    deep = str(folder)
    while len(deep) < 3990:
        deep += "/" + "x" * min(200, 3995 - len(deep))
    done = run(recorder, WORK, folder=folder, env={"GPUSHIM_LOG": "1", "GPUSHIM_OUT": deep})
    assert_not_recorded(done, "File name too long")


@needs_root
def test_a_directory_that_may_not_be_written_to(recorder):
    folder = recorder.new_folder()
    out = folder / "gpushim-out"
    out.mkdir(mode=0o555)
    for path in (folder, *folder.parents[:3]):
        path.chmod(path.stat().st_mode | 0o055)
    (folder / "truth.json").touch()
    (folder / "truth.json").chmod(0o666)
    done = run(recorder, PREFIX + NOBODY + "start(); work(); print('end')\n", folder=folder, env={"GPUSHIM_LOG": "1"})
    assert_not_recorded(done, "Permission denied")
    assert files_below(out) == []


@pytest.fixture
def mounted(tmp_path):
    """mount(OPTION…): a tmpfs of its own."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount")
    places = []

    def mount(options):
        place = tmp_path / f"mounted-{len(places)}"
        place.mkdir()
        if os.system(f"mount -t tmpfs -o {options} none {place} 2>/dev/null"):
            pytest.skip("mounting is not allowed here")
        places.append(place)
        return place

    yield mount
    for place in places:
        os.system(f"umount -l {place}")


def test_a_read_only_file_system(recorder, mounted):
    place = mounted("ro")
    done = run(recorder, WORK, env={"GPUSHIM_LOG": "1", "GPUSHIM_OUT": place / "gpushim-out"})
    assert_not_recorded(done, "Read-only file system")


def test_a_full_disk_at_the_first_call(recorder, mounted):
    place = mounted("size=128k")
    done = run(recorder, WORK, env={"GPUSHIM_LOG": "1", "GPUSHIM_OUT": place / "gpushim-out"})
    assert_not_recorded(done, "No space left on device")
    assert files_below(place) == []


def test_no_bigger_files_than_the_limit_allows(recorder):
    done = run(recorder, PREFIX + "resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))\nstart(); work(); print('end')\n",
               env={"GPUSHIM_LOG": "1", "SIMGPU_LOG": None})
    assert_not_recorded(done, "File too large")
    assert files_below(done.out) == []


@pytest.mark.parametrize("limit, lost", [(3, 0), (0, 100)])
def test_out_of_descriptors_at_the_first_call(recorder, limit, lost):
    """The program's own descriptors do not matter; where a process may have none at all, those calls are lost, and counted, and recording
    begins when there are some."""
    program = PREFIX + f"""
limit = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, limit[1]))
for _ in range(100):
    lib.cuCtxSynchronize()
resource.setrlimit(resource.RLIMIT_NOFILE, limit)
time.sleep(0.05)
start(); work(); print('end')
"""
    done = run(recorder, program)
    assert len(done.traces()) == 1
    report = done.report()
    assert report["calls"]["cuMemsetD8_v2"] == CALLS
    assert report["losses"]["records_dropped"] == lost
    assert report["calls"].get("cuCtxSynchronize", 0) == 100 - lost


SET_USER_ID = """
#include <stdio.h>
#include <sys/auxv.h>
int cuInit(unsigned);
int main(void)
{
	cuInit(0);
	printf("%d end\\n", getauxval(AT_SECURE) != 0);
	return 0;
}
"""


@needs_root
@pytest.mark.parametrize("gains", [False, True])
def test_a_program_that_gained_rights_is_not_recorded(recorder, gains):
    """The loader preloads nothing there. Where the recorder is part of the program it stays off: its caller's variables do not say what
    a program with other rights writes. Without the bit the same program is recorded."""
    folder = recorder.new_folder()
    program = folder / "program"
    libraries = [recorder.shim, recorder.build / "simgpu" / "libcuda.so.1"]
    built = subprocess.run(["cc", "-x", "c", "-", "-o", str(program), "-Wl,--no-as-needed",
                            *(f"-Wl,-rpath,{path.parent}" for path in libraries), *(f"-L{path.parent}" for path in libraries),
                            *(f"-l:{path.name}" for path in libraries)], input=SET_USER_ID, text=True)
    assert built.returncode == 0
    if gains:
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
    folder.chmod(0o777)
    for path in folder.parents[:3]:  # so that it could write there
        path.chmod(path.stat().st_mode | 0o055)
    done = recorder.run([str(program)], shim=False, folder=folder, env={"SIMGPU_LOG": None})
    if done.status == 127:
        pytest.skip("another user cannot read the build directory")
    assert (done.status, done.stdout, done.stderr) == (0, f"{int(gains)} end\n", "")
    assert len(done.traces()) == (0 if gains else 1) and done.out.exists() != gains


# ---- where it does not stay --------------------------------------------------------------------------------------------------------

GONE = {
    "file-unlinked": "os.unlink(trace)",
    "directory-removed": "shutil.rmtree(out)",
    "another-directory-in-its-place": "os.rename(out, out + '.old'); os.mkdir(out)",
    "another-file-in-its-place": "os.rename(trace, trace + '.old'); open(trace, 'w').write('mine')",
    "a-link-in-its-place": "os.rename(trace, out + '/../old.gst'); os.symlink(out + '/../victim', trace)",
    "a-fifo-in-its-place": "os.unlink(trace); os.mkfifo(trace)",
}


@pytest.mark.parametrize("kind", GONE)
def test_gone_while_recording(recorder, kind):
    """What is mapped is still written to; then recording stops, with one line, and nothing is written to what is there instead."""
    program = PREFIX + f"""
start(); work()
open(out + "/../victim", "w").write("mine")
[trace] = glob.glob(out + "/*.gst")
{GONE[kind]}
work(20 * {SEGMENT_CALLS})
print("end")
"""
    done = run(recorder, program, env={"GPUSHIM_LOG": "1"})
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("gpushim: recording stops: "), done.stderr
    assert truth_calls(done)["cuMemsetD8_v2"] == CALLS + 20 * SEGMENT_CALLS
    assert (done.folder / "victim").read_text() == "mine"
    left = files_below(done.folder)
    left.remove("truth.json"), left.remove("victim")
    traces = [name for name in left if name.endswith((".gst", ".old")) and (done.folder / name).is_file()
              and not (done.folder / name).is_symlink() and (done.folder / name).stat().st_size > 4096]
    kept = kind in ("another-directory-in-its-place", "another-file-in-its-place", "a-link-in-its-place")
    assert len(traces) == (1 if kept else 0), left
    if kept:  # what was recorded until then is a good trace
        report = json.loads(recorder.gpushim("report", done.folder / traces[0], "--json").stdout)
        recorded = report["calls"]["cuMemsetD8_v2"]
        assert recorded >= CALLS
        assert recorded + report["losses"]["records_dropped"] >= CALLS + 20 * SEGMENT_CALLS


# ---- recorded elsewhere, moved at the end -------------------------------------------------------------------------------------------


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
    assert files_below(local) == [] and [mode(path) for path in out.iterdir()] == [0o600]
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
    assert "missing  " in recorder.gpushim("report", done.out, "--run", "all").stdout


def test_a_run_directory_that_is_removed_meanwhile_is_made_again(recorder):
    done = staged(recorder, PREFIX + "start(); work(); shutil.rmtree(out); print('end')\n")
    assert files_below(done.out) == [done.traces()[0].name] and files_below(done.local) == []
    assert_all_recorded(done)


def test_an_interrupted_move_counts_once(recorder):
    done = killed(recorder)
    [trace] = done.local.rglob("*.gst")
    (done.out / trace.name).write_bytes(trace.read_bytes())
    report = done.report()
    assert report["run"]["processes"] == 1 and report["calls"]["cuMemsetD8_v2"] == CALLS


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
    assert (6 << 20) // 64 <= recorded <= (8 << 20) // 64  # 64 bytes each: the last of them
