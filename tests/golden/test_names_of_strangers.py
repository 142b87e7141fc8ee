# SPDX-License-Identifier: BSD-2-Clause
"""Names that a trace brings are a stranger's: of a Python file, a function, an object, a range, a kernel. None of them steers a terminal, and none
is cut within a character."""

import json
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROGUE = b"\x1b]0;owned\x07\x1b[31m\x9b2J\xc2\x9b\xe2\x80\xae"  # sets the title, turns red, clears the screen, writes from right to left
SEEN = "?]0;owned??[31m?2J??"
LONG = "ü".encode() * 100
PAGES = {"report": ["report"], "full": ["report", "--full"], "advice": ["report", "--advice"], "trust": ["report", "--trust"],
         "why": ["report", "--why", "0"], "steps": ["report", "--steps"], "info": ["info"],
         "folded": ["export", "--folded", "-"]}


@pytest.fixture
def run(build, tmp_path):
    """name → stacks-python with it wherever a name may stand."""
    def make(name):
        text = (HERE / "stacks-python/trace.txt").read_bytes()
        for ours in (b"/srv/me/train.py", b"/nonexistent/bin/python3.11", b"/usr/lib/nowhere/libcuda.so.1"):
            assert ours in text
            text = text.replace(ours, b"/srv/" + name + ours)
            text = text.replace(ours, ours.rpartition(b"/")[0] + b"/" + name + ours.rpartition(b"/")[2])
        for ours in (b"name=load_batch", b"name=train", b"kernel=step"):
            assert ours in text
            text = text.replace(ours, ours + name)
        for step in range(3):
            text += b"range step%s t=%dus..%dus number=%d\n" % (name, 500 + 5000 * step, 5400 + 5000 * step, step)
        text += b"range load%s t=4100us..9000us level=1\n" % name
        (tmp_path / "trace.txt").write_bytes(text)
        subprocess.run([build / "tools/gst_write", tmp_path / "trace.txt", tmp_path / "run"], check=True)
        return tmp_path / "run"
    return make


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(["name", "seen"], [(ROGUE, SEEN), (LONG, "üüü")], ids=["rogue", "long"])
def test_no_page_is_steered(run, gpushim, name, seen, page):
    command, *options = PAGES[page]
    done = subprocess.run([gpushim, command, run(name), *options], capture_output=True, env={"LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()  # whole characters
    assert all(line.isprintable() for line in text.split("\n")), [line for line in text.split("\n") if not line.isprintable()]
    seen = {"folded": seen.replace(";", ":"), "steps": seen[:9]}.get(page, seen)  # a step's name is cut
    assert page in ("info", "trust") or seen in text, "the name is there, clean"


def test_the_stack_has_the_whole_path(run, gpushim):
    """Each frame of --why is the statement, and the file's whole path behind it."""
    text = subprocess.run([gpushim, "report", run(ROGUE), "--why", "0"], capture_output=True, check=True).stdout.decode()
    assert f"{SEEN}train.py:41 in load_batch{SEEN} /srv/{SEEN}/srv/me/{SEEN}train.py" in " ".join(text.split())


@pytest.mark.parametrize("name", [ROGUE, LONG], ids=["rogue", "long"])
def test_json_is_whole(run, gpushim, name):
    report = json.loads(subprocess.run([gpushim, "report", "--json", run(name)], capture_output=True, check=True).stdout.decode())
    assert any(place.startswith("at ") for gap in report["devices"][0]["gaps"] for cause in gap["causes"] for place in cause["evidence"])
