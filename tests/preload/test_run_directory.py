# SPDX-License-Identifier: BSD-2-Clause
"""The run directory: whatever it is and becomes, the program does what it does without the shim, what can be recorded is, in files of
mode 0600 inside the directory, and nothing else is touched."""

import json
import os
import subprocess

import pytest

from run_directory import CALLS, PREFIX, WORK, assert_all_recorded, files_below, mode, mounted, needs_root, run, truth_calls  # noqa: F401

NOBODY = "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
SEGMENT_CALLS = 4095  # of 64 bytes in one segment


def assert_not_recorded(done, reason):
    """One line says why; not a file is left."""
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("gpushim: not recording: "), done.stderr
    assert reason in lines[0]
    assert not done.truth.exists() or truth_calls(done)["cuMemsetD8_v2"] == CALLS


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
