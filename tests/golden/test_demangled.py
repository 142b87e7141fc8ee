# SPDX-License-Identifier: BSD-2-Clause
"""C++ kernels bear the names that people know them by, wherever people see them; where a program reads, the symbol's own name stays."""

import json
import sqlite3
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SYMBOL = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_"
WHOLE = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
         "(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)")
SHORT = "vectorized_elementwise_kernel<4, CUDAFunctor_ad..."


@pytest.fixture(scope="module")
def run(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demangled")
    text = (HERE / "stacks-python/trace.txt").read_text()
    assert "kernel=step" in text
    (folder / "trace.txt").write_text(text.replace("kernel=step", f"kernel={SYMBOL}"))
    subprocess.run([build / "tools/gst_write", folder / "trace.txt", folder / "run"], check=True)
    return folder / "run"


def test_terminal(run, gpushim):
    why = subprocess.run([gpushim, "report", run, "--why", "0"], capture_output=True, text=True, check=True).stdout
    assert f"after    {SHORT} in stream" in why
    assert "_ZN" not in why


def test_chrome(run, gpushim):
    events = json.loads(subprocess.run([gpushim, "export", run, "--all", "--chrome", "-"], capture_output=True, check=True).stdout)["traceEvents"]
    assert {e["name"] for e in events if e.get("cat") == "kernel"} == {WHOLE}
    assert "_ZN" not in json.dumps(events)


def test_json_has_both(run, gpushim):
    report = json.loads(subprocess.run([gpushim, "report", "--json", run], capture_output=True, check=True).stdout)
    assert {(s["kernel"], s["demangled"]) for s in report["launch_sites"]} == {(SYMBOL, WHOLE)}


def test_sqlite(run, gpushim, tmp_path):
    subprocess.run([gpushim, "export", run, "--sqlite", tmp_path / "x.db"], check=True)
    with sqlite3.connect(tmp_path / "x.db") as db:
        assert db.execute("SELECT DISTINCT n.text FROM operations o JOIN strings n ON n.string = o.name").fetchall() == [(WHOLE,)]
        assert db.execute("SELECT count(*) FROM strings WHERE text LIKE '\\_ZN%' ESCAPE '\\'").fetchone() == (0,)
