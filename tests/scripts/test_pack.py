# SPDX-License-Identifier: BSD-2-Clause
"""pack and unpack: every command reads an archive as it reads what it was made of, and the same files come out of it again."""

import json
import resource
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parent.parent / "golden"


@pytest.fixture(scope="module")
def trained(recorder):
    """train.py's run directory: a process, for real."""
    run = recorder.run(recorder.command("train.py", "--steps", 6))
    assert run.status == 0, run.stderr
    return run.out


@pytest.fixture(scope="module")
def watched(build, tmp_path_factory):
    """A run of several files, of which one is of host probes."""
    folder = tmp_path_factory.mktemp("watched") / "run"
    subprocess.run([build / "tools/gst_write", GOLDEN / "chain-checkpoint/trace.txt", folder], check=True)
    assert len(list(folder.iterdir())) > 1
    return folder


@pytest.fixture
def call(gpushim):
    def run(*args, **more):
        return subprocess.run([gpushim, *args], capture_output=True, text=True, **more)

    return run


@pytest.fixture
def packed(call, tmp_path):
    def pack(*paths, name="run.gpk"):
        done = call("pack", *paths, "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        return tmp_path / name

    return pack


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("which", ["trained", "watched"])
def test_an_archive_is_read_as_what_it_was_made_of(which, call, packed, request):
    run = request.getfixturevalue(which)
    archive = packed(run)
    assert archive.stat().st_size * 10 < sum(path.stat().st_size for path in run.iterdir())
    for command in (["report", "--json"], ["report", "--full"], ["export", "--folded", "-"], ["export", "--metrics", "-"], ["export", "--chrome", "-", "--all"]):
        of_run, of_archive = (call(command[0], path, *command[1:]) for path in (run, archive))
        assert of_run.returncode == of_archive.returncode and of_archive.returncode == 0, of_archive.stderr
        assert of_archive.stdout == of_run.stdout, command
    info = call("info", archive)
    assert info.returncode == 0 and f"{archive}/" in info.stdout


@pytest.mark.parametrize("which", ["trained", "watched"])
def test_the_same_files_come_out(which, call, packed, request, tmp_path):
    run, to = request.getfixturevalue(which), tmp_path / "new" / "folder"
    done = call("unpack", packed(run), "-o", to)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert contents(to) == contents(run)
    assert {stat.S_IMODE(path.stat().st_mode) for path in to.iterdir()} == {0o600}
    again = call("unpack", tmp_path / "run.gpk", "-o", to)
    assert again.returncode == 2 and "is there already" in again.stderr
    assert contents(to) == contents(run)


def test_beside_the_originals_nothing_counts_twice(trained, call, packed, tmp_path):
    both = tmp_path / "both"
    shutil.copytree(trained, both)
    shutil.copy(packed(trained), both / "all.gpk")
    expected = json.loads(call("report", trained, "--json").stdout)
    assert json.loads(call("report", both, "--json").stdout) == expected
    assert json.loads(call("report", both / "all.gpk", *trained.iterdir(), "--json").stdout) == expected
    for path in both.glob("*.gst"):
        path.unlink()
    assert json.loads(call("report", both, "--json").stdout) == expected


def test_an_archive_packed_anew_is_the_same(trained, packed):
    first = packed(trained)
    assert packed(first, name="again.gpk").read_bytes() == first.read_bytes()


def test_what_is_damaged_comes_back_too(trained, call, packed, tmp_path):
    run = tmp_path / "damaged"
    shutil.copytree(trained, run)
    (path,) = run.iterdir()
    content = bytearray(path.read_bytes()[:-70000])
    content[8192 + 4 * 65536 + 5000] ^= 16
    path.write_bytes(content)
    archive = packed(run)
    of_run, of_archive = call("report", run, "--json"), call("report", archive, "--json")
    assert of_run.returncode == of_archive.returncode == 3
    assert json.loads(of_archive.stdout) == json.loads(of_run.stdout)
    assert of_archive.stderr == of_run.stderr.replace(str(run), str(archive))
    assert call("unpack", archive, "-o", tmp_path / "to").returncode == 0
    assert (tmp_path / "to" / path.name).read_bytes() == content


def test_a_flip_anywhere_is_refused(trained, call, packed, tmp_path):
    archive = packed(trained)
    content = archive.read_bytes()
    for at in range(0, len(content), len(content) // 40):
        archive.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1:])
        for command in (["report"], ["unpack", "-o", tmp_path / "to"]):
            done = call(command[0], archive, *command[1:])
            assert done.returncode == 3 and f"{archive}: byte " in done.stderr, (at, done.stderr)
    assert not (tmp_path / "to").exists()


def test_one_that_is_being_written_is_refused(recorder, call, tmp_path):
    code = "import ctypes, time; ctypes.CDLL('libcuda.so.1').cuInit(0); print('ready', flush=True); time.sleep(100)"
    program = recorder.start([sys.executable, "-c", code], tmp_path, env={"GPUSHIM_OUT": tmp_path / "run"}, stdout=subprocess.PIPE)
    try:
        assert program.stdout.readline() == "ready\n"
        done = call("pack", tmp_path / "run", "-o", tmp_path / "a.gpk")
        assert done.returncode == 2 and "is still being written" in done.stderr
        assert not (tmp_path / "a.gpk").exists()
    finally:
        program.kill()
        program.wait()
        program.stdout.close()
    assert call("pack", tmp_path / "run", "-o", tmp_path / "a.gpk").returncode == 0  # it has come to its end, if not a regular one


def test_usage(trained, call, tmp_path):
    for args, said in ((["pack", trained], "no file is named"), (["pack", trained, "-o", tmp_path / "a.gz"], "not packed again"),
                       (["unpack", tmp_path / "a.gpk"], "no folder is named"), (["unpack", tmp_path / "a.gpk", "-o", ""], "no folder is named")):
        done = call(*args)
        assert done.returncode == 2 and said in done.stderr
    (recording,) = trained.iterdir()
    before = recording.read_bytes()
    done = call("pack", trained, "-o", recording)
    assert done.returncode == 2 and "choose another name" in done.stderr and recording.read_bytes() == before
    done = call("unpack", recording, "-o", tmp_path / "to")
    assert done.returncode == 3 and "not an archive of recordings" in done.stderr
    done = call("unpack", tmp_path / "none.gpk", "-o", tmp_path / "to")
    assert done.returncode == 3 and done.stderr == f"gpushim: {tmp_path}/none.gpk: cannot open: No such file or directory\n"
    done = call("pack", recording, trained / ".." / trained.name / recording.name, "-o", tmp_path / "one.gpk")
    assert done.returncode == 0 and done.stdout.startswith("1 recording,")


def test_a_folder_whose_name_is_too_long(trained, call, packed, tmp_path):
    """Nothing is written into the one that a part of the name is of."""
    archive = packed(trained)
    for beginning in ("", f"{tmp_path}/"):
        done = call("unpack", archive, "-o", beginning + "/".join(["d" * 200] * 25), cwd=tmp_path)
        assert done.returncode == 4 and "File name too long" in done.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["run.gpk"]


def test_traces_of_other_tools_are_not_packed(call, tmp_path):
    kineto = tmp_path / "trace.json"
    kineto.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 1.0, "dur": 2.0, "args": {"correlation": 1}},
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5.0, "dur": 9.0, "args": {"correlation": 1, "device": 0, "stream": 7}}]}))
    assert call("report", kineto).returncode == 0
    done = call("pack", kineto, "-o", tmp_path / "a.gpk")
    assert done.returncode == 2 and "traces of other tools are not packed" in done.stderr and not (tmp_path / "a.gpk").exists()


def test_an_archive_is_its_users_alone(trained, packed):
    assert stat.S_IMODE(packed(trained).stat().st_mode) == 0o600


def test_standard_output(trained, call, gpushim, packed):
    done = subprocess.run([gpushim, "pack", trained, "-o", "-"], capture_output=True)
    assert done.returncode == 0 and done.stdout == packed(trained).read_bytes()


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))


def test_where_there_is_no_room(trained, call, packed, tmp_path):
    """SIGXFSZ ends it, or the write fails: there is no half an archive, nor half a recording."""
    archive = packed(trained)
    assert call("pack", trained, "-o", tmp_path / "b.gpk", preexec_fn=limited).returncode != 0
    assert call("unpack", archive, "-o", tmp_path / "to", preexec_fn=limited).returncode != 0
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".gpk"] == ["run.gpk"]
    assert not list((tmp_path / "to").glob("*.gst"))
