# SPDX-License-Identifier: BSD-2-Clause
"""Stacks of real interpreters whose frames change while they are looked at from outside: nothing breaks, and what is recorded can be."""

import ast
import os
import re

import pytest
from stack_records import HAS_PYTHON, LOOK, PYTHON, SILENCE, SITE, Stacks
from stacks_stress import CALLS, DEPTH, MADE
from test_stacks_python import VERSIONS, interpreter

SECONDS = 2


def functions(path):
    """Qualified name → its first and last line."""
    found = {"<module>": (1, len(path.read_text().splitlines()))}

    def walk(node, prefix):
        for child in ast.iter_child_nodes(node):
            name = getattr(child, "name", "<lambda>") if isinstance(child, (ast.FunctionDef, ast.Lambda)) else getattr(child, "name", None)
            if isinstance(child, (ast.FunctionDef, ast.Lambda)):
                found[prefix + name] = child.lineno, child.end_lineno
                walk(child, f"{prefix}{name}.<locals>.")
            else:
                walk(child, f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix)
    walk(ast.parse(path.read_text()), "")
    return found


class Plausible:
    """What a frame of the program can be, and what can stand in it."""

    def __init__(self, root):
        folder = root / "tests/workloads"
        self.files = {str(path): functions(path) for path in (folder / "stacks_stress.py", folder / "stacks_python.py")}
        self.lines = {name: open(name).read().splitlines() for name in self.files}
        self.called = {name: name.rsplit(".", 1)[-1].strip("<>#") for name in CALLS}
        self.called.update({"Driver.__init__": "Driver()", "<made>": "exec("})

    def label(self, frame):
        """Its name in CALLS; None: of the standard library. A frame that cannot be fails."""
        code, line = frame.of, frame.at
        if code.file == MADE:
            assert code.name == "<module>" or re.fullmatch(r"made_\d+", code.name), code
            assert line <= 3, frame
            return "<made>" if code.name == "<module>" else "made_#"
        if code.file not in self.files:
            assert os.path.isfile(code.file), frame  # "<shim>": the interpreter's own frame around a run of it
            source = open(code.file).read().splitlines()[code.first_line - 1].strip()
            assert source.startswith(("def " + code.name.rsplit(".", 1)[-1], "@")) or code.name.endswith(">"), (frame, source)
            assert line >= code.first_line or not line, frame
            return None
        first, last = self.files[code.file][code.name]
        assert first <= line <= last or not line, frame  # what ends a `finally` is of no line
        return code.name

    def check(self, frames):
        """Innermost first. What 3.12 and later put behind a class's __init__, to throw its result away, is a frame of its own."""
        frames = [frame for frame in frames if frame.of.file != "__init__"]
        labels = [self.label(frame) for frame in frames]
        for inner, outer, frame in zip(labels, labels[1:], frames[1:]):
            if outer is None:
                assert inner in (None, "in_a_thread"), labels
            elif inner is None:
                assert outer in ("start", "main", "Driver.call"), labels
            else:
                assert inner in CALLS[outer], labels
            if inner in self.called and frame.of.file in self.files and frame.at:  # a line with a call of it
                assert self.called[inner] in self.lines[frame.of.file][frame.at - 1], (inner, frame)
        assert labels.count("down") <= DEPTH + 1 and labels.count("raises") <= 21, labels
        return labels


@pytest.fixture(scope="module")
def plausible(root):
    return Plausible(root)


@pytest.mark.parametrize("version", VERSIONS)
def test_frames_that_change(recorder, root, plausible, version):
    python = interpreter(version)
    if not python:
        pytest.skip(f"no Python {version} here")
    done = recorder.run([python, str(root / "tests/workloads/stacks_stress.py"), str(SECONDS)], env={"GPUSHIM_STACKS": "100%"})
    assert (done.status, done.stderr) == (0, "") and int(done.stdout) > 0
    trace, = done.traces()
    stacks = Stacks(trace.read_bytes())
    main = min(stacks.at, key=lambda at: at.begin).tid
    seen, torn = set(), []
    for at in stacks.at:
        frames = [frame for frame in at.stack.frames if frame.kind == PYTHON]
        try:
            labels = plausible.check(frames)
            if frames and not at.stack.truncated():
                assert frames[-1].of.name == ("<module>" if at.tid == main else "Thread._bootstrap"), frames[-1]
            seen.update(labels if at.why == LOOK else ())
        except (AssertionError, KeyError) as error:
            torn.append((at, error))
        if at.why != LOOK:  # of a thread that stands in a call of the recorder's
            assert at.stack.flags & HAS_PYTHON and not at.stack.truncated(), at
            assert not torn or torn[-1][0] is not at, torn
    assert len(torn) <= 1, torn  # of thousands: each is read twice, and a loop may come round twice
    assert {at.tid for at in stacks.of(SITE) + stacks.of(SILENCE)} != {main}
    assert {"small", "down", "raises", "inner_generator", "through_c.<locals>.<lambda>"} & seen, seen
    report = done.report()
    assert report["stack_cost"]["looks"] == len(stacks.of(LOOK)) > 0
