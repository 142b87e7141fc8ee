# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark behind scripts/bench-hooks measures what it says: with the shim a call costs something, past it nothing. scripts/bench-stacks, in small."""

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROW = re.compile(r"^(.*?) +(-?[0-9.]+)   +(-?[0-9.]+) to +(-?[0-9.]+)$", re.M)


@pytest.fixture
def bench(build, sim_env, tmp_path):
    def run(program, **env):
        sim_env.update(LD_LIBRARY_PATH=str(build / "bench"), GPUSHIM_OUT=str(tmp_path / "out"), **env)
        done = subprocess.run([build / "bench" / program], cwd=tmp_path, env=sim_env, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


@pytest.fixture
def hook_cost(bench):
    return lambda **env: {row[0]: float(row[1]) for row in ROW.findall(bench("hook_cost", **env))}


def test_a_recorded_call_costs_something(hook_cost, shim, gpushim, tmp_path):
    ratios = hook_cost(LD_PRELOAD=str(shim))
    assert ratios["two reads of the counter"] == 1
    assert len(ratios) == 14, ratios
    assert min(ratios.values()) > 0.2, ratios
    info = subprocess.run([gpushim, "info", tmp_path / "out"], capture_output=True, text=True, timeout=60).stdout
    assert "  trust        Trust it.\n" in info


def test_without_a_recorder_there_is_no_difference(hook_cost):
    ratios = hook_cost()
    calls = {name: ratio for name, ratio in ratios.items() if name.startswith("cu") and name != "cuStreamSynchronize"}
    assert len(calls) == 10, ratios
    assert all(abs(ratio) < 0.5 for ratio in calls.values()), ratios


def test_the_slowest_launches(bench, shim):
    """Each row is in order, and a recorded launch costs more than one that is not."""
    rows = {row[0]: [int(ns) for ns in row[1].split()]
            for row in re.findall(r"^(.*?)  +((?: *-?[0-9]+){5})$", bench("hook_tail", LD_PRELOAD=str(shim)), re.M)}
    assert len(rows) == 5, rows
    assert all(ns[1:] == sorted(ns[1:]) for ns in rows.values()), rows
    assert rows["recorded"][1] > rows["the driver alone"][1], rows


SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
BENCH_HOOKS = SCRIPTS / "bench-hooks"


@pytest.mark.parametrize("argument, status, to", [("--help", 0, "stdout"), ("-h", 0, "stdout"), ("--fast", 2, "stderr")])
def test_bench_hooks_says_how_it_is_used(tmp_path, argument, status, to):
    """And does nothing else: nothing is built. From any folder."""
    done = subprocess.run([BENCH_HOOKS, argument], cwd=tmp_path, env={**os.environ, "BUILD": str(tmp_path / "build")}, capture_output=True,
                          text=True, timeout=20)
    assert (done.returncode, len(done.stdout) > 0, len(done.stderr) > 0) == (status, to == "stdout", to == "stderr")
    text = getattr(done, to)
    assert text.startswith("usage: [BUILD=dir] [NO_LTTNG=1] scripts/bench-hooks\nbench-hooks: prints the cost of ")
    assert "set -euo" not in text and not (tmp_path / "build").exists()


def bench_stacks(build, tmp_path, *options):
    return subprocess.run([sys.executable, SCRIPTS / "bench-stacks", "--built", *options], cwd=tmp_path, env={**os.environ, "BUILD": str(build)},
                          capture_output=True, text=True, timeout=100)


def test_bench_stacks(build, tmp_path):
    """Each of its rows is there and makes sense: frames are what the programs have, in order, and nothing takes no time."""
    done = bench_stacks(build, tmp_path, "--rounds", "2", "--launches", "300", "--steps", "2")
    assert (done.returncode, done.stderr) == (0, "")
    ways = {row[0]: [float(n) for n in row[1:]] for row in re.findall(r"^(\S.*?) +(\d+) +([0-9.]+) +([0-9.]+) to ([0-9.]+)$", done.stdout, re.M)}
    assert {"two reads of the counter", "by unwinding tables", "by frame pointers", "libc's backtrace"} <= set(ways), done.stdout
    assert ways["two reads of the counter"][:2] == [0, 1]
    assert all(0 < low <= ratio <= high for _, ratio, low, high in ways.values())
    assert ways["by frame pointers"][0] == 31 and ways["by unwinding tables"][0] >= 30 and ways["by unwinding tables"][1] > 1
    frames, ratio, samples, stacks = map(float, re.search(
        r"^a sample of a Python program: (\d+) frames, (\d+) \([0-9.]+ us\); (\d+) samples, (\d+) different stacks$", done.stdout, re.M).groups())
    assert frames > 8 and ratio > 1 and samples >= 250 and 0 < stacks < samples  # 298 were seen on a busy machine
    demo = re.findall(r"^the demo, GPUSHIM_STACKS=(on|100%) against off, (wall|CPU) time: ([0-9.]+) \(([0-9.]+) to ([0-9.]+)\)$", done.stdout, re.M)
    assert [row[:2] for row in demo] == [("on", "wall"), ("on", "CPU"), ("100%", "wall"), ("100%", "CPU")]
    assert all(0 < float(low) <= float(middle) <= float(high) for *_, middle, low, high in demo)


@pytest.mark.parametrize("options, words", [(["--rounds", "1"], "--rounds needs 2 or more"), (["--fast"], "unrecognized arguments: --fast")])
def test_bench_stacks_refuses(build, tmp_path, options, words):
    done = bench_stacks(build, tmp_path, *options)
    assert (done.returncode, done.stdout) == (2, "") and words in done.stderr


def test_bench_scale_in_small(build, tmp_path):
    """Each way is measured, and what it says follows from what was measured."""
    subprocess.run([SCRIPTS / "bench-scale", "--built", "--steps", "200,600", "--rounds", "1", "--folder", tmp_path, "--json", tmp_path / "rows.json", "--markdown"],
                   env={**os.environ, "BUILD": str(build)}, check=True, capture_output=True, timeout=100)
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert [row["steps"] for row in rows] == [200, 600] and rows[0]["records"] < rows[1]["records"] < 600 * 500
    for row in rows:
        assert 20_000 < row["page_bytes"] < 20_000_000 and row["file_bytes"] > 64 * row["records"]
        for way in ("report", "64 MB", "json", "html"):
            assert row[way]["cpu_s"] > row["cat"]["cpu_s"] and 0 <= row[way]["own_bytes_per_record"] < row[way]["peak_bytes_per_record"]
    assert list(tmp_path.iterdir()) == [tmp_path / "rows.json"], "the recordings are gone"


@pytest.mark.parametrize("arguments", [["--rounds", "0"], ["--steps", "0"], ["--steps", "many"]])
def test_bench_scale_says_how_it_is_used(arguments):
    done = subprocess.run([SCRIPTS / "bench-scale", *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and "--rounds is 1 or more" in done.stderr


def test_bench_analyzer_in_small(build, tmp_path):
    """What it says follows from what was measured; the sweep sees each operation; a kind without gaps has none but its waits'."""
    done = subprocess.run([SCRIPTS / "bench-analyzer", "--built", "--steps", "300", "--rounds", "2", "--long", "400", "--folder", tmp_path, "--json", tmp_path / "rows.json"],
                          env={**os.environ, "BUILD": str(build)}, check=True, capture_output=True, text=True, timeout=200)
    made = json.loads((tmp_path / "rows.json").read_text())
    assert [row["kind"] for row in made["rows"]] == ["fed", "waits", "gaps"]
    assert [row["operations"] for row in made["rows"]] == [300 * 402 + 30, 300 * 403, 300 * 403], "a step is 400 kernels, its batch, a memset; and the loss"
    assert made["rows"][0]["records"] < made["rows"][1]["records"] < made["rows"][2]["records"]
    for row in made["rows"]:
        assert row["operations"] == row["sweep"]["operations"] and 0 < row["sweep"]["parts"] < row["operations"]
        assert min(row["sweep"][name] for name in ("memcpy_s", "union_s")) > 0
        for form in ("text", "JSON"):
            one = row[form]["one core"]
            assert 0 < one["wall_s"] <= one["median_wall_s"] and one["own_bytes"] > 0
            assert 30_000 < one["operations_per_s"] < 1_000_000_000, "of the least time a whole report took, in seconds"
    assert made["long"]["steps"] == 400 and 0 < made["long"]["own_bytes"] < 256e6 and "GPUSHIM_MEMORY_MB=32" in done.stdout
    assert "text, M ops/s on one core" in done.stdout and list(tmp_path.iterdir()) == [tmp_path / "rows.json"], "what was made is gone"


def test_bench_analyzer_says_how_it_is_used():
    for arguments in (["--rounds", "0"], ["--steps", "0"], ["--kinds", "starved"], ["--kinds", ""], ["--long", "-1"]):
        done = subprocess.run([SCRIPTS / "bench-analyzer", *arguments], capture_output=True, text=True)
        assert done.returncode == 2 and "--rounds and --steps are 1 or more" in done.stderr


def test_bench_import_in_small(build, tmp_path):
    """Each way is measured, of made traces and of one's own, packed or not; and what it says follows from what was measured."""
    trace = tmp_path / "own.json.gz"
    subprocess.run([build / "tools/kineto_big", tmp_path / "own.json", "300"], check=True, capture_output=True)
    trace.write_bytes(gzip.compress((tmp_path / "own.json").read_bytes()))
    subprocess.run([SCRIPTS / "bench-import", "--built", "--launches", "2000", "--nsys", "3000", "--rounds", "1", "--ways", "parser,info,report",
                    "--folder", tmp_path, "--json", tmp_path / "rows.json", "--markdown", trace], env={**os.environ, "BUILD": str(build)}, check=True, capture_output=True, timeout=100)
    made, export, own = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert (made["name"], export["name"], own["name"]) == ("2,000 launches", "3,000 launches, Nsight", trace.name)
    assert 1800 * 2000 < made["bytes"] == made["file_bytes"] < 2100 * 2000
    assert 80 * 3000 < export["bytes"] == export["file_bytes"] < 130 * 3000
    assert own["bytes"] == (tmp_path / "own.json").stat().st_size > 5 * own["file_bytes"]
    for row in (made, export, own):
        for way in ("parser", "info", "report"):
            assert 0.01 < row[way]["rate_of_parser"] < 20 and 1 << 20 < row[way]["peak_bytes"] < 1 << 27
        assert row["parser"]["rate_of_parser"] == row["parser"]["cpu_rate_of_parser"] == 1
        assert (row["info"]["rate_of_parser"] > row["report"]["rate_of_parser"]) == (row["info"]["wall_s"] < row["report"]["wall_s"]), "more is faster"
    assert "hta" not in made and len(list(tmp_path.iterdir())) == 3, "what was made is gone"


def test_bench_import_says_how_it_is_used():
    for arguments in (["--rounds", "0"], ["--launches", "0"], ["--launches", "", "--nsys", ""], ["--nsys", "0"], ["--ways", "guess"]):
        done = subprocess.run([SCRIPTS / "bench-import", *arguments], capture_output=True, text=True)
        assert done.returncode == 2 and "--rounds is 1 or more" in done.stderr
