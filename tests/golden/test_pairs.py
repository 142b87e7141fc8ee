# SPDX-License-Identifier: BSD-2-Clause
"""Every cause has two golden traces: one in which it fires, and one, <the same name>-not, in which it must not. They are called cause-<id>, where
the recorder's own records prove it (or, where they cannot, another tool's), or chain-<id>, where host probes do."""

import json
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROWS = re.findall(r'^CAUSE(_RULE)?\((\w+), "([a-z-]+)"', (HERE.parent.parent / "analyzer/cause/causes.def").read_text(), re.M)


def expected_ns(case, cause):
    """What the case says that the cause owns, over all devices; None where it says nothing."""
    path = HERE / case / "expected.json"
    devices = json.loads(path.read_text()).get("devices", []) if path.exists() else []
    said = [device["causes"][cause] for device in devices if cause in device.get("causes", {})]
    return sum(said) if said else None


def test_the_list(build, gpushim, tmp_path):
    subprocess.run([build / "tools/gst_write", HERE / "clean/trace.txt", tmp_path], check=True)
    done = subprocess.run([gpushim, "report", "--json", tmp_path], capture_output=True, text=True, check=True)
    assert [id for _, _, id in ROWS] == list(json.loads(done.stdout)["devices"][0]["causes"])
    assert all(name == id.replace("-", "_") for _, name, id in ROWS)


@pytest.mark.parametrize("rule, cause", [(rule, cause) for rule, _, cause in ROWS])
def test_pair(rule, cause):
    pairs = [f"{kind}-{cause}" for kind in ("cause", "chain") if (HERE / f"{kind}-{cause}").is_dir()]
    assert pairs, f"no golden case of {cause}"
    assert not rule or cause == "input-preprocess" or f"cause-{cause}" in pairs, "a rule of its own is shown without host probes"
    for case in pairs:
        assert expected_ns(case, cause), f"{case} does not say how long {cause} is"
        assert expected_ns(f"{case}-not", cause) == 0, f"{case}-not does not say that it is no {cause}"


# What the rules of attribution say, each shown by two cases that differ in one thing: (case, cause, does it own any of the idle time?).
RULES = [
    ("rule-blocking", "allocator", True), ("rule-blocking-not", "allocator", False),  # exposed is not blocking
    ("cause-device-dependency-stream", "device-dependency", True), ("cause-device-dependency-occupant-not", "device-dependency", False),  # nor is an occupant
    ("rule-submitter", "host-sleep", False), ("rule-submitter-not", "host-sleep", True),  # the thread that ends the gap is asked
    ("rule-innocent", "allocator", False), ("rule-innocent-not", "allocator", True),  # it cannot be late with what was there before the gap
]


@pytest.mark.parametrize("case, cause, owns", RULES)
def test_rule(case, cause, owns):
    ns = expected_ns(case, cause)
    assert ns is not None and (ns > 0) == owns
