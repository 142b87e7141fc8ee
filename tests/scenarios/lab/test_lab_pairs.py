# SPDX-License-Identifier: BSD-2-Clause
"""Pairs in short: for some causes of the laboratory, healthy against faulty is a regression in the right row, with its evidence, and the other way round
an improvement. run_pairs.py has all of them."""

import copy
import re

import pairs
import pytest
from machine import once_in
from rig import Missing
from watching import why_not

SHORT = {"ebpf": ("read", "decode", "lock", "output", "module"), "none": ("sleep", "compute", "sync", "copy", "reduce")}


def causes(root):
    return set(re.findall(r'^CAUSE(?:_RULE)?\(\w+, "([\w-]+)"', (root / "analyzer/cause/causes.def").read_text(), re.M))


@pytest.mark.parametrize("how,name", [(how, name) for how, names in SHORT.items() for name in names])
def test_pair(build, root, disk, how, name):
    if how == "ebpf" and (reason := why_not(build, "ebpf")):
        pytest.skip(f"--host ebpf: {reason}")

    def attempt():
        try:
            forth, back, complaints = pairs.run(build, name, disk / name, how)
        except Missing as missing:
            pytest.skip(str(missing))
        assert (forth[0], back[0], complaints) == (1, 0, []), forth[1]["reason"]
        for device in forth[1]["devices"]:
            rows = {row["id"]: row["delta_ns"] for row in forth[1]["rows"] if row["device"] == device["device"]}
            assert device["comparable"] and sum(rows.get(cause, 0) for cause in causes(root)) == rows["idle"]
    once_in(3, attempt)


def test_each_cause_has_a_pair(root):
    """Those that the laboratory knows nothing of: profiler is another tool's, input-wait is what is said where nothing more is known."""
    assert {pair.row for pair in pairs.PAIRS.values()} - set(pairs.BUSY) == causes(root) - {"profiler", "input-wait", "unexplained"}


# ---- what complains ------------------------------------------------------------------------------------------------------------------------

def row(name, delta, verdict):
    return {"id": name, "delta_ns": delta, "verdict": verdict}


GOOD = {"verdict": "+", "reason": "host-sleep takes 8 ns more of a step (+8.0 %)", "rows": [row("step", 9, "+"), row("idle", 9, "+"), row("host-sleep", 8, "+"), row("host-lock", 1, "+"), row("copy", -3, "-")],
        "devices": [{"causes_appeared": ["host-sleep"], "gaps": [{"new": {"causes": {"host-sleep": 8}, "evidence": ["host-sleep, observed"]}}]}]}
BACK = {**GOOD, "verdict": "-", "rows": [row(one["id"], -one["delta_ns"], {"+": "-", "-": "+"}[one["verdict"]]) for one in GOOD["rows"]]}


def test_a_good_pair():
    assert list(pairs.complaints(pairs.PAIRS["sleep"], (1, GOOD), (0, BACK))) == []


@pytest.mark.parametrize("spoil,said", [
    (lambda forth, back: ((0, forth), (0, back)), "exit status 0"),
    (lambda forth, back: ((1, forth), (5, back)), "exit status 5"),
    (lambda forth, back: ((1, {**forth, "rows": forth["rows"][:2] + forth["rows"][3:]}), (0, back)), "first is host-lock"),
    (lambda forth, back: ((1, {**forth, "devices": [{"causes_appeared": [], "gaps": []}]}), (0, back)), "no evidence"),
])
def test_a_bad_pair(spoil, said):
    found = list(pairs.complaints(pairs.PAIRS["sleep"], *spoil(copy.deepcopy(GOOD), copy.deepcopy(BACK))))
    assert any(said in one for one in found), found
