# SPDX-License-Identifier: BSD-2-Clause
"""scripts/new-cause.sh: a cause more is one row in one place, and what it writes works as it stands."""

import difflib
import json
import os
import re
import shutil
import subprocess

import pytest
from test_golden import compare, conserve

NEEDED = ("Makefile", "analyzer", "shim", "scripts")
LIST = "analyzer/cause/causes.def"


@pytest.fixture
def tree(root, build, tmp_path):
    """A copy of what the program is built of, and of two golden cases."""
    to = tmp_path / "tree"
    to.mkdir()
    for name in NEEDED:
        (shutil.copytree if (root / name).is_dir() else shutil.copy2)(root / name, to / name)
    for case in ("cause-allocator", "cause-allocator-not"):
        shutil.copytree(root / "tests/golden" / case, to / "tests/golden" / case)
    (to / "build").mkdir()
    found = re.sub(r"(?<= = )(?=\S)(.*)", lambda path: str(root / path[1]), (build / "setup.mk").read_text())
    (to / "build/setup.mk").write_text(found)  # newer than what it is made by: nothing is looked for
    return to


def files(tree):
    return {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*")
            if path.is_file() and tree / "build" not in path.parents and "__pycache__" not in path.parts}


def new_cause(tree, *arguments):
    return subprocess.run([tree / "scripts/new-cause.sh", *arguments], capture_output=True, text=True)


def report(tree, build, case, to):
    subprocess.run([build / "tools/gst_write", tree / "tests/golden" / case / "trace.txt", to], check=True)
    done = subprocess.run([tree / "build/gpushim", "report", "--json", to], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def added_rows(before, after):
    """The lines that the list has more. No other is touched, and they stand in one place."""
    changes = [change for change in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes() if change[0] != "equal"]
    assert [change[0] for change in changes] == ["insert"]
    return after[changes[0][3]:changes[0][4]]


def test_one_row_in_one_place(tree, build, tmp_path):
    before = files(tree)
    done = new_cause(tree, "clock-change", 'the device changed its "clock"', "set it once", "cuCtxSetFlags")
    assert done.returncode == 0, done.stderr
    after = files(tree)
    assert {name for name in before if after.get(name) != before[name]} == {LIST}
    rows = added_rows(before[LIST].decode().splitlines(), after[LIST].decode().splitlines())
    assert rows == [r'CAUSE_RULE(clock_change, "clock-change", "the device changed its \"clock\"",', '           "set it once")']
    folders = ("tests/golden/cause-clock-change/", "tests/golden/cause-clock-change-not/")
    assert set(after) - set(before) == {"analyzer/cause/cause_clock_change.c"} | {
        folder + name for folder in folders for name in ("trace.txt", "expected.json", "why.md")}

    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "BUILD"))}
    made = subprocess.run(["make", "-j2", "BUILD=build", "WERROR=1", "OPT=-O0", "build/gpushim"], cwd=tree, env=environment, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    owned = {}
    for case in ("cause-clock-change", "cause-clock-change-not", "cause-allocator", "cause-allocator-not"):
        have = report(tree, build, case, tmp_path / case)
        compare(json.loads((tree / "tests/golden" / case / "expected.json").read_text()), have, case)
        for device in have["devices"]:
            conserve(device)
        owned[case] = have["devices"][0]["causes"]["clock-change"]
        if case == "cause-clock-change":
            keys = list(have["devices"][0]["causes"])
            assert keys.index("clock-change") == keys.index("unexplained") - 1
            text = subprocess.run([tree / "build/gpushim", "report", tmp_path / case, "--why", "0"], capture_output=True, text=True, check=True)
            assert 'clock-change: the device changed its "clock" -> set it once' in " ".join(text.stdout.split())
    assert owned == {"cause-clock-change": 3_000_000, "cause-clock-change-not": 0, "cause-allocator": 0, "cause-allocator-not": 0}


def test_its_precedence(tree):
    before = files(tree)[LIST].decode().splitlines()
    assert new_cause(tree, "--above", "allocator", "clock-change").returncode == 0
    after = files(tree)[LIST].decode().splitlines()
    rows = added_rows(before, after)
    assert len(rows) == 2 and after[after.index(rows[1]) + 1].startswith("CAUSE_RULE(allocator,")


@pytest.mark.parametrize("arguments, complaint", [
    (["Clock"], "small letters"), (["clock--change"], "small letters"), (["host-sleep"], "is in analyzer/cause/causes.def"),
    (["--above", "nothing", "clock-change"], "nothing: is not in"), (["clock-change", "a", "b", "printf"], "a driver call is named"),
    (["clock-change", "a", "b", "cuFoo", "more"], "new-cause.sh [--above ID] ID"), ([], "new-cause.sh [--above ID] ID")])
def test_refused(tree, arguments, complaint):
    before = files(tree)
    done = new_cause(tree, *arguments)
    assert done.returncode != 0 and complaint in done.stderr
    assert files(tree) == before
