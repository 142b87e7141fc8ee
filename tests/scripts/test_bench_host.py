# SPDX-License-Identifier: BSD-2-Clause
"""scripts/bench-host, in small: each of its rows is there and makes sense; what it measures with counts right."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "scripts/bench-host"
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture(scope="module")
def ebpf(gpushim):
    """Skips where eBPF cannot follow: the report of `gpushim doctor` says why."""
    found = json.loads(subprocess.run([gpushim, "doctor", "--json"], capture_output=True).stdout)["host_probes"]
    if found["how"] != "ebpf":
        pytest.skip(f"host probes by {found['how']} here: {found['why']}")


def bench(build, tmp_path, *options):
    return subprocess.run([sys.executable, BENCH, "--built", *options], cwd=tmp_path, env={**os.environ, "BUILD": str(build)},
                          capture_output=True, text=True, timeout=100)


@root_only
def test_bench_host(build, tmp_path, ebpf):
    done = bench(build, tmp_path, "--rounds", "2", "--seconds", "0.2", "--flood-seconds", "1", "--json", "got.json")
    assert (done.returncode, done.stderr) == (0, "")
    got = json.loads((tmp_path / "got.json").read_text())
    assert got["schema"] == "gpushim.bench-host/1" and got["followed_by"] == "ebpf" and got["cpus"] == os.cpu_count()
    rows = {row["key"]: row for row in got["rows"]}
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows.values())
    assert all(row["what"] in done.stdout for row in rows.values())
    assert 1000 < rows["tree_switches_per_s"]["value"] < 11000
    assert 0 < rows["ebpf_share_of_cpu"]["value"] < 0.2 and 20 < rows["ebpf_run_ns"]["value"] < 20000
    assert 0 < rows["collector_share_of_cpu"]["value"] < 1
    assert 0.2 < rows["tree_cpu_ratio"]["value"] < 5
    assert 200 < rows["bystander_yield_alone_ns"]["value"] < rows["bystander_pipe_alone_ns"]["value"] < 100000
    assert 10 < rows["bystander_run_ns"]["value"] < 20000
    assert 0 < rows["anonymous_bytes"]["value"] <= 30e6 and rows["anonymous_bytes"]["held"] is True
    assert {key: row["limit"] for key, row in rows.items() if row["limit"] is not None} == {
        "ebpf_share_of_cpu": 0.01, "bystander_ns": 60, "flood_records_per_s": 500000, "flood_dropped": 0, "anonymous_bytes": 30000000}
    assert rows["flood_dropped"]["held"] == (rows["flood_dropped"]["value"] == 0)


@root_only
def test_a_limit_that_is_not_measured_is_not_held(build, tmp_path):
    """Looks at /proc have no eBPF programs, and nobody floods them."""
    done = bench(build, tmp_path, "--rounds", "1", "--seconds", "0.05", "--probes", "proc", "--check")
    assert (done.returncode, done.stderr) == (1, "")
    assert {line for line in done.stdout.splitlines() if line.endswith(": not measured")} == {
        f"{key}: not measured" for key in ("ebpf_share_of_cpu", "flood_dropped", "flood_records_per_s")}


@root_only
def test_a_flood_is_counted_to_the_last_switch(build, tmp_path, ebpf):
    """What the kernel's accounts have of the tree's switches is in the file, or was said to be lost."""
    done = subprocess.run([build / "bench/host_flood", tmp_path, "1", "50000"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    seconds, switches, written, dropped, _, anonymous_kb = map(float, done.stdout.split()[:6])
    assert done.stdout.split()[6] == "ebpf" and 1 <= seconds < 20
    assert 1000 < switches and 0 < anonymous_kb < 30000
    assert abs(written + dropped - switches) < 100  # those of the threads' beginning and end


def test_host_pair(build):
    """Both ways to take turns, as many switches as asked for."""
    done = subprocess.run([build / "bench/host_pair", "0"], input="2000 0 pipe\n1000 20000 pipe\n2000 0 yield\n500 0 pipe\n",
                          capture_output=True, text=True, timeout=60)
    pid, *rounds = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 0 and int(pid[0]) > 0
    assert [row[2] for row in rounds] == ["2000", "1000", "2000", "500"]
    for wall, cpu, _, lowest, low, middle in (map(float, row) for row in rounds):
        assert 0 < lowest <= low <= middle and cpu > 0 and wall > 0
    assert float(rounds[1][3]) > 20000 and float(rounds[1][1]) > 1000 * 20000


@pytest.mark.parametrize("options, words", [(["--rounds", "0"], "are more than 0"), (["--fast"], "unrecognized arguments: --fast"),
                                            (["--probes", "magic"], "invalid choice: 'magic'")])
def test_bench_host_refuses(build, tmp_path, options, words):
    done = bench(build, tmp_path, *options)
    assert (done.returncode, done.stdout) == (2, "") and words in done.stderr
