# SPDX-License-Identifier: BSD-2-Clause
"""scripts/prove-bursts says yes only of what it has seen, and counts the recorder's own events."""

import importlib.machinery
import importlib.util
import json

import pytest


@pytest.fixture
def prove(root):
    path = str(root / "scripts/prove-bursts")
    loader = importlib.machinery.SourceFileLoader("prove_bursts", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("prove_bursts", loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def without_tinygrad(prove, monkeypatch):
    monkeypatch.setattr(prove.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(prove, "one_run", lambda *args: {"likely": True, "unresolved": True, "width": 0.01, "off": 0, "edges": 0.5,
                                                         "injected": 0.01, "of_bound": 0.9, "idle": 0.5, "bursts": 9})
    return prove


def test_a_missing_program_is_no_success(without_tinygrad, capsys):
    assert without_tinygrad.main(["--programs", "tinygrad"]) == 1
    assert without_tinygrad.main(["--programs", "streams,tinygrad", "--runs", "1"]) == 1
    assert "tinygrad      is not installed" in capsys.readouterr().out


def test_unless_told_otherwise(without_tinygrad):
    assert without_tinygrad.main(["--programs", "streams,tinygrad", "--runs", "1", "--leave-out-missing"]) == 0
    assert without_tinygrad.main(["--programs", "tinygrad", "--leave-out-missing"]) == 1, "nothing was run"


@pytest.mark.parametrize("words", [["--programs", ""], ["--programs", "streams,no-such"], ["--settings", ""], ["--runs", "0"]])
def test_nothing_to_run_is_a_mistake(prove, words):
    with pytest.raises(SystemExit) as ended:
        prove.main(words)
    assert ended.value.code == 2


@pytest.mark.parametrize("key, value", [("width", 0.06), ("of_bound", 1.01), ("likely", False), ("unresolved", False)])
def test_each_of_them_is_judged(without_tinygrad, monkeypatch, key, value):
    found = without_tinygrad.one_run()
    monkeypatch.setattr(without_tinygrad, "one_run", lambda *args: {**found, key: value})
    assert without_tinygrad.main(["--programs", "graphs", "--settings", "plain", "--runs", "2"]) == 1


def report(submissions=10_000, streams=2, span_ns=1_000_000_000, **calls):
    return {"calls": calls, "devices": [{"bursts": {"submissions": submissions}, "streams": streams, "span_ns": span_ns}]}


def test_what_is_allowed(prove):
    nothing, pairs = prove.Truth(0, 0, False), prove.Truth(0, 5, True)
    assert prove.most_events(report(cuCtxSynchronize=1), nothing, "launch-bound") == 200
    assert prove.most_events(report(cuCtxSynchronize=1), nothing, "streams") == 200 + 8 + 10
    assert prove.most_events(report(cuStreamSynchronize=90, cuMemcpyHtoD_v2=10, cuMemcpyHtoDAsync_v2=99), nothing, "streams") == 400 + 8 + 10
    assert prove.most_events(report(cuStreamSynchronize=95), pairs, "streams") == 400 + 8 + 10 + 2 * 2 * (4 + 1000)


def test_what_a_log_says(prove, tmp_path):
    def op(kind, start, end, **more):
        return {"op": "memcpy", "kind": kind, "device": 0, "start_ns": start, "end_ns": end, "bytes": 64, **more}

    log = tmp_path / "truth.json"
    lines = [op("", 100, 200, op="kernel"), op("d2h-pageable", 150, 300), op("h2d-pinned", 500, 600), op("d2d", 0, 9999, device=1)]
    log.write_text("\n".join(map(json.dumps, [*lines, {"calls": {}}])))
    assert prove.read_truth(log) == prove.Truth(200, 1, False)
    log.write_text("\n".join(map(json.dumps, [*lines, op("h2d-pinned", 600, 700, bytes=1 << 18), {"calls": {}}])))
    assert prove.read_truth(log).with_pairs
