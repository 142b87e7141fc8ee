# SPDX-License-Identifier: BSD-2-Clause
"""Every array that may lie in a file lies there: what is said is the same, and nobody gives such an array to the wrong free()."""

import os
import subprocess

import pytest

NAMES = ["bursts-of-another-device", "cause-device-dependency-event", "chain-input-storage", "cupti-graph", "four-devices", "graph-conditional",
         "host-function", "killed", "memory-framework", "nccl", "ranks-straggler", "recycled", "stacks-python", "steps-by-launches", "two-processes"]
WAYS = [("report",), ("report", "--json"), ("info",), ("report", "--html", "page.html"), ("export", "--chrome", "-")]


def run(gpushim, trace, folder, command, *options, **variables):
    """What it printed, and the file it wrote if any."""
    done = subprocess.run([gpushim, command, trace, *options], cwd=folder, capture_output=True, env={**os.environ, **variables})
    page = folder / "page.html"
    wrote = page.read_bytes() if page.exists() else b""
    page.unlink(missing_ok=True)
    return done.stdout + wrote, done.returncode, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_in_files(root, build, gpushim, tmp_path, name):
    trace = tmp_path / "trace"
    subprocess.run([build / "tools/gst_write", root / "tests/golden" / name / "trace.txt", trace], check=True)
    for way in WAYS:
        plain = run(gpushim, trace, tmp_path, *way)
        assert plain[0] and plain == run(gpushim, trace, tmp_path, *way, GPUSHIM_MEMORY_MB="0", TMPDIR=str(tmp_path)), way
