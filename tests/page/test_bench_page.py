# SPDX-License-Identifier: BSD-2-Clause
"""scripts/bench-page, in small: it measures what it says, of the page with that many gaps."""

import json
import os
import subprocess


def test_bench_page(browser, build, root, tmp_path):
    done = subprocess.run([root / "scripts/bench-page", "--built", "--gaps", "3000", "--rounds", "2", "--redraws", "2", "--json", tmp_path / "rows.json"],
                          env=dict(os.environ, BUILD=str(build)), capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "rows.json").read_text())
    rows = {row["what"].split(",")[0]: row for row in made["rows"]}
    assert made["gaps"] == 3000 and rows["intervals"]["value"] > 9000  # each gap, kernel and call is one
    views = [rows[f"a redraw of {view}"] for view in ("all of it", "a tenth", "a hundredth", "a thousandth")]
    assert all(0 < row["low"] <= row["value"] <= row["high"] for row in views)
    assert rows["the page"]["value"] > 100_000 and rows["opened until all is drawn"]["value"] > 0
    assert done.stdout.count("\n") == len(rows) + 1 and "3,000 gaps" in done.stdout


def test_bench_page_says_how_it_is_used(root):
    done = subprocess.run([root / "scripts/bench-page", "--rounds", "1"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "--rounds is 2 or more" in done.stderr
