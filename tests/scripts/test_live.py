# SPDX-License-Identifier: BSD-2-Clause
"""report, info and export on a run that is still going: at any moment they answer, exactly, and never less than before."""

import json
import os
import signal
import subprocess
import time
from contextlib import contextmanager

import pytest

import conservation

REPORTS = 40
OPERATIONS = 500  # so many at least before the last report: that the program runs meanwhile
WORKLOADS = {
    "train": ("train.py", "--steps", 100000, "--workers", 2, "--slow-loader", 3, "--item-each-layer", "--checkpoint-every", 20),
    "threads": ("client_dlopen", "--seed", 7, "--threads", 4, "--endless"),
}


@contextmanager
def running(recorder, *command, **env):
    """The program, recorded, with work on the device; killed in the end."""
    folder = recorder.new_folder()
    child = recorder.start(recorder.command(*command), folder, env={"GPUSHIM_OUT": folder / "out", **env}, start_new_session=True)
    try:
        for _ in range(1000):
            if list((folder / "out").glob("[!.]*.gst")):
                break
            assert child.poll() is None, f"it ended by itself: {child.returncode}"
            time.sleep(0.01)
        yield child, folder / "out"
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()


def report(recorder, out):
    done = recorder.gpushim("report", "--json", out)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    answer = json.loads(done.stdout)
    conservation.check(answer)
    return answer


def operations(answer):
    return sum(device["operations"] for device in answer["devices"])


@pytest.mark.parametrize("workload", WORKLOADS)
def test_reports_never_shrink(recorder, workload):
    seen, calls, end = 0, 0, 0
    with running(recorder, *WORKLOADS[workload]) as (child, out):
        while operations(report(recorder, out)) < 100:
            assert child.poll() is None
        reports = 0
        while reports < REPORTS or seen < OPERATIONS:
            answer = report(recorder, out)
            assert answer["run"]["running"] == 1 and answer["run"]["cut_short"] == answer["run"]["end_unknown"] == 0
            assert not any(answer["losses"].values()), answer["losses"]
            assert operations(answer) >= seen and sum(answer["calls"].values()) >= calls
            assert max(device["end_ns"] for device in answer["devices"]) <= time.monotonic_ns()
            seen, calls = operations(answer), sum(answer["calls"].values())
            end = time.monotonic_ns()
            reports += 1
        assert child.poll() is None, "it ended by itself"
    after = report(recorder, out)
    assert after["run"]["running"] == 0 and after["run"]["cut_short"] == 1
    assert operations(after) >= seen and max(device["end_ns"] for device in after["devices"]) > end - 1_000_000_000


def test_info_and_export(recorder):
    with running(recorder, *WORKLOADS["threads"]) as (child, out):
        for _ in range(10):
            info = recorder.gpushim("info", out)
            assert info.returncode == 0 and info.stderr == "" and "it is still running." in " ".join(info.stdout.split())
            assert "  trust        Trust it. It is as far as the program has come.\n" in info.stdout
            export = recorder.gpushim("export", out, "--chrome", "-", "--all")
            assert export.returncode == 0 and export.stderr == "", export.stderr
            assert json.loads(export.stdout)["traceEvents"]
        assert child.poll() is None


def test_the_text_says_still_running_and_then_how_it_ended(recorder):
    with running(recorder, *WORKLOADS["train"]) as (child, out):
        text = recorder.gpushim("report", out).stdout
        assert ", still running\n" in text.splitlines(keepends=True)[1]
        os.kill(child.pid, signal.SIGSTOP)  # no sign of life any more, but it lives
        time.sleep(0.3)
        assert report(recorder, out)["run"]["running"] == 1
        child.kill()
        time.sleep(0.05)  # dead, and nobody has asked for its status: a zombie is no longer running
        assert report(recorder, out)["run"] | {"running": 0, "cut_short": 1} == report(recorder, out)["run"]
        child.wait()
        text = recorder.gpushim("report", out).stdout
        assert ", cut short\n" in text.splitlines(keepends=True)[1]
        assert "ended without a regular exit" in " ".join(text.split())


def test_another_process_of_the_same_number_is_not_taken_for_it(recorder):
    """A pid comes again: what lives under it did not write the file."""
    with running(recorder, *WORKLOADS["threads"]) as (child, out):
        (trace,) = out.glob("*.gst")
        child.kill()
        child.wait()
        data = bytearray(trace.read_bytes())
        data[44:48] = os.getpid().to_bytes(4, "little")  # gst_file_header.pid
        data[12:16] = bytes(4)
        check = 0x811C9DC5
        for byte in data[:4096]:
            check = (check ^ byte) * 0x01000193 & 0xFFFFFFFF
        data[12:16] = check.to_bytes(4, "little")
        trace.write_bytes(data)
        answer = report(recorder, out)
        assert answer["run"]["running"] == 0 and answer["run"]["cut_short"] == 1


def test_a_process_in_a_pid_namespace_of_its_own_is_seen_to_run(recorder):
    """There its number is another one: only its signs of life tell."""
    unshare = ["unshare", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode:
        pytest.skip("no PID namespace can be made here")
    folder = recorder.new_folder()
    command = recorder.command(*WORKLOADS["threads"])
    child = recorder.start([*unshare, *command], folder, env={"GPUSHIM_OUT": folder / "out"})
    try:
        while not list((folder / "out").glob("[!.]*.gst")):
            time.sleep(0.01)
            assert child.poll() is None
        time.sleep(0.2)
        for _ in range(5):
            assert report(recorder, folder / "out")["run"]["running"] == 1
    finally:
        child.kill()
        child.wait()


def test_a_process_that_ends_meanwhile(recorder):
    """Whatever the moment, a short run is whole once it is called ended."""
    program = recorder.command("train.py", "--steps", 3, "--workers", 1)
    for attempt in range(6):
        folder = recorder.new_folder()
        child = recorder.start(program, folder, env={"GPUSHIM_OUT": folder / "out"})
        ended = None
        while not list((folder / "out").glob("[!.]*.gst")):
            time.sleep(0.005)
            assert child.poll() is None
        while ended is None:
            answer = report(recorder, folder / "out")
            assert answer["run"]["cut_short"] == answer["run"]["end_unknown"] == 0
            if not answer["run"]["running"]:
                ended = answer
        assert child.wait() == 0
        assert report(recorder, folder / "out")["devices"] == ended["devices"]
