# SPDX-License-Identifier: BSD-2-Clause
"""A program that launches ten million times: what the recorder holds is what it held after the first million."""

import json
import subprocess

import pytest


@pytest.mark.parametrize("level", ["edges", "bursts"])
def test_ten_million_launches(level, build, shim, gpushim, sim_env, tmp_path):
    """Memory, address space and mappings stay as they are but for a segment or two, no pool of events is outgrown, the file keeps to its limit."""
    sim_env.update(LD_LIBRARY_PATH=str(build / "bench"), LD_PRELOAD=str(shim), GPUSHIM_OUT=str(tmp_path / "out"),
                   GPUSHIM_DEVICE=level, GPUSHIM_LIMIT="16M")
    done = subprocess.run([build / "bench" / "endless", "10"], env=sim_env, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    _, first, last = [[int(number) for number in line.split()] for line in done.stdout.splitlines()]
    assert last[0] - first[0] <= 64, "kB of anonymous memory"
    # a segment more or less is being made ready or given up
    assert abs(last[1] - first[1]) <= 1024 and abs(last[2] - first[2]) <= 4, (first, last)
    report = subprocess.run([gpushim, "report", "--json", tmp_path / "out"], capture_output=True, text=True, timeout=60)
    answer = json.loads(report.stdout)
    assert answer["losses"]["calls_recycled"] + sum(answer["calls"].values()) >= 10_000_000
    assert answer["losses"]["records_dropped"] == 0
    assert 10_000 <= answer["injected"]["cuEventRecord"] <= 200_000 + 2 * 10_000  # 2 % of the launches, or 2 for each wait
    assert answer["injected"]["cuEventCreate"] <= 256
    assert sum(trace.stat().st_size for trace in (tmp_path / "out").glob("*.gst")) <= 17 << 20
