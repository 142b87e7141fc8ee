# SPDX-License-Identifier: BSD-2-Clause
"""A recording of many segments is read by several threads, each a part of the file, and what lies between is folded (launches.h): what is reported is the
same, whatever the number of threads, and whether launches are told by themselves or in rows."""

import json
import os
import shutil
import struct
import subprocess

import pytest

SEGMENTS, SEGMENT, SEGMENT_HEADER = 270336, 256 * 1024, 64
KINDS = {"fed": ["0", "tsc", "loss=10", "blocks=0"], "waits": ["1", "tsc"], "gaps": ["8"], "beside": ["1", "tsc", "blocks=0", "beside=3"]}
STEPS = 700


@pytest.fixture(scope="module")
def big(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("big")
    for kind, arguments in KINDS.items():
        subprocess.run([build / "tools/gst_big", folder / f"{kind}.gst", str(STEPS), "400", *arguments], check=True, capture_output=True)
    yield folder
    shutil.rmtree(folder)


def report(gpushim, *arguments, threads, memory_mb=None, status=0):
    env = {**os.environ, "GPUSHIM_THREADS": str(threads), **({"GPUSHIM_MEMORY_MB": str(memory_mb)} if memory_mb else {})}
    done = subprocess.run([gpushim, "report", *arguments], env=env, capture_output=True, timeout=100)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_nothing(gpushim, big, kind):
    trace = big / f"{kind}.gst"
    assert trace.stat().st_size > 64 * SEGMENT, "each of two threads has its part"
    one, _ = report(gpushim, trace, "--json", threads=1)
    assert sum(device["operations"] for device in json.loads(one)["devices"]) >= STEPS * 402
    for threads in (2, 4):
        assert report(gpushim, trace, "--json", threads=threads)[0] == one


@pytest.mark.parametrize("kind", KINDS)
def test_folding_changes_nothing(gpushim, big, tmp_path, kind):
    """For a page each launch is told by itself. The JSON beside it says the same as the one of rows; so it does where arrays lie in a file."""
    trace = big / f"{kind}.gst"
    folded, _ = report(gpushim, trace, "--json", threads=2)
    assert report(gpushim, trace, "--json", "--html", tmp_path / "page.html", threads=2)[0] == folded
    assert report(gpushim, trace, "--json", threads=2, memory_mb=8)[0] == folded


@pytest.mark.parametrize("threads", (1, 2, 4))
@pytest.mark.parametrize("where", (0.2, 0.5, 0.8))
def test_damage_is_found_by_whoever_reads_it(gpushim, big, tmp_path, where, threads):
    """A flip in a record's header, in the middle of a segment: one thread or four, what comes before it is reported, and the byte is named."""
    trace = tmp_path / "damaged.gst"
    whole = (big / "fed.gst").read_bytes()
    at = SEGMENTS + int(len(whole) * where) // SEGMENT * SEGMENT + SEGMENT_HEADER
    for _ in range(500):  # on to the middle of it
        kind, size = struct.unpack_from("<HH", whole, at)
        assert kind and size
        at += size
    trace.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1:])
    told, said = report(gpushim, trace, "--json", threads=threads, status=3)
    assert f"byte {at}:".encode() in said and len(said.splitlines()) == 1
    assert told == report(gpushim, trace, "--json", threads=1, status=3)[0]
    assert 0 < sum(device["operations"] for device in json.loads(told)["devices"]) < STEPS * 403
