# SPDX-License-Identifier: BSD-2-Clause
"""`export --folded` of every hand-written trace: well-formed for the tools that read it, and its sum is the idle time, exactly. A folder's
folded.txt is what it must be to the byte."""

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CASES = sorted(path.parent.name for path in HERE.glob("*/trace.txt"))
# What flamegraph.pl and inferno take for a line: frames, a blank, a number (^(.*)\s+(\d+)$).
LINE = re.compile(r"^(?P<frames>\S.*\S) (?P<ns>[1-9]\d*)$")


@pytest.mark.parametrize("name", CASES)
def test_folded(name, build, gpushim, tmp_path):
    run = tmp_path / "run"
    subprocess.run([build / "tools/gst_write", HERE / name / "trace.txt", run], check=True)
    folded = subprocess.run([gpushim, "export", run, "--folded", "-"], capture_output=True, text=True, check=True).stdout
    report = json.loads(subprocess.run([gpushim, "report", "--json", run], capture_output=True, text=True, check=True).stdout)
    causes = defaultdict(int)
    for line in folded.splitlines():
        match = LINE.match(line)
        assert match, line
        first, *_, last = match["frames"].split(";")
        assert all(match["frames"].split(";")), "no frame is empty"
        causes[first, last.strip("[]")] += int(match["ns"])
    wanted = {(f"device {d['device']}", cause): ns for d in report["devices"] for cause, ns in d["causes"].items() if ns}
    assert causes == wanted
    assert len({line.rsplit(" ", 1)[0] for line in folded.splitlines()}) == len(folded.splitlines()), "each stack once"
    sites = defaultdict(int)
    for site in report["call_sites"]:
        assert site["idle_ns"] == sum(site["causes"].values())
        sites[site["device"]] += site["idle_ns"]
    assert sites == {d["device"]: d["idle_ns"] for d in report["devices"] if d["gaps"]}
    if (HERE / name / "folded.txt").exists():
        assert folded == (HERE / name / "folded.txt").read_text()


def test_two_forms_need_two_places(build, gpushim, tmp_path):
    """One stream of both is neither."""
    run = tmp_path / "run"
    subprocess.run([build / "tools/gst_write", HERE / "stacks-python/trace.txt", run], check=True)
    for place in ("-", tmp_path / "both"):
        done = subprocess.run([gpushim, "export", run, "--chrome", place, "--folded", place], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "") and "would be written to one place" in done.stderr
        assert not (tmp_path / "both").exists()
