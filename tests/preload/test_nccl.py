# SPDX-License-Identifier: BSD-2-Clause
"""NCCL under the recorder, with our stand-in for the library: four processes, every call once, the same as without; and the real library
of NVIDIA's wheel as far as it goes without a GPU."""

import json
import re
import shutil
import signal
import subprocess
import time
from collections import Counter, defaultdict

import pytest
import truth
from nccl_ranks import RANKS, Ranks, library_path
from nccl_records import GROUP_END, GROUP_START, Trace
from recording import RunFiles

NO_OP = 0xffff


def both(recorder, case, program="client_linked", **how):
    """The same without and with the recorder: (log of each rank without, ranks with, trace of each)."""
    plain = Ranks(recorder, program, case, **how).finish()
    ranks = Ranks(recorder, program, case, shim=True, **how).finish()
    assert ranks.printed() == plain.printed()
    assert [rank.stderr for rank in ranks.ranks] == [""] * len(ranks.ranks)
    return plain, ranks, [only_trace(rank) for rank in ranks.ranks]


def only_trace(rank):
    (path,) = rank.traces()
    return Trace(path)


def check_counts(plain, trace, less=None):
    """As many of each call as the program makes. less: what the log took for calls of the program's and are not."""
    expected, recorded = Counter(call["call"] for call in plain.calls()), Counter(call.name for call in trace.calls)
    expected.subtract(less or {})
    polls = "ncclCommGetAsyncError"  # as often as it takes, many in one record
    expected.pop(polls, None)
    recorded.pop(polls, None)
    assert recorded == expected


def with_inner(rank):
    """The program's calls as the log has them, each with what a call of the library to itself inside it was given."""
    calls, own = rank.calls(), rank.calls(own=True)
    for call in calls:
        inside = [one for one in own if call["begin_ns"] <= one["begin_ns"] <= call["end_ns"] and one["thread"] == call["thread"]]
        yield {**call, **{name: inside[0][name] for name in ("seq", "count", "type", "peer", "op") if inside and name in inside[0]}}


def check_calls(plain, trace):
    """One after the other, with everything that was given: for programs with one thread."""
    expected = list(with_inner(plain))
    assert [call.name for call in trace.calls] == [call["call"] for call in expected]
    for call, told in zip(trace.calls, expected):
        assert call.result == told["result"], call
        assert call.begin <= call.end
        assert call.group == told["group"] and (call.kind != GROUP_START or call.seq == told["depth"]), call
        if "count" in told:
            assert (call.count, call.type) == (told["count"], told["type"]), call
            assert call.op == (NO_OP if told["op"] is None else told["op"]), call
            assert call.peer == (-1 if told["peer"] is None else told["peer"]), call
            assert told["seq"] is None or call.seq == told["seq"] + 1, call


def check_streams(rank, trace):
    """Each call names the stream it was given; NCCL's kernels are launched inside the calls and in the streams that the records name."""
    given = [call["stream"] for call in rank.calls() if "stream" in call and call["result"] == 0 and call["call"] != "ncclBcast"]
    moved = [call for call in trace.calls if call.moves() and call.result == 0 and call.name != "ncclBcast"]
    assert [call.stream for call in moved] == given
    assert [launch.kernel for launch in trace.launches] == [kernel["kernel"] for kernel in rank.kernels()]
    for launch in trace.launches:
        (inside,) = [call for call in trace.calls if call.begin <= launch.begin and launch.end <= call.end]
        streams = {inside.stream} if inside.moves() else {call.stream for call in moved if call.group == inside.group}
        assert launch.stream in streams, (launch, inside)
        assert inside.moves() or (inside.kind == GROUP_END and not inside.inner)


def check_groups(trace):
    """Each group: as many members as its end says, all between its start and its end."""
    groups = defaultdict(list)
    for call in trace.calls:
        if call.group:
            groups[call.group].append(call)
    for number, calls in groups.items():
        begin, end = calls[0], calls[-1]
        assert (begin.kind, begin.seq) == (GROUP_START, 1) and end.kind == GROUP_END and not end.inner
        assert end.seq == sum(call.moves() and call.result in (0, 7) for call in calls), number
        assert end.count == begin.begin
        assert all(begin.begin <= call.begin <= call.end <= end.end for call in calls)
        assert sum(call.kind == GROUP_START for call in calls) == sum(call.kind == GROUP_END for call in calls)


def by_communicator(traces):
    """{hash: {rank: its collectives in order}}"""
    found = defaultdict(dict)
    for trace in traces:
        for call in trace.collectives():
            if call.seq:
                found[call.comm.hash].setdefault(call.comm.rank, []).append(call)
    return found


def check_sequences(traces):
    """What one communicator did has the same numbers on all of its ranks, from 1 on, none twice. Returns {hash: how many}."""
    counts = {}
    for hash_, ranks in by_communicator(traces).items():
        sizes = {call.comm.size for calls in ranks.values() for call in calls}
        assert sizes == {len(ranks)} and sorted(ranks) == list(range(len(ranks))), hash_
        told = [[(call.seq, call.kind, call.count, call.type, call.op, call.peer) for call in calls] for calls in ranks.values()]
        assert all(one == told[0] for one in told), hash_
        assert [one[0] for one in told[0]] == list(range(1, len(told[0]) + 1))
        counts[hash_] = len(told[0])
    return counts


@pytest.mark.parametrize("program", ["client_linked", "client_dlopen"])
def test_four_processes(recorder, program):
    plain, ranks, traces = both(recorder, "collectives", program)
    for one, rank, trace in zip(plain.ranks, ranks.ranks, traces):
        check_counts(one, trace)
        check_calls(one, trace)
        check_streams(rank, trace)
        check_groups(trace)
        (comm,) = trace.comms.values()
        assert (comm.rank, comm.size, comm.device, comm.parent) == (rank.number, RANKS, rank.number, 0)
        assert comm.library.endswith("libnccl.so.2")
    assert list(check_sequences(traces).values()) == [19]


def test_what_the_library_calls_itself_is_recorded_once(recorder):
    """ncclBcast goes through ncclBroadcast, windows through ncclCommRegister, ncclCommInitAll through ncclGetUniqueId."""
    plain, _, traces = both(recorder, "collectives")
    for one, trace in zip(plain.ranks, traces):
        names = Counter(call.name for call in trace.calls)
        assert names["ncclBcast"] == 1 and names["ncclBroadcast"] == 2  # the program's own two
        assert [call["call"] for call in one.calls(own=True)] == ["ncclBroadcast"]
    plain, _, traces = both(recorder, "memory")
    for one, trace in zip(plain.ranks, traces):
        check_calls(one, trace)
        assert Counter(call.name for call in trace.calls)["ncclCommRegister"] == 1
    plain, _, (trace,) = both(recorder, "all-devices", ranks=1)
    check_calls(plain.ranks[0], trace)
    assert "ncclGetUniqueId" not in {call.name for call in trace.calls}


def test_training(recorder):
    plain, ranks, traces = both(recorder, "train", options=["--steps", 10])
    for one, rank, trace in zip(plain.ranks, ranks.ranks, traces):
        check_calls(one, trace)
        check_streams(rank, trace)
        check_groups(trace)
    assert list(check_sequences(traces).values()) == [3 + 10 * 4]


def test_all_types(recorder):
    plain, _, traces = both(recorder, "types")
    for one, trace in zip(plain.ranks, traces):
        check_calls(one, trace)
        assert [call.type for call in trace.collectives()] == list(range(12))


def test_split(recorder):
    plain, _, traces = both(recorder, "split")
    for rank, (one, trace) in enumerate(zip(plain.ranks, traces)):
        check_calls(one, trace)
        all_, half, *most = sorted(trace.comms.values())
        assert (all_.rank, all_.size, all_.parent) == (rank, RANKS, 0)
        assert (half.rank, half.size, half.parent) == (1 - rank // 2, 2, all_.number)
        assert [(comm.rank, comm.size, comm.parent) for comm in most] == ([(rank, 3, all_.number)] if rank < 3 else [])
    assert sorted(check_sequences(traces).values()) == [1, 1, 1, 1]  # all, two halves, most


def test_shrink(recorder):
    plain, _, traces = both(recorder, "shrink")
    for one, trace in zip(plain.ranks, traces):
        check_calls(one, trace)
    rest = [max(trace.comms.values()) for trace in traces[:3]]
    assert len({comm.hash for comm in rest}) == 1 and [(comm.rank, comm.size) for comm in rest] == [(0, 3), (1, 3), (2, 3)]
    # The one that left has not made the second reduction: its communicator's numbers end earlier.
    of_all = by_communicator(traces)[min(traces[0].comms.values()).hash]
    assert [[call.seq for call in of_all[rank]] for rank in range(RANKS)] == [[1, 2]] * 3 + [[1]]


def together(recorder, case, **how):
    """All ranks in one run directory: (ranks, their report, the run as the checks of scenarios want it)."""
    ranks = Ranks(recorder, "client_linked", case, shim=True, together=True, **how).finish()
    done = recorder.gpushim("report", ranks.out, "--json")
    assert done.returncode == 0, done.stderr
    return ranks, json.loads(done.stdout), RunFiles(ranks.folder, [ranks.folder / f"truth-{rank.number}.json" for rank in ranks.ranks])


@pytest.mark.parametrize("case", ["collectives", "train", "split"])
def test_the_report_lists_communicators(recorder, case):
    """… over all processes: who is in them, and what each rank did."""
    ranks, report, _ = together(recorder, case)
    expected = defaultdict(dict)
    for rank in ranks.ranks:
        done = defaultdict(lambda: defaultdict(lambda: [0, 0]))
        for call in with_inner(rank):
            if "count" in call and call["result"] == 0:
                sums = done[call["comm"], call["rank"], call["nranks"]][call["call"].replace("Config", "").replace("Bcast", "Broadcast")]
                sums[0] += 1
                sums[1] += call["count"] * 4
        for (comm, number, size), operations in done.items():
            expected[comm][number] = (rank.pid, size, {name: tuple(sums) for name, sums in operations.items()})
    listed = {}
    for comm in report["communicators"]:
        members = {one["rank"]: (one["pid"], comm["size"], operations_of(one)) for one in comm["ranks"]}
        assert len(members) == len(comm["ranks"]) == comm["size"] and len({one["last_seq"] for one in comm["ranks"]}) == 1
        listed[comm["hash"]] = members
    assert sorted(map(sorted, (members.items() for members in listed.values()))) == sorted(map(sorted, (members.items() for members in expected.values())))


NAMES = {"all_reduce": "ncclAllReduce", "broadcast": "ncclBroadcast", "reduce": "ncclReduce", "all_gather": "ncclAllGather",
         "reduce_scatter": "ncclReduceScatter", "all_to_all": "ncclAlltoAll", "gather": "ncclGather", "scatter": "ncclScatter",
         "send": "ncclSend", "recv": "ncclRecv"}


def operations_of(member):
    return {NAMES[name]: (one["calls"], one["bytes"]) for name, one in member["operations"].items()}


def test_the_report_is_sound_about_its_kernels(recorder):
    """NCCL's kernels wait on the device for other processes: idle and busy are still what the devices' own log says."""
    _, report, run = together(recorder, "train", options=["--steps", 20])
    driver = {name: count for name, count in report["calls"].items() if not name.startswith("nccl")}  # which the devices' log counts
    truth.check_sound({**report, "calls": driver}, truth.Truth(run))
    assert [device["device"] for device in report["devices"]] == list(range(RANKS)) and report["run"]["processes"] == RANKS


def test_abort_from_another_thread(recorder):
    plain, _, traces = both(recorder, "abort")
    for one, trace in zip(plain.ranks, traces):
        check_counts(one, trace)
        assert [call.result for call in trace.calls if call.name == "ncclCommAbort"] == [0]


def test_not_blocking(recorder):
    plain, _, traces = both(recorder, "nonblocking")
    for one, trace in zip(plain.ranks, traces):
        check_counts(one, trace)
        ends = [call for call in trace.calls if call.kind == GROUP_END]
        assert [call.result for call in ends] == [7] * 3 and [call.seq for call in ends] == [1] * 3
    assert list(check_sequences(traces).values()) == [3]


def test_two_threads_with_a_communicator_each(recorder):
    plain, _, traces = both(recorder, "threads")
    for one, trace in zip(plain.ranks, traces):
        check_counts(one, trace)
    assert sorted(check_sequences(traces).values()) == [3, 3]
    for trace in traces:
        assert len({call.stream for call in trace.collectives()}) == 2 or {call.stream for call in trace.collectives()} == {2}


def test_one_process_with_four_devices(recorder):
    _, _, (trace,) = both(recorder, "all-devices", ranks=1)
    check_groups(trace)
    assert sorted((comm.rank, comm.size, comm.device) for comm in trace.comms.values()) == [(i, RANKS, i) for i in range(RANKS)]
    assert list(check_sequences([trace]).values()) == [3]
    assert len(trace.launches) == 3 * RANKS


def test_captured(recorder):
    """The call is made once; its kernel runs with each launch of the graph."""
    plain, ranks, traces = both(recorder, "graph")
    for one, rank, trace in zip(plain.ranks, ranks.ranks, traces):
        check_calls(one, trace)
        assert len(trace.collectives()) == 2 and len(rank.ran()) == 4
    assert list(check_sequences(traces).values()) == [2]


def test_refused_calls(recorder):
    plain, _, traces = both(recorder, "errors")
    for one, trace in zip(plain.ranks, traces):
        check_calls(one, trace)
        refused = [call for call in trace.calls if call.moves() and call.result]
        assert len(refused) == 5 and {call.seq for call in refused} == {0}


def test_two_copies_of_the_library(recorder, build):
    other = recorder.new_folder() / "libnccl-of-somebody-else.so.2"
    shutil.copy(build / "nccl" / "libnccl.so.2", other)
    plain, ranks, traces = both(recorder, "two-copies", options=["--library", other])
    for one, trace in zip(plain.ranks, traces):
        # The second copy's ncclBcast reaches the first one's ncclBroadcast, as the global scope has it: a call from outside, to that one.
        check_counts(one, trace, less={"ncclBroadcast": 1})
        check_groups(trace)
        assert sorted(comm.library.rsplit("/", 1)[1] for comm in trace.comms.values()) == ["libnccl-of-somebody-else.so.2", "libnccl.so.2"]
    assert list(check_sequences(traces).values()) == [19, 19]


def test_python_by_ctypes(recorder):
    plain, ranks, traces = both(recorder, "vllm", "nccl_ctypes.py")
    for one, rank, trace in zip(plain.ranks, ranks.ranks, traces):
        check_calls(one, trace)
        check_streams(rank, trace)
        check_groups(trace)
    assert list(check_sequences(traces).values()) == [3]


def test_one_rank_is_killed(recorder):
    """The others wait for it for ever, and are killed too: what all had been told is in their traces."""
    ranks = Ranks(recorder, "client_linked", "endless", shim=True)
    try:
        for rank in ranks.ranks:
            assert rank.process.stdout.readline() == "begun\n"
        while min(len(rank.log()) for rank in ranks.ranks) < 50:
            time.sleep(0.02)
        ranks.ranks[2].process.send_signal(signal.SIGKILL)
        time.sleep(0.1)
    finally:
        for rank in ranks.ranks:
            rank.process.kill()
            rank.process.communicate()
    for rank in ranks.ranks:
        (path,) = rank.traces()
        assert recorder.gpushim("report", path, "--json").returncode == 0
        numbers = [call.seq for call in Trace(path).collectives()]
        returned = sum(call["call"] == "ncclAllReduce" for call in rank.calls())
        assert numbers == list(range(1, len(numbers) + 1))
        assert returned > 10 and returned - 1 <= len(numbers) <= returned, rank.number  # it logs before it returns to us


def version(recorder, build, shim, *args, **env):
    folder = recorder.new_folder()
    settings = {"LD_LIBRARY_PATH": library_path(build), "GPUSHIM_OUT": folder / "out", **env}
    done = subprocess.run([build / "nccl" / "client_version", *args], env=recorder.environment(shim=shim, **settings), cwd=folder,
                          capture_output=True, text=True, timeout=60, check=True)
    return done, sorted((folder / "out").rglob("*.gst"))


def test_without_any_driver_call(recorder, build):
    plain, _ = version(recorder, build, False)
    done, traces = version(recorder, build, True)
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr)
    assert done.stdout.splitlines()[:3] == ["0", "22809", "4"]
    (path,) = traces
    assert [(call.name, call.result) for call in Trace(path).calls] == [("ncclGetVersion", 0), ("ncclGetVersion", 4), ("ncclGetErrorString", 0)]


def test_switched_off(recorder, build):
    done, traces = version(recorder, build, True, GPUSHIM="off")
    assert done.stdout == version(recorder, build, False)[0].stdout and not traces
    ranks = Ranks(recorder, "client_linked", "collectives", shim=True, env={"GPUSHIM": "off"}).finish()
    assert ranks.printed() == Ranks(recorder, "client_linked", "collectives").finish().printed()
    assert not any(rank.traces() for rank in ranks.ranks)
    logged = [Counter(call["call"] for call in rank.calls()) for rank in ranks.ranks]
    assert all(count["ncclAllReduce"] == 8 for count in logged)  # nobody asked anything else of it


# ---- NVIDIA's own ---------------------------------------------------------------------------------------------------------------

NAME = re.compile(r"\b(nccl[A-Z]\w*)\(")


@pytest.fixture(scope="module")
def wheel(build):
    """Its header and its library (scripts/setup.sh nccl)."""
    folder = build / "nccl-wheel"
    if not (folder / "libnccl.so.2").exists():
        pytest.skip("NVIDIA's NCCL could not be fetched")
    return folder


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[2] for line in lines if len(line.split()) == 3}


def test_names_are_those_of_the_real_library(wheel, build, root):
    header = set(NAME.findall((wheel / "nccl.h").read_text()))
    real, ours = exported(wheel / "libnccl.so.2"), exported(build / "nccl" / "libnccl.so.2")
    shim, rows = exported(build / "libgpushim.so"), set(NAME.findall((root / "shim" / "nccl_api.h").read_text()))
    assert len(header) == 41 and header <= real
    assert header <= ours and {f"p{name}" for name in header} <= ours
    assert header <= rows and header <= shim
    assert {name for name in shim if name.startswith("nccl")} == rows  # every prototype has its hook


def test_kernels_are_named_as_in_the_real_library(wheel, recorder):
    ranks = Ranks(recorder, "client_linked", "collectives").finish()
    real = (wheel / "libnccl.so.2").read_bytes()
    names = {kernel["kernel"] for rank in ranks.ranks for kernel in rank.kernels()}
    assert len(names) == 6 and all(name.encode() + b"\0" in real for name in names), names


def test_the_real_library_through_the_recorder(wheel, recorder, build):
    """Without a GPU it can say its version and its words."""
    library = wheel / "libnccl.so.2"
    plain, _ = version(recorder, build, False, library)
    done, traces = version(recorder, build, True, library)
    assert (done.stdout, done.stderr) == (plain.stdout, plain.stderr)
    assert done.stdout.splitlines() == ["0", "22809", "4", "invalid usage (run with NCCL_DEBUG=WARN for details)"]
    (path,) = traces
    assert [(call.name, call.result) for call in Trace(path).calls] == [("ncclGetVersion", 0), ("ncclGetVersion", 4), ("ncclGetErrorString", 0)]
