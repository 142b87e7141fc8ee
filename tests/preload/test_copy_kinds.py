# SPDX-License-Identifier: BSD-2-Clause
"""From where to where each copy went, as the recorder has it, is what the driver's own log says: through every family of calls."""

import collections
import json

import pytest

NAMES = {"Memcpy HtoD (Pageable -> Device)": "h2d-pageable", "Memcpy HtoD (Pinned -> Device)": "h2d-pinned",
         "Memcpy DtoH (Device -> Pageable)": "d2h-pageable", "Memcpy DtoH (Device -> Pinned)": "d2h-pinned",
         "Memcpy DtoD (Device -> Device)": "d2d", "Memcpy PtoP (Device -> Device)": "peer"}


@pytest.fixture(scope="module")
def run(recorder):
    run = recorder.run(recorder.command("copy_kinds_linked"), env={"SIMGPU_DEVICES": 2})
    assert (run.status, run.stdout, run.stderr) == (0, "35 copies\n", "")
    return run


def test_kinds(recorder, run):
    """In order, too: they were all put into one stream, but for those that wait."""
    log = [json.loads(line) for line in run.truth.read_text().splitlines()]
    trace = run.folder / "trace.json"
    assert recorder.gpushim("export", run.out, "--chrome", trace, "--all").returncode == 0
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event.get("cat") == "gpu_memcpy"]
    true = collections.Counter(entry["kind"] for entry in log if entry.get("op") == "memcpy")
    assert collections.Counter(NAMES.get(event["name"], event["name"]) for event in events) == true
    assert set(true) == set(NAMES.values()) and sum(true.values()) == 35
    alone = (entry for entry in log if entry.get("op") == "memcpy" and entry["graph"] is None)
    by_call = [entry["kind"] for entry in sorted(alone, key=lambda entry: entry["submit_ns"])]
    calls = sorted((event for event in events if "graph" not in event["args"]), key=lambda event: event["args"]["correlation"])
    assert [NAMES[event["name"]] for event in calls] == by_call


def test_they_are_told_apart(run):
    """Every kind has its own key where it is exposed; together they are all of it."""
    device = run.report()["devices"][0]
    assert sum(device["copy"].values()) == device["copy_exposed_ns"] > 0
    assert min(device["copy"][key] for key in ("copy-h2d-pageable", "copy-d2h", "copy-d2d", "copy-peer")) > 0, device["copy"]


def test_no_question_more_than_needed(run):
    """Each end: what it is, whose, and where that differs whether it is managed. How much of that is remembered depends on the addresses."""
    injected = run.report()["injected"]
    assert 0 < injected["cuPointerGetAttribute"] <= 35 * 6, injected


def test_no_question_where_one_device_is_used(recorder):
    """Many processes see several devices: whose memory it is matters once there is another's."""
    run = recorder.run(recorder.command("copy_kinds_linked", "near"), env={"SIMGPU_DEVICES": 2})
    assert (run.status, run.stdout, run.stderr) == (0, "100 copies\n", "")
    report = run.report()
    assert report["injected"].get("cuPointerGetAttribute", 0) == 0, report["injected"]
    assert report["devices"][0]["copy"]["copy-d2d"] > 0
