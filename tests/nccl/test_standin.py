# SPDX-License-Identifier: BSD-2-Clause
"""The stand-in for NCCL by itself: does it what NCCL's documentation says, and is its log true? Nothing is recorded here."""

import subprocess

import pytest
from nccl_ranks import COLLECTIVES, RANKS, Ranks, library_path

COUNT = 8  # of the clients' buffers
KERNEL = "ncclDevKernel_"


def run(recorder, case, program="client_linked", **how):
    return Ranks(recorder, program, case, **how).finish()


def line(what, values):
    return f"{what}: " + " ".join(f"{value:g}" for value in values)


def block(rank, first=0, count=COUNT):
    """What rank has in its buffer."""
    return [100 * rank + first + i for i in range(count)]


def expected_collectives(rank):
    ranks = range(RANKS)
    sums = [sum(block(r)[i] for r in ranks) for i in range(COUNT)]
    untouched = [-1] * COUNT
    gathered = [value for r in ranks for value in block(r)]
    return [
        line("sum", sums), line("max", block(RANKS - 1)), line("min", block(0)), line("avg", [s / RANKS for s in sums]),
        line("in place", sums), line("reduce", sums if rank == RANKS - 1 else untouched),
        line("reduce-scatter", [*block(RANKS - 1, COUNT * rank), -1]), line("broadcast", block(1)), line("bcast", block(0)),
        line("all-gather", gathered), line("all-to-all", [value for r in ranks for value in block(r, COUNT * rank)]),
        line("gather", gathered if rank == 0 else untouched * RANKS), line("scatter", block(0, COUNT * rank)),
        line("ring", block((rank - 1) % RANKS)), line("own operation", [sum((r + 1) * block(r)[i] for r in ranks) for i in range(COUNT)]),
        line("group", [*sums, *block(0), *(100 * r for r in ranks)]), line("with configuration", sums)
    ]


@pytest.mark.parametrize("program", ["client_linked", "client_dlopen"])
def test_every_collective_on_four_ranks(recorder, program):
    ranks = run(recorder, "collectives", program)
    for rank, printed in enumerate(ranks.printed()):
        lines = printed.splitlines()
        assert lines[0] == f"rank {rank} of {RANKS} on device {rank}"
        got = [text.removeprefix(f"rank {rank} ") for text in lines[1:]]
        assert [text for text in got if not text.startswith("prod:")] == expected_collectives(rank)
    assert not list((ranks.folder / "tmp").iterdir())  # the file to meet in has gone


def test_the_log_has_every_call_once_and_what_it_was_given(recorder):
    ranks = run(recorder, "collectives")
    comms = set()
    for rank in ranks.ranks:
        calls = rank.calls()
        moved = [call for call in calls if call["call"].removeprefix("nccl").removesuffix("Config") in COLLECTIVES]
        own = rank.calls(own=True)
        assert [call["call"] for call in own] == ["ncclBroadcast"]  # ncclBcast's
        assert [call["seq"] for call in sorted(moved + own, key=lambda call: call["begin_ns"])] == list(range(len(moved) + 1))
        assert {call["bytes"] for call in moved} == {4 * COUNT, 4} and {call["type"] for call in moved} == {7}
        assert [call["op"] for call in moved[:5]] == [0, 1, 2, 3, 4]
        assert [call["peer"] for call in calls if call["call"] in ("ncclSend", "ncclRecv")] == [(rank.number + 1) % 4, (rank.number - 1) % 4]
        comms |= {call["comm"] for call in moved}
        outer, nested = [call for call in calls if call["call"] == "ncclGroupStart"][1:]
        inside = [call for call in calls if call["group"] == outer["group"]]
        assert [call["depth"] for call in inside] == [1, 1, 2, 2, 2, 1, 1] and nested["group"] == 2
        assert all(call["begin_ns"] <= call["end_ns"] for call in calls)
    assert len(comms) == 1


def test_a_group_is_one_kernel(recorder):
    ranks = run(recorder, "collectives")
    for rank in ranks.ranks:
        launched, ran = rank.kernels(), rank.ran()
        assert [kernel["kernel"] for kernel in launched] == [op["name"] for op in ran]
        assert launched[-2]["calls"] == 3 and "Generic" in launched[-2]["kernel"]
        assert [kernel["calls"] for kernel in launched if "SendRecv" in kernel["kernel"]] == [1, 1, 1, 2]
        assert launched[0]["kernel"] == "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"


def test_no_kernel_ends_before_all_have_begun(recorder):
    """… and none needs as long as it takes to notice that late."""
    ranks = run(recorder, "train", options=["--steps", 10])
    rounds = list(zip(*(rank.ran() for rank in ranks.ranks)))
    assert len(rounds) == 3 + 3 * 10  # of each step: the buckets, the ring, the flag
    for together in rounds:
        assert len({op["name"] for op in together}) == 1
        if "SendRecv" not in together[0]["name"]:  # those wait for their neighbours alone
            last = max(op["start_ns"] for op in together)
            assert all(op["end_ns"] >= last + 20_000 for op in together)
            assert min(op["end_ns"] for op in together) - last < 2_000_000_000


def test_training(recorder):
    ranks = run(recorder, "train", options=["--steps", 2])
    for rank, printed in enumerate(ranks.printed()):
        assert printed.splitlines() == [f"rank {rank} step {step}: {1.5 * (step + 1):g} 4 {(rank - 1) % RANKS + 1}" for step in range(2)]


TWELVE = {0: "0c", 1: "0c", 2: "0c 00 00 00", 3: "0c 00 00 00", 4: "0c" + " 00" * 7, 5: "0c" + " 00" * 7, 6: "00 4a", 7: "00 00 40 41",
          8: "00 " * 6 + "28 40", 9: "40 41", 10: "54", 11: "4a"}


def test_every_type_of_number(recorder):
    for rank, printed in enumerate(run(recorder, "types").printed()):
        wanted = [" ".join((text.split() + ["ee"] * 8)[:8]) for text in TWELVE.values()]
        assert printed.splitlines() == [f"rank {rank} type {number}: {text}" for number, text in zip(TWELVE, wanted)]


def test_a_captured_collective_runs_each_time(recorder):
    values = [sum(block(r)[i] for r in range(RANKS)) for i in range(COUNT)]
    ranks = run(recorder, "graph")
    for rank, printed in zip(ranks.ranks, ranks.printed()):
        wanted = [line(f"rank {rank.number} graph", [value * RANKS**step for value in values]) for step in range(3)]
        assert printed.splitlines() == [*wanted, line(f"rank {rank.number} after", [value * 16 for value in values])]
        assert [op["graph"] for op in rank.ran()] == [1, 1, 1, None]


def test_several_devices_in_one_process(recorder):
    (printed,) = run(recorder, "all-devices", ranks=1).printed()
    assert printed.splitlines() == [line("rank 0 all devices", [16 * (4 * i + 6) for i in range(COUNT)])] * RANKS


def test_two_threads_with_a_communicator_each(recorder):
    ranks = run(recorder, "threads")
    for rank in ranks.ranks:
        assert rank.stdout.splitlines() == [line(f"rank {rank.number} thread", [16 * (4 * (10 * t + i) + 6) for i in range(COUNT)]) for t in range(2)]
        assert len({call["comm"] for call in rank.calls() if call["call"] == "ncclAllReduce"}) == 2
        assert len({op["stream"] for op in rank.ran()}) == 2


def test_split(recorder):
    sums = [2, 4, 2, 4]
    ranks = run(recorder, "split")
    for rank, printed in enumerate(ranks.printed()):
        wanted = [f"rank {rank} half: {1 - rank // 2} of 2", f"rank {rank} sum of its half: {sums[rank]}"]
        wanted += [f"rank {rank} sum of most: 3"] if rank < RANKS - 1 else []
        assert printed.splitlines() == [*wanted, f"rank {rank} sum of all: 4"]
    comms = [{call["comm"] for call in rank.calls() if call["call"] == "ncclAllReduce"} for rank in ranks.ranks]
    assert len(comms[0] & comms[2]) == 3 and len(comms[0] & comms[1]) == 2 and len(set.union(*comms)) == 4


def test_a_rank_that_fails_is_left_out(recorder):
    for rank, printed in enumerate(run(recorder, "shrink").printed()):
        rest = [f"rank {rank} rest: {rank} of 3", f"rank {rank} sum of the rest: 3"] if rank < RANKS - 1 else []
        assert printed.splitlines() == [f"rank {rank} sum: 4", *rest]


def test_abort_ends_the_wait(recorder):
    ranks = run(recorder, "abort")
    assert ranks.printed() == [f"rank {rank} is back\n" for rank in range(RANKS)]
    (op,) = ranks.ranks[0].ran()
    assert op["end_ns"] - op["start_ns"] >= 40_000_000  # the thread slept 50 ms


def test_a_communicator_that_does_not_block(recorder):
    ranks = run(recorder, "nonblocking")
    for rank in ranks.ranks:
        assert rank.stdout.splitlines() == [f"rank {rank.number} sum: {4 * step}" for step in range(3)]
        ends = [call for call in rank.calls() if call["call"] == "ncclGroupEnd"]
        assert [call["result"] for call in ends] == [7] * 3
        assert not {kernel["thread"] for kernel in rank.kernels()} & {call["thread"] for call in ends}


def test_what_is_refused(recorder):
    for rank, printed in enumerate(run(recorder, "errors").printed()):
        assert printed.splitlines() == ["invalid argument (run with NCCL_DEBUG=WARN for details)", f"rank {rank} sum: 8"]


def test_windows_are_registered_through_the_plt(recorder):
    ranks = run(recorder, "memory")
    for rank in ranks.ranks:
        assert rank.stdout == f"rank {rank.number} sum: 6\n"
        assert [call["call"] for call in rank.calls(own=True)] == ["ncclCommRegister", "ncclCommDeregister"]


def test_two_copies_of_the_library(recorder, build):
    other = recorder.new_folder() / "libnccl-of-somebody-else.so.2"
    other.write_bytes((build / "nccl" / "libnccl.so.2").read_bytes())
    ranks = run(recorder, "two-copies", options=["--library", other])
    for rank, printed in enumerate(ranks.printed()):
        lines = printed.splitlines()
        assert lines[:len(lines) // 2] == lines[len(lines) // 2:] and f"rank {rank} {expected_collectives(rank)[0]}" in lines


def test_python_by_ctypes(recorder):
    for rank, printed in enumerate(run(recorder, "vllm", "nccl_ctypes.py").printed()):
        assert printed == f"22809 {[float((rank - 1) % RANKS + i) for i in range(16)]}\n"


def test_two_ranks_on_one_device_are_refused(recorder):
    for rank in Ranks(recorder, "client_linked", "train", ranks=2, options=["--device", 1]).ranks:
        rank.finish()
        assert rank.status == 1 and "ncclCommInitRank(&comm, c->ranks, id, c->rank) is 5, not 0" in rank.stderr


def test_without_the_driver(recorder, build):
    """The version and the words need none."""
    done = subprocess.run([build / "nccl" / "client_version"], env=recorder.environment(shim=False, LD_LIBRARY_PATH=library_path(build)),
                          capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0", "22809", "4", "invalid usage (run with NCCL_DEBUG=WARN for details)"]
