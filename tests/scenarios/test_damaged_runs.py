# SPDX-License-Identifier: BSD-2-Clause
"""Runs of several files of which one is damaged, a process's or the host probes': exit status 3, one line that names the file, the byte and the
fact, and what the others and the part in front of the damage tell is analysed; every sum holds."""

import json
import random
import re
import subprocess

import conservation
import gst
import pytest

GOLDEN = ["chain-input-storage", "two-processes", "chain-host-lock"]
FIELDS = {"type": 0, "size": 2, "check": 4, "commit": 6}


@pytest.fixture(scope="module")
def written(root, build, tmp_path_factory):
    """name → its folder."""
    folders = {}

    def write(name):
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp(name)
            subprocess.run([build / "tools/gst_write", root / "tests/golden" / name / "trace.txt", folders[name]], check=True)
        return folders[name]

    return write


@pytest.fixture
def analyse(gpushim, written, tmp_path):
    """(exit status, report or None, lines of errors) of the run with this file's bytes changed."""
    def run(name, file=None, data=b""):
        for path in written(name).iterdir():
            (tmp_path / path.name).write_bytes(data if path.name == file else path.read_bytes())
        done = subprocess.run([gpushim, "report", "--json", tmp_path], capture_output=True, text=True)
        assert done.returncode in (0, 3), f"{file}: {done.returncode} {done.stderr}"
        report = json.loads(done.stdout) if done.stdout.strip() else None
        if report:
            conservation.check(report)
        return done.returncode, report, done.stderr.splitlines()

    return run


def files():
    second = {"two-processes": "host-200.gst"}
    return [(name, file) for name in GOLDEN for file in ("host-100.gst", second.get(name, "host-100.host.gst"))]


def damage(data):
    """(what, its bytes): cuts, and flips in the heads of records, by a fixed seed."""
    rng = random.Random(3)
    segments = gst.segments(data)
    records = [record for segment in segments for record in segment.records]
    for at in [segments[0].offset + 64, rng.choice(records).offset + 4, segments[-1].end() - 8]:
        yield f"cut at {at}", data[:at]
    for field, offset in FIELDS.items():
        record = rng.choice(records)
        flipped = bytearray(data)
        flipped[record.offset + offset] ^= 1 << rng.randrange(8)
        yield f"{field} of the record at {record.offset}", bytes(flipped)


@pytest.mark.parametrize(["name", "file"], files())
def test_one_damaged_file(name, file, analyse, written):
    status, whole, errors = analyse(name)
    assert (status, errors) == (0, [])
    data = (written(name) / file).read_bytes()
    for what, changed in damage(data):
        status, report, errors = analyse(name, file, changed)
        assert status == 3, f"{what}: exit status {status}"
        assert len(errors) == 1 and re.search(rf"{re.escape(file)}: byte \d+: .", errors[0]), f"{what}: {errors}"
        assert report is not None, what
        assert sum(d["operations"] for d in report["devices"]) <= sum(d["operations"] for d in whole["devices"]), what
        if file.endswith(".host.gst"):  # what the device did is not in it
            assert [(d["span_ns"], d["idle_ns"]) for d in report["devices"]] == [(d["span_ns"], d["idle_ns"]) for d in whole["devices"]], what


@pytest.mark.parametrize(["name", "file"], files())
def test_a_head_that_cannot_be_read(name, file, analyse, written):
    """The file is left out and told of; the others are analysed."""
    data = (written(name) / file).read_bytes()
    for changed in (b"", data[:100], bytes([data[0] ^ 1]) + data[1:]):
        status, report, errors = analyse(name, file, changed)
        assert status == 3 and len(errors) == 1 and file in errors[0], errors
        if file != "host-100.gst" or name == "two-processes":
            assert report and report["devices"], "there is another process"


@pytest.mark.parametrize(["name", "file"], files())
def test_a_payload(name, file, analyse, written):
    """A flip there is no damage: it may say another thing, and nothing crashes for it and all sums hold (analyse)."""
    data = (written(name) / file).read_bytes()
    rng = random.Random(4)
    for record in (record for segment in gst.segments(data) for record in segment.records):
        flipped = bytearray(data)
        flipped[record.offset + 8 + rng.randrange(max(1, record.size - 8))] ^= 1 << rng.randrange(8)
        status, _, errors = analyse(name, file, bytes(flipped))
        assert status == 0 or errors, record
