# SPDX-License-Identifier: BSD-2-Clause
"""What the survival tests hold of a program, however it ends: it does not notice the shim, and all it did is in the trace."""

import struct
import subprocess

import gst
from recording import hooked_names


def counted(recorder, path):
    """{name: calls that had returned}, by the program itself."""
    names = subprocess.run(recorder.command("client_dlopen", "--names"), env=recorder.environment(shim=False), capture_output=True,
                           text=True, check=True).stdout.split()
    return dict(zip(names, struct.unpack(f"{len(names)}Q", path.read_bytes())))


def run(recorder, command, shim=True, env=None):
    folder = recorder.new_folder()
    counter = folder / "counter"
    done = recorder.run(command, shim=shim, folder=folder, env={"SIMGPU_LOG": None, "SURVIVE_COUNTER": counter, **(env or {})})
    done.counter = counter
    return done


def outcome(done):
    return done.status, done.stdout, done.stderr


def recorded_calls(done):
    """What the analyzer finds of all its processes; it must find them whole."""
    report = done.report("--run", "all")
    assert report["losses"]["records_dropped"] == 0
    return report["calls"]


def quickly_recorded_calls(done):
    """The same by the second reader, for traces of which a whole report takes long."""
    calls = {}
    info = done.recorder.gpushim("info", done.out)
    assert info.returncode == 0, info.stderr
    for trace in done.traces():
        data = trace.read_bytes()
        assert struct.unpack_from("<Q", data, gst.COUNTERS) == (0,), "records were dropped"
        for name, count in gst.call_counts(data)[0].items():
            calls[name] = calls.get(name, 0) + count
    return calls


def same_calls(recorder, done, others=0, find=recorded_calls):
    """Each hooked call that the program counted is in its trace, and no other; but `others` of each at most, that never returned or
    that it did not count."""
    calls, hooked = find(done), hooked_names()
    for name, returned in counted(recorder, done.counter).items():
        if name in hooked:
            assert returned <= calls.get(name, 0) <= returned + others, f"{name}: {returned} returned, {calls.get(name, 0)} recorded"


def survives(recorder, command, status, processes=1, others=0, env=None, find=recorded_calls):
    """Runs it without the shim and with it. -> both runs."""
    plain, done = run(recorder, command, shim=False, env=env), run(recorder, command, env=env)
    assert plain.status == status, f"without the shim: {outcome(plain)}"
    assert outcome(done) == outcome(plain)
    assert len(done.traces()) == processes
    same_calls(recorder, done, others, find)
    return plain, done
