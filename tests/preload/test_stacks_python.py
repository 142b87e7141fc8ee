# SPDX-License-Identifier: BSD-2-Clause
"""Stacks of Python programs: functions and lines, each in the place of the C function that evaluates it. With every interpreter there is."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stack_records import HAS_PYTHON, LOOK, NATIVE, PYTHON, SILENCE, SITE, UNMERGED, Stacks

VERSIONS = ["3.11", "3.12", "3.13"]


def interpreter(version):
    """One of this version, or None: on the path, or beside the one that runs the tests, where those who manage versions keep them all."""
    beside = sorted(Path(sys.base_prefix).parent.glob(f"*{version}.*/bin/python{version}"))
    for program in (sys.executable, f"python{version}", *beside):
        found = shutil.which(program)
        if found and subprocess.run([found, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True,
                                    check=False).stdout.strip() == version:
            return found
    return None


@pytest.fixture(scope="module", params=VERSIONS)
def stacks(request, recorder, root):
    """Of stacks_python.py; .line: {comment: line}."""
    python = interpreter(request.param)
    if not python:
        pytest.skip(f"no Python {request.param} here")
    script = root / "tests/workloads/stacks_python.py"
    done = recorder.run([python, str(script)], env={"GPUSHIM_STACKS": "100%"})
    assert (done.status, done.stderr) == (0, "")
    trace, = done.traces()
    found = Stacks(trace.read_bytes())
    found.line = {mark: number for number, text in enumerate(script.read_text().splitlines(), 1)
                  for mark in re.findall(r"# ([A-Z_]+)$", text)}
    found.script, found.version = str(script), int(request.param.split(".")[1]) + 0x300
    return found


def chain(stacks, *inner):
    """As frames of Python, from what called the driver out to the script's last line."""
    line = stacks.line
    return [("Driver.call", line["CALL"]), ("Driver.launch", line["LAUNCH"]), *inner, ("<module>", line["MAIN"])]


def launches(stacks):
    """The Python of each submission, in their order."""
    return [at.stack.python() for at in sorted(stacks.of(SILENCE), key=lambda at: at.end) if at.hook == "cuLaunchKernel"]


def test_who_submitted(stacks):
    line, found = stacks.line, launches(stacks)
    first = chain(stacks, ("main", line["FIRST"]))
    assert found[0] == first
    assert chain(stacks, ("generator", line["GENERATOR"]), ("main", line["LIST"])) in found
    assert chain(stacks, ("through_c.<locals>.<lambda>", line["LAMBDA"]), ("through_c", line["LAMBDA"]), ("main", line["SORTED"])) in found
    deep = [("recursive", line["DEEPEST"])] + [("recursive", line["DEEPER"])] * 60 + [("main", line["RECURSE"])]
    assert chain(stacks, *deep) in found


def test_names_beyond_ascii(stacks):
    every = {frame.of for at in stacks.at for frame in at.stack.frames if frame.kind == PYTHON}
    assert "ünïcode_名" in [code.name for code in every]
    assert {code.file for code in every if code.name == "main"} == {stacks.script}
    assert {code.version for code in every} == {stacks.version}
    assert stacks.costs[-1].python == stacks.version


def test_a_thread_of_its_own(stacks):
    main = min(stacks.at, key=lambda at: at.begin).tid
    others = [at.stack.python() for at in stacks.of(SITE) + stacks.of(SILENCE) if at.tid != main and at.hook == "cuLaunchKernel"]
    line = stacks.line
    first = [("Driver.call", line["CALL"]), ("Driver.launch", line["LAUNCH"]), ("in_a_thread", line["THREAD"])]
    assert others and all(found[:3] == first for found in others)
    assert [name for name, _ in others[0][3:]] == ["Thread.run", "Thread._bootstrap_inner", "Thread._bootstrap"]


def test_a_silence_names_the_statement(stacks):
    line = stacks.line
    looks = [at.stack.python() for at in stacks.of(LOOK)]
    assert [("sleeps", line["SLEEPS"]), ("main", line["ASLEEP"]), ("<module>", line["MAIN"])] in looks
    computing = [found for found in looks if ("main", line["COMPUTING"]) in found]
    assert computing and all(found[-3][0] == "computes" for found in computing if len(found) > 2)
    ends = [at.stack.python() for at in stacks.of(SILENCE)]
    assert chain(stacks, ("main", line["AFTER_SLEEP"])) in ends
    assert chain(stacks, ("main", line["AFTER_COMPUTING"])) in ends


def test_native_frames_and_python_belong_together(stacks):
    """The interpreter's evaluation function is never there itself, and nothing is left over."""
    for at in stacks.of(SITE):
        assert at.stack.flags & (NATIVE | HAS_PYTHON | UNMERGED) == NATIVE | HAS_PYTHON, at
        assert not at.stack.truncated()
        kinds = [frame.kind for frame in at.stack.frames]
        assert kinds[0] != PYTHON and kinds[-1] != PYTHON  # ctypes' own frames, and the interpreter's main
    asleep = [at.stack for at in stacks.of(LOOK) if ("sleeps", stacks.line["SLEEPS"]) in at.stack.python()]
    assert any(stack.flags & NATIVE for stack in asleep)  # blocked in a system call


def test_beside_a_thread_in_the_loaders_list(recorder, root):
    """Neither waits for the other for ever: the one has Python's lock in a driver call, the other the loader's and wants Python's."""
    done = recorder.run([sys.executable, str(root / "tests/workloads/stacks_listed.py")], env={"GPUSHIM_STACKS": "100%"})
    assert (done.status, done.stdout, done.stderr) == (0, "True\n", "")
    trace, = done.traces()
    found = Stacks(trace.read_bytes())
    assert len([at for at in found.of(SILENCE) if at.hook == "cuLaunchKernel"]) >= 50
