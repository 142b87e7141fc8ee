# SPDX-License-Identifier: BSD-2-Clause
"""A damaged trace: what precedes the damage is analysed, one line says where it is, nothing crashes, every sum still holds."""

import json
import random
import re
import struct

import conservation
import gst
import pytest

PLACES = 12  # of each kind, spread over the file by a fixed seed


class Trace:
    def __init__(self, path):
        self.data = path.read_bytes()
        self.segments = gst.segments(self.data)
        self.records = [record for segment in self.segments for record in segment.records]


@pytest.fixture(scope="module")
def trace(recorder):
    """Three threads, so that there are several segments."""
    run = recorder.run(recorder.command("client_dlopen", "--seed", 9, "--threads", 3))
    (path,) = run.traces()
    return Trace(path)


@pytest.fixture(scope="module")
def whole(recorder, trace):
    status, report, _ = analyse(recorder, trace.data)
    assert status == 0
    return report


def analyse(recorder, data):
    """(exit status, report or None, the error lines) for a file of these bytes."""
    path = recorder.folder / "damaged.gst"
    path.write_bytes(data)
    done = recorder.gpushim("report", path, "--json")
    assert done.returncode in (0, 3), f"exit status {done.returncode}: {done.stderr}"
    report = json.loads(done.stdout) if done.stdout.strip() else None
    if report is not None:
        conservation.check(report)
    return done.returncode, report, done.stderr.splitlines()


def operations(report):
    return sum(device["operations"] for device in report["devices"])


def is_damage(recorder, data, whole, place):
    """Told in one line with file and byte; what precedes is there, and no more than the whole had."""
    status, report, errors = analyse(recorder, data)
    assert status == 3, f"{place}: exit status {status}"
    assert len(errors) == 1, f"{place}: {errors}"
    assert re.search(r"damaged\.gst: byte \d+: ", errors[0]), f"{place}: {errors[0]}"
    assert report is not None, f"{place}: nothing was analysed"
    assert operations(report) <= operations(whole), place


def flipped(data, byte, bit):
    damaged = bytearray(data)
    damaged[byte] ^= 1 << bit
    return bytes(damaged)


def sample(items, seed):
    items = list(items)
    return random.Random(seed).sample(items, min(PLACES, len(items)))


def test_independent_reader_agrees(trace, whole):
    """The counts of our own small reader are the report's."""
    calls, injected = gst.call_counts(trace.data)
    assert calls == {name: count for name, count in whole["calls"].items() if count}
    assert injected == {name: count for name, count in whole["injected"].items() if count}


def test_truncated_anywhere(recorder, trace, whole):
    used = trace.segments[-1]
    end = used.offset + gst.SEGMENT_BYTES
    assert end <= len(trace.data)
    places = [gst.SEGMENTS, gst.SEGMENTS + 1, used.offset, used.offset + 63, used.end(), end - 1]
    places += [random.Random(i).randrange(gst.SEGMENTS, end) for i in range(PLACES)]
    places += [record.offset + 4 for record in sample(trace.records, 1)]
    for at in places:
        is_damage(recorder, trace.data[:at], whole, f"cut at byte {at}")


def test_truncated_in_the_head(recorder, trace):
    """Too little is left to analyse anything: the error alone."""
    for at in [0, 1, 7, 8, 100, 4095, 4096, 8191, 8192, gst.SEGMENTS - 1]:
        status, report, errors = analyse(recorder, trace.data[:at])
        assert status == 3 and len(errors) == 1, f"cut at byte {at}: {status} {errors}"
        assert "damaged.gst" in errors[0]
        assert report is None or operations(report) == 0, f"cut at byte {at}"


def test_nothing_is_lost_when_the_unused_end_is_cut(recorder, trace, whole):
    end = trace.segments[-1].offset + gst.SEGMENT_BYTES
    status, report, _ = analyse(recorder, trace.data[:end])
    assert status == 0
    assert operations(report) == operations(whole)


@pytest.mark.parametrize("field, offset", [("type", 0), ("size", 2), ("check", 4), ("commit", 6)])
def test_flip_in_a_record_header(recorder, trace, whole, field, offset):
    rng = random.Random(field)
    for record in sample(trace.records, field):
        byte, bit = record.offset + offset + rng.randrange(2), rng.randrange(8)
        is_damage(recorder, flipped(trace.data, byte, bit), whole, f"{field} of the record at {record.offset}, bit {bit}")


def test_flip_in_the_file_header(recorder, trace):
    rng = random.Random(2)
    for byte in [0, 8, 12, 16, 24, 40, 48, 80, 2832, 4095] + [rng.randrange(4096) for _ in range(PLACES)]:
        status, _, errors = analyse(recorder, flipped(trace.data, byte, rng.randrange(8)))
        assert status == 3 and len(errors) == 1, f"byte {byte}: {status} {errors}"


def test_flip_in_a_segment_header(recorder, trace, whole):
    rng = random.Random(3)
    for segment in trace.segments:
        for offset in [0, 4, 8, 12, 16, 24, 28, 32, 48]:
            byte = segment.offset + offset
            place = f"byte {offset} of segment {segment.index}'s header"
            is_damage(recorder, flipped(trace.data, byte, rng.randrange(8)), whole, place)


def test_flip_in_the_directory(recorder, trace, whole):
    for segment in trace.segments:
        byte = gst.DIRECTORY + 4 * segment.index
        is_damage(recorder, flipped(trace.data, byte, 5), whole, f"directory entry {segment.index}")


def test_flip_in_a_payload(recorder, trace, whole):
    """Unnoticed or told, but never a crash, and the sums hold (analyse checks them)."""
    rng = random.Random(4)
    for record in sample(trace.records, 4) + sample(trace.records, 5) + sample(trace.records, 6):
        if record.size > gst.RECORD_HEADER:
            analyse(recorder, flipped(trace.data, record.offset + rng.randrange(gst.RECORD_HEADER, record.size), rng.randrange(8)))


def test_flip_in_the_counters(recorder, trace):
    rng = random.Random(5)
    for _ in range(PLACES):
        analyse(recorder, flipped(trace.data, gst.COUNTERS + rng.randrange(4096), rng.randrange(8)))


def test_unfinished_record_is_no_damage(recorder, trace):
    """A commit field of 0 is what a process killed in that record leaves."""
    for segment in trace.segments:
        last = segment.records[-1]
        damaged = bytearray(trace.data)
        struct.pack_into("<H", damaged, last.offset + 6, 0)
        status, report, errors = analyse(recorder, bytes(damaged))
        assert status == 0, f"{last}: {errors}"
        assert report is not None


def test_noise(recorder, trace):
    """Many places at once."""
    for seed in range(PLACES):
        rng, damaged = random.Random(seed), bytearray(trace.data)
        for _ in range(50):
            segment = rng.choice(trace.segments)
            damaged[rng.randrange(segment.offset, segment.end())] = rng.randrange(256)
        analyse(recorder, bytes(damaged))
