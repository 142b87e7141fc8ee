# SPDX-License-Identifier: BSD-2-Clause
"""A program does the same with the shim as without: output, exit status, errors; and nothing can make it fail."""

import difflib
import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

CLIENTS = ["client_linked", "client_dlopen", "client_getproc"]


def outcome(run):
    return run.status, run.stdout, run.stderr


@pytest.fixture(scope="module")
def plain(recorder):
    """A short client's outcome without the shim."""
    return outcome(recorder.run(short(recorder), shim=False))


def short(recorder):
    return recorder.command("client_dlopen", "--seed", 7, "--actions", 60)


@pytest.mark.parametrize("client", CLIENTS)
def test_same_outcome(recorder, client):
    command = recorder.command(client, "--seed", 11, "--threads", 2)
    without = recorder.run(command, shim=False)
    recorded = recorder.run(command)
    assert without.status == 0
    assert outcome(recorded) == outcome(without)
    assert len(recorded.traces()) == 1


def test_same_training(recorder):
    command = recorder.command("train.py", "--steps", 6, "--checkpoint-every", 3)
    without = recorder.run(command, shim=False)
    recorded = recorder.run(command)
    assert without.status == 0
    assert outcome(recorded) == outcome(without)
    assert len(recorded.traces()) == 1


def compare_random_calls(recorder, seed, env=None):
    command = recorder.command("random_calls", seed)
    without = recorder.run(command, shim=False, env=env)
    recorded = recorder.run(command, env=env)
    assert without.status == 0
    texts = without.stdout.splitlines(), recorded.stdout.splitlines()
    different = list(difflib.unified_diff(*texts, "without", "with", n=3, lineterm=""))
    assert not different, "\n".join(different[:40])
    assert outcome(recorded) == outcome(without)
    return recorded


@pytest.mark.parametrize("seed", range(1, 7))
def test_random_calls(recorder, seed):
    recorded = compare_random_calls(recorder, seed)
    assert recorded.report()["losses"]["records_dropped"] == 0


@pytest.mark.parametrize("fail", [
    "cuLaunchKernel:100:700", "cuMemAlloc_v2:20:2", "cuMemcpyHtoDAsync_v2:10:719", "cuStreamSynchronize:30:700",
])
def test_random_calls_on_a_failing_device(recorder, fail):
    compare_random_calls(recorder, 21, {"SIMGPU_FAIL": fail})


@pytest.mark.parametrize("level", ["host", "edges", "bursts", "auto", "nonsense"])
def test_random_calls_at_each_level(recorder, level):
    compare_random_calls(recorder, 22, {"GPUSHIM_DEVICE": level})


def test_a_program_error_stays_the_same(recorder):
    command, env = recorder.command("client_dlopen", "--seed", 3), {"SIMGPU_FAIL": "cuLaunchKernel:50:719"}
    without = recorder.run(command, shim=False, env=env)
    recorded = recorder.run(command, env=env)
    assert without.status == 1
    assert outcome(recorded) == outcome(without)


def test_off_records_nothing(recorder, plain):
    run = recorder.run(short(recorder), env={"GPUSHIM": "off"})
    assert outcome(run) == plain
    assert not run.out.exists()


def test_a_program_without_calls_leaves_nothing(recorder):
    run = recorder.run(["true"])
    assert outcome(run) == (0, "", "")
    assert not run.out.exists()


def test_parents_of_the_run_directory_missing(recorder, plain):
    folder = recorder.new_folder()
    run = recorder.run(short(recorder), folder=folder, env={"GPUSHIM_OUT": folder / "a" / "b" / "c"})
    assert outcome(run) == plain


@pytest.mark.parametrize("out", ["/proc/nowhere", "/dev/null/x", "x" * 5000, "/" + "y/" * 2000])
def test_run_directory_impossible(recorder, plain, out):
    assert outcome(recorder.run(short(recorder), env={"GPUSHIM_OUT": out})) == plain


def test_run_directory_not_writable(recorder, plain, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    assert outcome(recorder.run(short(recorder), env={"GPUSHIM_OUT": tmp_path / "out"})) == plain


def test_run_directory_is_a_file(recorder, plain, tmp_path):
    (tmp_path / "out").write_text("mine")
    assert outcome(recorder.run(short(recorder), env={"GPUSHIM_OUT": tmp_path / "out"})) == plain
    assert (tmp_path / "out").read_text() == "mine"


def test_trouble_is_told_on_request(recorder):
    run = recorder.run(short(recorder), env={"GPUSHIM_OUT": "/proc/nowhere", "GPUSHIM_LOG": "1"})
    assert run.status == 0
    assert run.stderr.startswith("gpushim: ") and run.stderr.count("\n") == 1, run.stderr


def test_descriptors_exhausted(recorder, plain):
    command = ["sh", "-c", 'ulimit -n 5; exec "$@"', "sh", *short(recorder)]
    without = recorder.run(command, shim=False)
    assert outcome(recorder.run(command)) == outcome(without)


def test_file_size_limit(recorder, plain):
    """A write beyond RLIMIT_FSIZE would be SIGXFSZ: the shim must not let the program die of it."""
    command = ["sh", "-c", 'ulimit -f 64; exec "$@"', "sh", *short(recorder)]
    without = recorder.run(command, shim=False, env={"SIMGPU_LOG": ""})
    assert outcome(recorder.run(command, env={"SIMGPU_LOG": ""})) == outcome(without)


def test_files_are_private(recorder):
    run = recorder.run(["sh", "-c", 'umask 0; exec "$@"', "sh", *short(recorder)])
    (trace,) = run.traces()
    assert stat.S_IMODE(trace.stat().st_mode) == 0o600
    assert stat.S_IMODE(run.out.stat().st_mode) & 0o022 == 0 or stat.S_IMODE(run.out.stat().st_mode) == 0o777
    assert [path for path in run.out.iterdir() if path != trace] == []


def test_symlinks_are_not_followed(recorder, plain, tmp_path):
    """A link under the name the file would get is left alone; the trace gets another name."""
    out, victim = tmp_path / "out", tmp_path / "victim"
    out.mkdir()
    victim.write_text("mine")
    host = os.uname().nodename
    # The shell's pid is the program's, for it becomes the program.
    command = ["sh", "-c", f'ln -s {victim} "$GPUSHIM_OUT/{host}-$$.gst"; exec "$@"', "sh", *short(recorder)]
    run = recorder.run(command, env={"GPUSHIM_OUT": out})
    assert outcome(run) == plain
    assert victim.read_text() == "mine"
    traces = [path for path in out.glob("*.gst") if not path.is_symlink()]
    assert len(traces) == 1 and traces[0].stem.endswith("-2"), sorted(out.iterdir())


@pytest.fixture
def small_disk(tmp_path):
    """Room for the file's head and a few segments, no more."""
    mount = tmp_path / "disk"
    mount.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("no right to mount a small disk")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


def test_disk_full(recorder, small_disk):
    command = recorder.command("client_dlopen", "--seed", 4, "--threads", 4, "--actions", 800)
    without = recorder.run(command, shim=False)
    run = recorder.run(command, env={"GPUSHIM_OUT": small_disk})
    assert outcome(run) == outcome(without)
    check_incomplete(recorder, small_disk)


def test_limit(recorder, tmp_path):
    """Past GPUSHIM_LIMIT the program goes on, and what is lost is counted: where there are more threads than segments."""
    command = recorder.command("client_dlopen", "--seed", 4, "--threads", 4, "--actions", 800)
    without = recorder.run(command, shim=False)
    run = recorder.run(command, env={"GPUSHIM_OUT": tmp_path / "out", "GPUSHIM_LIMIT": "1M"})
    assert outcome(run) == outcome(without)
    used = sum(path.stat().st_blocks * 512 for path in (tmp_path / "out").glob("*.gst"))
    assert used <= 2 << 20
    check_incomplete(recorder, tmp_path / "out")


def check_incomplete(recorder, out: Path):
    done = recorder.gpushim("report", out, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["losses"]["records_dropped"] > 0
    assert report["calls"]["cuLaunchKernel"] > 0
