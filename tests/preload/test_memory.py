# SPDX-License-Identifier: BSD-2-Clause
"""Programs that fragment memory in a known way, through the driver, its pools, mapped ranges and a framework's allocator: the map, the figures
and the out-of-memory story are exactly those."""

import json
import subprocess

import pytest

MIB = 1 << 20
SIGNATURES = ["now", "first"]  # of PyTorch 2.0 and later; of 1.13


class Memory:
    """A finished run of client_memory: what it printed, and what the report says of its one device."""

    def __init__(self, run):
        assert run.status == 0, run.stderr
        lines = [line.split() for line in run.stdout.splitlines()]
        assert lines[-1][0] == "told"
        self.run = run
        self.at = {name: int(address) for name, address in (line for line in lines if len(line) == 2)}
        self.told = [int(word) for word in lines[-1][1:]]
        self.report = run.report()
        (self.entry,) = self.report["memory"]

    def pieces(self, story=0):
        """{address: [(offset in MiB, MiB, used)]} of the map."""
        return {int(one["address"], 0): [(offset / MIB, size / MIB, used) for offset, size, used in one["pieces"]]
                for one in self.entry["stories"][story]["map"]}

    def story(self, *keys, index=0):
        return [self.entry["stories"][index][key] for key in keys]


@pytest.fixture(scope="module")
def client(recorder):
    """words → a recorded run of the client, on a device of 256 MiB."""
    def run(words, signature="now", shim=True, **env):
        program = recorder.build / "torch"
        assert (program / "client_memory").exists(), "client_memory is not built: make tests"
        command = [str(program / "client_memory"), str(program / signature), *words.split()]
        return recorder.run(command, shim=shim, env={"SIMGPU_MEM_BYTES": 256 * MIB, "GPUSHIM_STACKS": "100%", **env})

    return run


def share(number):
    """As it is printed."""
    return float(f"{number:.9g}")


def use(allocated, reserved, largest):
    left = reserved - allocated
    return {"allocated_bytes": allocated * MIB, "reserved_bytes": reserved * MIB, "free_bytes": left * MIB,
            "largest_free_bytes": largest * MIB, "fragmentation": share(1 - largest / left if left else 0)}


def holds(use_, entry):
    assert {key: entry[key] for key in use_} == use_


def assert_asked_by_the_client(m):
    (where,) = m.story("asked_from")
    assert "client_memory.cc:" in where and " in act" in where


TEN = " ".join(f"take b{i} 2M" for i in range(10))
EVERY_SECOND = " ".join(f"give b{i}" for i in range(1, 10, 2))


@pytest.mark.parametrize("signature", SIGNATURES)
def test_framework(client, signature):
    """Ten blocks in a segment of 20 MiB, every second one given back; one of 150 MiB, given back, is cached; 120 MiB are cut from it. Then
    there is no room for 140: the driver refuses, nothing is wholly free, it refuses again."""
    words = f"step {TEN} {EVERY_SECOND} take big 150M give big take most 120M step take no 140M"
    m = Memory(client(words, signature))
    assert m.at["no"] == 0 and m.at["most"] == m.at["big"]
    assert m.entry["peak_allocated_bytes"] == 160 * MIB  # five blocks and the big one
    assert m.entry["peak_reserved_bytes"] == 170 * MIB
    assert m.entry["fragmentation"] == 0.8  # when the 150 were handed out 5 x 2 were free
    assert (m.entry["out_of_memory"], m.entry["retries"]) == (1, 0)
    holds(use(130, 170, 30), m.entry["end"])
    assert m.entry["framework"] == {"blocks_taken": 12, "blocks_given": 6, "refused": 1, "blocks_outside": 0,
                                    "allocated_bytes": 130 * MIB, "reserved_bytes": 170 * MIB}
    holds(use(130, 170, 30), m.entry["stories"][0])
    assert m.story("outcome", "by", "call", "asked_bytes", "refusals", "given_back_bytes") == \
        ["out-of-memory", "framework", "cuMemAlloc_v2", 140 * MIB, 2, 0]
    assert m.story("device_free_bytes", "device_total_bytes", "enough_if_defragmented") == [86 * MIB, 256 * MIB, False]
    assert_asked_by_the_client(m)
    assert m.pieces() == {m.at["b0"]: [(2 * i, 2, 1 - i % 2) for i in range(10)], m.at["most"]: [(0, 120, 1), (120, 30, 0)]}


@pytest.mark.parametrize("signature", SIGNATURES)
def test_framework_would_have_had_room(client, signature):
    """Four segments, each pinned by one block: 200 MiB are taken, 100 of them free in holes of 25; 110 do not fit."""
    fill = " ".join(f"take a{i} 40M take hold{i} 10M" for i in range(4))
    one = " ".join(f"take seg{i} 50M" for i in range(4)) + " " + " ".join(f"give seg{i}" for i in range(4))
    free = " ".join(f"give a{i}" for i in range(4))
    m = Memory(client(f"step {one} {fill} {free} step take no 120M", signature))
    assert m.at["no"] == 0
    assert m.entry["peak_reserved_bytes"] == 200 * MIB
    assert m.entry["fragmentation"] == 1 - 40 / 160
    holds(use(40, 200, 40), m.entry["stories"][0])
    assert m.story("device_free_bytes", "enough_if_defragmented") == [56 * MIB, True]
    assert m.pieces() == {m.at[f"seg{i}"]: [(0, 40, 0), (40, 10, 1)] for i in range(4)}


@pytest.mark.parametrize("signature", SIGNATURES)
def test_a_limit_of_the_frameworks_own(client, signature):
    """The driver is not asked; the framework alone says so, and who asked it is known all the same."""
    m = Memory(client("step limit 50M take a 30M take no 30M step", signature))
    assert (m.at["no"], m.entry["out_of_memory"]) == (0, 1)
    assert m.story("outcome", "by", "call", "asked_bytes", "refusals") == ["out-of-memory", "framework", "", 30 * MIB, 0]
    assert_asked_by_the_client(m)
    holds(use(30, 30, 0), m.entry["stories"][0])


def test_framework_retries(client):
    """What is cached goes back to the driver, and then there is room."""
    m = Memory(client("step take a 100M take b 100M give a give b step take c 200M step"))
    assert m.at["c"] != 0
    assert (m.entry["out_of_memory"], m.entry["retries"]) == (0, 1)
    assert m.story("outcome", "asked_bytes", "refusals", "ranges_given_back", "given_back_bytes") == ["retried", 200 * MIB, 1, 2, 200 * MIB]
    holds(use(0, 200, 100), m.entry["stories"][0]["before"])
    holds(use(200, 200, 0), m.entry["stories"][0])
    gaps = [cause for gap in m.report["devices"][0]["gaps"] for cause in gap["causes"] if cause["id"] == "allocator"]
    said = [text for cause in gaps for text in cause["evidence"]]
    assert any("the framework was refused 200.0 MiB, gave back 200.0 MiB and tried again" in text for text in said), said
    assert any("200.0 MiB reserved and free, largest piece 100.0 MiB, fragmentation 0.50" in text for text in said), said


def test_expandable_segments(client):
    """Blocks lie across mappings of 20 MiB; what is unmapped is what is wholly free."""
    m = Memory(client("step expand a 30M expand b 10M expand c 50M give a step expand no 180M"))
    start = m.at["a"]
    assert (m.at["b"], m.at["c"]) == (start + 30 * MIB, start + 40 * MIB)
    assert m.at["no"] == 0
    assert m.entry["out_of_memory"] == 1
    (ours,) = m.pieces().items()
    # Asked for 180, it mapped pieces behind until the device was full, gave back those that were wholly free, and mapped as many again.
    assert ours == (start, [(0, 30, 0), (30, 10, 1), (40, 50, 1), (90, 150, 0)])
    assert m.story("by", "call", "asked_bytes", "refusals") == ["framework", "cuMemCreate", 180 * MIB, 2]
    assert m.story("ranges_given_back", "given_back_bytes", "device_free_bytes") == [8, 160 * MIB, 16 * MIB]
    assert m.story("enough_if_defragmented") == [True]
    holds(use(60, 240, 150), m.entry["stories"][0])
    assert (m.entry["peak_allocated_bytes"], m.entry["peak_reserved_bytes"]) == (90 * MIB, 240 * MIB)
    assert m.entry["framework"]["reserved_bytes"] == 100 * MIB  # what it said at its last block, before


def test_what_the_framework_says_is_so(client):
    """At each block its own accounts and ours are the same: it is a check on the map."""
    m = Memory(client("step take a 300 take b 5M take c 9M give a take d 70M give c take e 100 give d empty take f 1M step"))
    f = m.entry["framework"]
    assert (f["allocated_bytes"], f["reserved_bytes"]) == (m.entry["end"]["allocated_bytes"], m.entry["end"]["reserved_bytes"])
    assert m.entry["end"]["allocated_bytes"] == 512 + 5 * MIB + MIB
    assert m.entry["end"]["reserved_bytes"] == 22 * MIB


@pytest.mark.parametrize("signature", SIGNATURES)
def test_the_real_function_is_told(client, signature):
    """Everything arrives where it was going, with the shim, without it and with the shim off; the host's memory is not on record."""
    words = "step take a 3M take b 5M host give a take no 300M"
    plain = client(words, signature, shim=False)
    assert plain.stdout.splitlines()[-1] == f"told 4 {5 * MIB + 4096} 1 {20 * MIB} 100"
    for env in ({}, {"GPUSHIM": "off"}):
        run = client(words, signature, **env)
        assert (run.status, run.stdout.splitlines()[-1], run.stderr) == (0, plain.stdout.splitlines()[-1], "")
    assert Memory(client(words, signature)).entry["framework"]["blocks_taken"] == 2


def test_driver(client):
    """Six ranges of 40 MiB, every second one freed; 130 are refused with 136 left, in no one piece as far as addresses go."""
    words = "step " + " ".join(f"alloc a{i} 40M" for i in range(6)) + " free a1 free a3 free a5 alloc no 140M step"
    m = Memory(client(words))
    assert m.at["no"] == 0
    assert_asked_by_the_client(m)
    assert (m.entry["peak_allocated_bytes"], m.entry["peak_reserved_bytes"]) == (240 * MIB, 240 * MIB)
    assert (m.entry["fragmentation"], m.entry["out_of_memory"]) == (0, 1)
    holds(use(120, 120, 0), m.entry["stories"][0])
    assert m.story("by", "asked_bytes", "refusals", "device_free_bytes", "device_total_bytes", "enough_if_defragmented") == \
        ["driver", 140 * MIB, 1, 136 * MIB, 256 * MIB, False]
    assert m.pieces() == {m.at[f"a{i}"]: [(0, 40, 1)] for i in (0, 2, 4)}
    assert [[line[1] / MIB, line[2] / MIB] for line in m.entry["course"]] == \
        [[n, n] for n in (40, 80, 120, 160, 200, 240, 200, 160, 120)]


def test_pool(client):
    """A chunk of 32 MiB in sixteen blocks of 2, every second one freed. Then nothing of 3 MiB fits that the device cannot give."""
    words = "step pool 1024M " + " ".join(f"async p{i} 2M" for i in range(16)) + " " + \
        " ".join(f"release p{i}" for i in range(1, 16, 2)) + " step alloc rest 220M async no 12M step"
    m = Memory(client(words))
    assert m.at["no"] == 0
    assert [m.at[f"p{i}"] - m.at["p0"] for i in range(16)] == [2 * MIB * i for i in range(16)]
    assert m.entry["peak_reserved_bytes"] == 252 * MIB
    assert m.entry["fragmentation"] == 1 - 2 / 16
    (pool,) = m.entry["pools"]
    assert (pool["reserved_bytes"], pool["peak_reserved_bytes"], pool["used_bytes"], pool["peak_used_bytes"]) == \
        (32 * MIB, 32 * MIB, 16 * MIB, 32 * MIB)
    holds(use(236, 252, 2), m.entry["stories"][0])
    assert m.story("call", "asked_bytes", "device_free_bytes", "enough_if_defragmented") == \
        ["cuMemAllocFromPoolAsync", 12 * MIB, 4 * MIB, True]
    assert m.pieces() == {m.at["p0"]: [(2 * i, 2, 1 - i % 2) for i in range(16)], m.at["rest"]: [(0, 220, 1)]}


def test_the_devices_own_pool(client):
    """It keeps nothing over a wait: what it holds is what the driver says when it is asked next."""
    m = Memory(client("step default a 10M default b 4M release a release b step default c 1M"))
    assert m.entry["peak_allocated_bytes"] == 14 * MIB
    assert m.entry["peak_reserved_bytes"] == 32 * MIB
    (pool,) = m.entry["pools"]
    assert (pool["used_bytes"], pool["peak_used_bytes"]) == (MIB, 14 * MIB)
    holds(use(1, 32, 18), m.entry["end"])  # 14 were handed out once; what lies beyond counts as one piece, wherever it is


def test_anothers_memory_where_a_pools_was(client):
    """The pool gives its chunk back at a wait, the driver's own allocation takes the place: what the pool had there counts no more."""
    m = Memory(client("step default a 14M release a step alloc big 32M default c 1M step"))
    assert m.at["big"] == m.at["a"]
    assert m.entry["peak_reserved_bytes"] == 64 * MIB
    holds(use(33, 64, 31), m.entry["end"])


def test_mapped(client):
    """Memory and addresses apart: what is mapped counts, whole; freed addresses leave no memory behind."""
    words = "step reserve r 512M map a r 0 40M map b r 40M 40M map c r 80M 40M unmap b map d r 200M 100M map no r 40M 80M step unmap a"
    m = Memory(client(words))
    assert m.at["no"] == 0
    assert (m.entry["peak_allocated_bytes"], m.entry["peak_reserved_bytes"], m.entry["out_of_memory"]) == (180 * MIB, 180 * MIB, 1)
    assert m.story("call", "asked_bytes", "device_free_bytes", "enough_if_defragmented") == ["cuMemCreate", 80 * MIB, 76 * MIB, False]
    r = m.at["r"]
    assert m.pieces() == {r: [(0, 40, 1)], r + 80 * MIB: [(0, 40, 1)], r + 200 * MIB: [(0, 100, 1)]}
    holds(use(140, 140, 0), m.entry["end"])


def test_text_and_tracks(client, recorder, tmp_path):
    """The page tells the story; the export has a counter track whose last value is the end."""
    run = client(f"step {TEN} {EVERY_SECOND} step take no 300M step")
    page = recorder.gpushim("report", "--full", run.out).stdout
    assert "allocated at most 20.0 MiB, reserved 20.0 MiB of 256.0 MiB" in page
    words = " ".join(page.split())
    assert "fragmentation 0.80: of 10.0 MiB reserved and free the largest piece was 2.0 MiB" in words
    assert "asked the framework for 300.0 MiB; refused: cuMemAlloc_v2" in words
    assert "10.0 MiB in use, 10.0 MiB free in 5 holes, the largest 2.0 MiB" in words
    (where,) = Memory(run).story("asked_from")
    assert where and f" at {where} " in words
    assert "what was free, wherever it lay, was 54.0 MiB too little" in words
    done = recorder.gpushim("export", run.out, "--chrome", tmp_path / "trace.json")
    assert done.returncode == 0, done.stderr
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    counters = [event["args"] for event in events if event["ph"] == "C"]
    assert counters[-1] == {"allocated": 10 * MIB, "reserved and free": 10 * MIB}
    assert max(args["allocated"] for args in counters) == 20 * MIB


def test_without_the_real_one(build, shim, tmp_path, sim_env):
    """A caller alone, where nobody defines the function: the call returns."""
    source = tmp_path / "alone.c"
    source.write_text('void told(void *p, long n, unsigned long a, unsigned long r, unsigned short d)\n'
                      '    __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE") __attribute__((weak));\n'
                      'int main(void) { if (told) told(&source_end, 5, 5, 5, 1); return told ? 7 : 8; }\n'
                      .replace("&source_end", "(void *)8"))
    subprocess.run(["cc", "-fPIC", "-o", tmp_path / "alone", source], check=True)
    env = {**sim_env, "LD_PRELOAD": str(shim), "GPUSHIM_OUT": str(tmp_path / "out")}
    assert subprocess.run([tmp_path / "alone"], env=env).returncode == 7
    assert subprocess.run([tmp_path / "alone"], env=sim_env).returncode == 8
