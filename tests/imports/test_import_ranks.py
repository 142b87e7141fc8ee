# SPDX-License-Identifier: BSD-2-Clause
"""Collectives of several ranks, each with a trace of PyTorch's profiler: which of their time is waiting for the last rank, by a truth that is
known to the nanosecond. Two ranks; rank 1 comes last to each all-reduce but the first, by 100 us more each time."""

import json
import random
import subprocess

import pytest

STEPS, PERIOD, TRANSFER = 12, 5_000, 400  # us
NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def late(step):
    """How much later than the other rank comes: rank 0 in the first step, rank 1 in the others."""
    return -50 if step == 0 else 100 * step


WAITS = [sum(max(0, late(step)) for step in range(STEPS)), sum(max(0, -late(step)) for step in range(STEPS))]


class Rank:
    """One process and one device. offset_us: its clock's, drift_ppm: and its rate."""

    def __init__(self, number, host, offset_us=0, drift_ppm=0.0):
        self.number, self.host, self.offset_us, self.drift = number, host, offset_us, drift_ppm * 1e-6
        self.events, self.correlation = [], 0

    def own(self, us):
        return round(us + self.offset_us + us * self.drift, 3)

    def add(self, category, name, begin, length, **args):
        pid, tid = (0, args["stream"]) if category == "kernel" else (1000 + self.number, 1000 + self.number)
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": self.own(begin),
                            "dur": round(self.own(begin + length) - self.own(begin), 3), "args": args})

    def launch(self, at, name, begin, length, stream, **said):
        self.correlation += 1
        self.add("cuda_runtime", "cudaLaunchKernelExC", at, 4, correlation=self.correlation)
        self.add("kernel", name, begin, length, correlation=self.correlation, device=self.number, stream=stream, context=1, **said)

    def collective(self, at, begin, length, said, by_call, by_kernel, stream=20):
        if by_call:
            self.add("cpu_op", "record_param_comms", at - 3, 20, **said)
            self.add("user_annotation", "nccl:all_reduce", at - 1, 15)
        self.launch(at, NAME, begin, length, stream, **(said if by_kernel else {}))

    def write(self, path, world=2, **more):
        about = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": self.number, "world_size": world}, **more}
        if self.host:
            about.update(hostname=self.host, baseTimeNanoseconds=1_700_000_000_000_000_000)
        path.write_text(json.dumps({**about, "traceEvents": self.events}))


BASE = 1_700_000_000_000_000_000


def windows(gpushim, folder, host, seq, windows_of=lambda rank: (0, 1), apart_us=5_000_000, restarted=False, **more):
    """Two ranks, each with as many traces: rank.window.json, of the same collectives. restarted: their numbers begin anew in each."""
    for window in (0, 1):
        ranks = [Rank(number, host) for number in (0, 1)]
        trained(ranks, seq=seq, later=window * apart_us, seq_later=0 if restarted else 100 * window)
        for rank in ranks:
            if window in windows_of(rank.number):
                rank.write(folder / f"{rank.number}.{window}.json", **more)
    done = {option: subprocess.run([gpushim, *option.split(), folder], capture_output=True, text=True) for option in ("report --json", "report", "report --trust", "info")}
    assert all(d.returncode == 0 for d in done.values()), done
    said = json.loads(done.pop("report --json").stdout)
    return said, {option: " ".join(d.stdout.split()) for option, d in done.items()}


def params(step, elements=1000, group="0", ranks="[0, 1]", seq=True, **more):
    said = {"Collective name": "allreduce", "In msg nelems": elements, "Out msg nelems": elements, "Group size": 2, "dtype": "Float",
            "Process Group Name": group, "Process Group Ranks": ranks, "Process Group Description": "default_pg", **more}
    return {**said, "Seq": 7 + step} if seq else said


def trained(ranks, by_call=True, by_kernel=True, seq=True, steps=lambda rank: range(STEPS), elements=lambda rank, step: 1000, later=0, seq_later=0):
    for step in range(STEPS):
        at = later + 1000 + PERIOD * step
        begins = [at + 50 + max(0, late(step) * (1 if rank.number else -1)) for rank in ranks]
        end = max(begins) + TRANSFER
        for rank, begin in zip(ranks, begins):
            if step not in steps(rank):
                continue
            rank.launch(at, "gemm", at + 10, begin - at - 10, 7)
            rank.collective(at + 20, begin, end - begin, params(step + seq_later, elements(rank, step), seq=seq), by_call, by_kernel)
    return ranks


def reported(gpushim, folder, ranks, *options, **more):
    for rank in ranks:
        rank.write(folder / f"rank{rank.number}.json", **more)
    done = subprocess.run([gpushim, "report", *options, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def report(gpushim, folder, ranks, **more):
    said = json.loads(reported(gpushim, folder, ranks, "--json", **more))
    assert [round(1000 * sum(split)) for split in shares(said)] == [device["comm_exposed_ns"] for device in said["devices"]]
    return said


def shares(said):
    """(waits, moves, not split) of each rank, in us."""
    return [tuple(r[key] / 1000 for key in ("wait_ns", "transfer_ns", "unsplit_ns")) for r in sorted(said["ranks"]["ranks"], key=lambda r: r["rank"])]


SPLIT = [(WAITS[0], STEPS * TRANSFER, 0), (WAITS[1], STEPS * TRANSFER, 0)]
WHOLE = [(0, 0, waits + STEPS * TRANSFER) for waits in WAITS]


@pytest.mark.parametrize("seq", (True, False))
@pytest.mark.parametrize("by_call, by_kernel", ((True, True), (True, False), (False, True)))
def test_waiting_for_the_last_rank_is_told_from_the_transfer(gpushim, tmp_path, seq, by_call, by_kernel):
    said = report(gpushim, tmp_path, trained([Rank(0, "h"), Rank(1, "h")], by_call, by_kernel, seq))
    assert shares(said) == SPLIT
    assert said["ranks"]["collectives"] == STEPS and [r["last"] for r in said["ranks"]["ranks"]] == [1, STEPS - 1]
    assert (said["ranks"]["aligned"], [c["violations"] for c in said["ranks"]["clocks"]]) == (True, [0])


@pytest.mark.parametrize("seq", (True, False))
def test_clocks_are_aligned_by_collectives(gpushim, tmp_path, seq):
    said = report(gpushim, tmp_path, trained([Rank(0, None), Rank(1, None, offset_us=123_456, drift_ppm=20)], seq=seq))
    assert len(said["ranks"]["clocks"]) == 2 and said["ranks"]["aligned"]
    other = next(c for c in said["ranks"]["clocks"] if not c["reference"])
    assert abs(abs(other["drift_ppm"]) - 20) < 1 and other["residual_p99_ns"] <= 2 and other["violations"] == 0
    moved = other["offset_ns"] + other["drift_ppm"] * 1e-6 * (1_000_000 - other["at_ns"])
    assert abs(abs(moved) - 123_456_000) < 50_000
    for got, true in zip(shares(said), SPLIT):
        assert all(abs(a - b) <= 1 for a, b in zip(got, true))  # a clock's own us, of another rate


def test_what_one_rank_does_not_have_on_record_stays_unsplit(gpushim, tmp_path):
    """Numbers say which are the same; counted from the first, as all but the numbers are equal, nobody knows."""
    without_first = dict(steps=lambda rank: range(1 - rank.number, STEPS))
    said = report(gpushim, tmp_path, trained([Rank(0, "h"), Rank(1, "h")], **without_first))
    waits = WAITS[0]
    assert shares(said) == [(waits, (STEPS - 1) * TRANSFER, 0), (0, (STEPS - 1) * TRANSFER, TRANSFER + 50)]
    said = report(gpushim, tmp_path, trained([Rank(0, "h"), Rank(1, "h")], seq=False, **without_first))
    assert shares(said) == [(0, 0, waits + (STEPS - 1) * TRANSFER), (0, 0, STEPS * TRANSFER + 50)]


def test_counted_ones_that_never_ran_at_once_are_not_the_same(gpushim, tmp_path):
    """As many on both ranks, but one of them began to record a step later, and ended so: the clock knows."""
    shifted = dict(steps=lambda rank: range(rank.number, STEPS - 1 + rank.number), seq=False)
    said = report(gpushim, tmp_path, trained([Rank(0, "h"), Rank(1, "h")], **shifted))
    assert [(wait, moves) for wait, moves, _ in shares(said)] == [(0, 0), (0, 0)] and said["ranks"]["collectives"] == 0


def test_counted_ones_of_other_sizes_are_not_the_same(gpushim, tmp_path):
    said = report(gpushim, tmp_path, trained([Rank(0, None), Rank(1, None)], seq=False, elements=lambda rank, step: 1000 + rank.number * (step == 5)))
    assert shares(said) == WHOLE


def test_what_is_not_split_is_said_not_to_be(gpushim, tmp_path):
    ranks = trained([Rank(0, "h"), Rank(1, "h")], by_call=False, by_kernel=False)
    text = reported(gpushim, tmp_path, ranks)
    table = text[text.index("\nranks"):].splitlines()[3:5]
    assert [line.split()[0] for line in table] == ["0", "1"]
    assert all(line.split()[6:8] == ["-", "-"] for line in table), table
    assert "not split into waits and moves: no collective is on record of all its ranks" in " ".join(text.split())
    text = reported(gpushim, tmp_path, trained([Rank(0, "h"), Rank(1, "h")], seq=False, elements=lambda rank, step: 1 + rank.number))
    assert "collectives carry no numbers and the ranks have different ones on record" in " ".join(text.split())


def test_a_rank_alone_says_nothing(gpushim, tmp_path):
    said = report(gpushim, tmp_path, trained([Rank(0, "h"), Rank(1, "h")])[:1])
    assert shares(said) == WHOLE[:1]


@pytest.mark.parametrize("said, world, rank", (
    (dict(ranks="[4, 0]"), 8, 4), (dict(ranks="[0, 4]"), 8, 4),
    (dict(ranks="[]", **{"Global rank start": 2, "Global rank stride": 3}), 8, 5), (dict(ranks="[]"), 2, 1)))
def test_whose_number_in_the_group_it_is(gpushim, tmp_path, said, world, rank):
    """By the list of its ranks, else by the first and the distance, else because it is the group of all."""
    first = {4: 0, 5: 2, 1: 0}[rank]
    ranks = [Rank(first, "h"), Rank(rank, "h")]
    for step in range(STEPS):
        at = 1000 + PERIOD * step
        for r in ranks:
            r.launch(at, "gemm", at + 10, 40, 7)
            wait = 30 if r.number == first else 0
            r.collective(at + 20, at + 100 - wait, TRANSFER + wait, params(step, **said), True, True)
    got = report(gpushim, tmp_path, ranks, world=world)
    assert [r["rank"] for r in got["ranks"]["ranks"]] == [first, rank]
    assert shares(got) == [(30 * STEPS, TRANSFER * STEPS, 0), (0, TRANSFER * STEPS, 0)]


def test_a_barrier_is_its_all_reduce(gpushim, tmp_path):
    """An operator within another; only the inner one is a call of NCCL's. What waits, or is a message, has no place in the order."""
    ranks = [Rank(0, "h"), Rank(1, "h")]
    for step in range(STEPS):
        at = 1000 + PERIOD * step
        for r in ranks:
            wait = 200 * (1 - r.number)
            r.add("cpu_op", "record_param_comms", at - 300, 200, **{**params(step, seq=False), "Collective name": "barrier"})
            r.add("cpu_op", "record_param_comms", at - 290, 100, **params(step, seq=False))
            r.launch(at - 250, NAME, at + 300 - wait, TRANSFER + wait, 20, **params(step, seq=False))
            if r.number:
                r.add("cpu_op", "record_param_comms", at + 10, 20, **{**params(step, seq=False), "Collective name": "wait"})
    said = report(gpushim, tmp_path, ranks)
    assert shares(said) == [(200 * STEPS, TRANSFER * STEPS, 0), (0, TRANSFER * STEPS, 0)]


def test_groups_are_communicators(gpushim, tmp_path):
    ranks = trained([Rank(0, "h"), Rank(1, "h")])
    (group,) = report(gpushim, tmp_path, ranks)["communicators"]
    assert (group["size"], group["name"], [r["rank"] for r in group["ranks"]], [r["last_seq"] for r in group["ranks"]]) == (2, "0", [0, 1], [STEPS + 6] * 2)
    assert [r["operations"] for r in group["ranks"]] == [{"all_reduce": {"calls": STEPS, "bytes": 4000 * STEPS}}] * 2
    said = subprocess.run([gpushim, "info", tmp_path / "rank1.json"], capture_output=True, text=True, check=True).stdout
    assert 'rank 1 of 2, "0"; 12 all_reduce 46.9 KiB' in said


def test_any_lists_of_collectives_do_no_harm(gpushim, tmp_path):
    """Whatever a file says of groups, the three shares are all of the communication."""
    chance = random.Random(9)
    for case in range(30):
        ranks = [Rank(0, chance.choice(("h", None))), Rank(1, chance.choice(("h", None)))]
        for step in range(STEPS):
            at = 1000 + PERIOD * step
            for r in ranks:
                said = params(step, seq=chance.random() < 0.5, group=chance.choice("01"), ranks=chance.choice(("[0, 1]", "[1, 0]", "[0, 0]", "[", "", "0", "[18446744073709551616, 1]")))
                said.update(chance.choice(({}, {"Group size": chance.choice((0, 1, 2, 4294967295, -1))}, {"Seq": chance.choice((0, 4294967295, "x"))},
                                           {"Collective name": chance.choice(("", "wait", "send", "x" * 300, "_allgather_base"))}, {"dtype": ""})))
                r.collective(at + chance.randrange(50), at + 100 + chance.randrange(300), chance.randrange(1, 900), said, chance.random() < 0.6, chance.random() < 0.6)
        assert len(report(gpushim, tmp_path, ranks)["devices"]) == 2, case


WINDOWS = "2 ranks have several traces each, one after the other: those of each are taken for windows of one process, each is shown by itself"


@pytest.mark.parametrize("seq, restarted", ((False, False), (True, False), (True, True)))
@pytest.mark.parametrize("host", ("h", None))
def test_windows_of_ranks_are_compared_each_by_itself(gpushim, tmp_path, host, seq, restarted):
    """schedule(repeat=2): the same collectives twice, 5 s apart. Without a host's name each rank's two are on one clock by base, pid and rank."""
    said, texts = windows(gpushim, tmp_path, host, seq, restarted=restarted, baseTimeNanoseconds=BASE)
    assert shares(said) == [SPLIT[0]] * 2 + [SPLIT[1]] * 2 and said["ranks"]["collectives"] == 2 * STEPS
    assert [(c["aligned"], c["offset_ns"], c["residual_p99_ns"], c["violations"]) for c in said["ranks"]["clocks"]] == [(True, 0, 0, 0)] * (1 if host else 2)
    assert [r["rank"] for r in said["ranks"]["ranks"]].count(0) == 2 and len({r["device"] for r in said["ranks"]["ranks"]}) == 4
    assert said["losses"]["warnings"] == [WINDOWS]
    assert f"warning {WINDOWS}" in texts["report --trust"] and texts["info"].count(f"The importer warns: {WINDOWS}.") == 1
    assert "nothing lost; 2 ranks have several traces each, one after the other;" in texts["report"]


@pytest.mark.parametrize("seq", (True, False))
def test_windows_without_a_time_of_day_have_clocks_of_their_own(gpushim, tmp_path, seq):
    said, _ = windows(gpushim, tmp_path, None, seq, restarted=True)
    clocks = said["ranks"]["clocks"]
    assert len(clocks) == 4 and [c["offset_ns"] for c in clocks] == [0] * 4 and sum(c["aligned"] for c in clocks) == 2
    assert said["ranks"]["aligned"] is False and said["ranks"]["collectives"] == 2 * STEPS


@pytest.mark.parametrize("seq, host, matched", ((False, None, 0), (True, None, STEPS), (False, "h", STEPS)))
def test_a_window_that_one_rank_does_not_have(gpushim, tmp_path, seq, host, matched):
    """Counted ones of hosts whose clocks may be apart are believed only where each window has all ranks."""
    said, texts = windows(gpushim, tmp_path, host, seq, windows_of=lambda rank: (0, 1) if rank == 0 else (1,), baseTimeNanoseconds=BASE)
    assert said["ranks"]["collectives"] == matched and len(said["devices"]) == 3
    assert all(c["offset_ns"] == 0 and c["violations"] == 0 for c in said["ranks"]["clocks"])
    assert [(r["rank"], r["collectives"]) for r in said["ranks"]["ranks"]] == [(0, 0), (0, matched), (1, matched)]
    assert said["losses"]["warnings"] == ["rank 0 has 2 traces, one after the other: taken for windows of one process, each is shown by itself"]
    assert ("collectives carry no numbers and the ranks have different ones on record" in texts["report"]) == (not matched)


@pytest.mark.parametrize("seq", (True, False))
def test_one_rank_twice_at_one_time_is_compared_with_nobody(gpushim, tmp_path, seq):
    said, texts = windows(gpushim, tmp_path, "h", seq, apart_us=1000, restarted=True)
    assert said["ranks"]["collectives"] == 0 and [split[:2] for split in shares(said)] == [(0, 0)] * 4
    assert [c["violations"] for c in said["ranks"]["clocks"]] == [0]
    (warning,) = said["losses"]["warnings"]
    assert warning.startswith("a rank has several traces of one time, as of several jobs") and warning in texts["info"]


def test_windows_of_a_process_without_a_rank(gpushim, tmp_path):
    for window in (0, 1):
        rank = Rank(0, None)
        for step in range(STEPS):
            rank.launch(9_000_000 * window + PERIOD * step + 10, "gemm", 9_000_000 * window + PERIOD * step + 20, 100, 7)
        (tmp_path / f"{window}.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": rank.events}))
    said = json.loads(subprocess.run([gpushim, "report", "--json", tmp_path], capture_output=True, text=True, check=True).stdout)
    assert said["losses"]["warnings"] == ["process 1000 has 2 traces, one after the other: taken for windows of one process, each is shown by itself"]
    assert [d["compute_ns"] for d in said["devices"]] == [100_000 * STEPS] * 2
    text = subprocess.run([gpushim, "report", tmp_path], capture_output=True, text=True, check=True).stdout
    assert "1 process has several traces, one after the other" in " ".join(text.split())
