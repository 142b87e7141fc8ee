# SPDX-License-Identifier: BSD-2-Clause
"""GPUSHIM_DEVICE=cupti on the tests' libcupti: every operation has its time and its call; where CUPTI is not to be had, or the program wants
it for itself, the run goes on without."""

import json
import struct
import sys
from collections import Counter
from typing import NamedTuple

import gst
import pytest
import survival

LAUNCH, COPY, MEMSET, GRAPH_LAUNCH = 1, 2, 3, 5
HOST, EDGES, BURSTS, CUPTI = 1, 2, 3, 4
AS_ASKED, NO_LIBRARY, HELD, REFUSED, YIELDED, FORKED, ENDS = range(7)
KINDS = {1: "kernel", 2: "memcpy", 3: "memset"}
COPY_KINDS = ["", "h2d-pageable", "h2d-pinned", "d2h-pageable", "d2h-pinned", "d2d", "peer"]
ROUNDS = 50  # of client_profiler


class Activity(NamedTuple):
    begin: int
    end: int
    stream: int
    seq: int
    node: int
    bytes: int
    name: str
    error_ns: int
    device: int
    kind: str
    copy: str


class Level(NamedTuple):
    ticks: int
    level: int
    why: int
    result: int
    asked: int


class Trace:
    def __init__(self, path):
        self.data = path.read_bytes()
        self.parts = gst.segments(self.data)
        self.kernels = gst.names(self.data, self.parts, gst.SPACE_KERNEL)

    def of(self, kind, form):
        return [struct.unpack_from(form, self.data, r.offset + 8) for r in gst.valid(self.data, self.parts) if r.type == kind]

    def header_level(self):
        return struct.unpack_from("<I", self.data, 32)[0]

    def levels(self):
        return sorted(Level(*fields) for fields in self.of(gst.LEVEL, "<Q2IiI"))

    def activities(self):
        return [Activity(*fields[:6], self.kernels.get(fields[6], ""), fields[7], fields[8], KINDS[fields[9]], COPY_KINDS[fields[10]])
                for fields in self.of(gst.ACTIVITY, "<2Q2I2Q2IH2B")]

    def submissions(self):
        """{(stream, seq): (family, kernel's name, bytes)} of the calls that succeeded."""
        found = {}
        for begin, end, seq, _, family, flags, result, stream, _, _, name, first, _ in self.of(gst.CALL, "<2QIH2BiI2HI2Q"):
            if flags & gst.SUBMISSION and not result and family in (LAUNCH, COPY, MEMSET, GRAPH_LAUNCH):
                assert (stream, seq) not in found
                found[stream, seq] = family, self.kernels.get(name, "") if family == LAUNCH else "", first
        return found

    def launches(self):
        """{(stream, seq): when the call began, in ticks}"""
        return {(fields[7], fields[2]): fields[0] for fields in self.of(gst.CALL, "<2QIH2BiI2HI2Q") if fields[4] == LAUNCH and not fields[6]}

    def ticks_in(self, ms):
        first, *_, last = sorted(self.of(gst.ANCHOR, "<2Q")) or [(0, 0), (1, 1)]
        return ms * 1_000_000 * (last[0] - first[0]) // (last[1] - first[1])

    def dropped(self):
        return struct.unpack_from("<Q", self.data, gst.COUNTERS + 27 * 8)[0]

    def count(self, kind):
        return sum(r.type == kind for r in gst.valid(self.data, self.parts))


class Program:
    """Runs programs at this level."""

    def __init__(self, recorder, build):
        self.recorder, self.build = recorder, build

    def client(self, *args, name="client_profiler"):
        path = self.build / "cupti" / name
        assert path.exists(), f"{path} is not built: make tests"
        return [str(path), *args]

    def run(self, command, standin="", shim=True, library="cupti", **env):
        folders = [self.folder(library), self.build / "simgpu"]
        return self.recorder.run(command, shim=shim, env={"LD_LIBRARY_PATH": ":".join(map(str, folders)), "GPUSHIM_DEVICE": "cupti",
                                                          "CUPTI_STANDIN": standin, **env})

    def folder(self, library):
        """Where libcupti.so.13 is: the stand-in, or a library that only bears the name."""
        folder = self.build / library if library == "cupti" else self.recorder.new_folder()
        if library != "cupti":
            (folder / "libcupti.so.13").symlink_to(self.build / "nccl" / "libnccl.so.2")
        return folder

    def environment(self):
        return {"LD_LIBRARY_PATH": f"{self.build / 'cupti'}:{self.build / 'simgpu'}", "GPUSHIM_DEVICE": "cupti"}

    def trace(self, command, standin="", **env):
        run = self.run(command, standin, **env)
        assert run.status == 0, run.stderr
        (path,) = run.traces()
        return run, Trace(path)


@pytest.fixture(scope="module")
def program(recorder, build):
    return Program(recorder, build)


def truth(run):
    lines = [json.loads(line) for line in run.truth.read_text().splitlines()]
    return [line for line in lines if line.get("op", "hostfn") != "hostfn"]


def of_truth(op):
    return op["op"], op["device"], op["name"], op["kind"], op["bytes"], op["start_ns"], op["end_ns"]


def of_trace(a):
    return a.kind, a.device, a.name, a.copy, a.bytes, a.begin, a.end


@pytest.fixture(scope="module")
def scenario(program, recorder):
    """Two devices, eight streams each, copies, memsets, graphs, peer copies."""
    return program.trace(recorder.command("scenario_linked", 3, "eager", "graphs", "peers"), SIMGPU_DEVICES=2)


def test_every_operation_is_there_to_the_nanosecond(scenario):
    run, trace = scenario
    ops = truth(run)
    assert len(ops) > 400 and {op["op"] for op in ops} == set(KINDS.values()) and {op["kind"] for op in ops} >= {"peer", "h2d-pinned"}
    assert Counter(map(of_trace, trace.activities())) == Counter(map(of_truth, ops))
    assert trace.dropped() == 0
    assert {a.error_ns for a in trace.activities()} == {500}


def test_each_belongs_to_the_call_that_put_it_in(scenario):
    run, trace = scenario
    submissions, seen, graphs = trace.submissions(), Counter(), Counter()
    for a in trace.activities():
        family, name, size = submissions[a.stream, a.seq]
        seen[a.stream, a.seq] += 1
        if family == GRAPH_LAUNCH:
            assert a.node != 0
            graphs[a.stream, a.seq] += 1
        else:
            assert (family, name, size if family != LAUNCH else 0) == ({"kernel": LAUNCH, "memcpy": COPY, "memset": MEMSET}[a.kind],
                                                                       a.name, a.bytes) and a.node == 0
    assert {place for place in submissions} == set(seen)
    assert all(n == 1 for place, n in seen.items() if place not in graphs)
    in_graphs = sum(op["graph"] is not None for op in truth(run))
    assert sum(graphs.values()) == in_graphs > 0
    for stream in {a.stream for a in trace.activities()}:
        plain = sorted((a.begin, a.seq) for a in trace.activities() if a.stream == stream and (stream, a.seq) not in graphs)
        assert [seq for _, seq in plain] == sorted(seq for _, seq in plain)


def test_streams_are_the_truths(scenario):
    run, trace = scenario
    where = {of_truth(op): op["stream"] for op in truth(run)}
    pairs = {(a.stream, (a.device, where[of_trace(a)])) for a in trace.activities() if not a.node}
    assert len(pairs) == len({ours for ours, _ in pairs}) == len({theirs for _, theirs in pairs}) >= 16


def test_nothing_is_injected(scenario, recorder):
    _, trace = scenario
    assert trace.header_level() == CUPTI
    assert [(level.level, level.why, level.asked) for level in trace.levels()] in (
        [(CUPTI, AS_ASKED, CUPTI), (level, ENDS, CUPTI)] for level in (EDGES, BURSTS))
    _, injected = gst.call_counts(trace.data)
    assert not injected.keys() & {"cuEventRecord", "cuEventQuery", "cuStreamQuery", "cuEventCreate"}
    assert trace.count(gst.EDGE) == 0


def test_the_same_outcome(program, recorder):
    command = recorder.command("scenario_linked", 2, "eager", "graphs")
    without, recorded = program.run(command, shim=False), program.run(command)
    assert (recorded.status, recorded.stdout, recorded.stderr) == (without.status, without.stdout, without.stderr)


def test_libcupti_own_calls_are_not_the_programs(program, recorder):
    """Its thread asks for the driver's version all the time; the program asks never."""
    _, trace = program.trace(recorder.command("launch_bound_linked", 2000, 50, 0))
    recorded, _ = gst.call_counts(trace.data)
    assert "cuDriverGetVersion" not in recorded
    assert len(trace.activities()) == recorded["cuLaunchKernel"] == 2000


def test_a_clock_of_cuptis_own(program, recorder):
    """An older one, that takes no clock of ours: its own is compared with it, and what that leaves open is said."""
    run, trace = program.trace(recorder.command("launch_bound_linked", 1000, 50, 0), "no-clock")
    ours, theirs = sorted(trace.activities()), sorted(truth(run), key=lambda op: op["start_ns"])
    assert len(ours) == len(theirs) == 1000
    for a, op in zip(ours, theirs):
        assert abs(a.begin - op["start_ns"]) <= a.error_ns and abs(a.end - op["end_ns"]) <= a.error_ns
    assert 500 < min(a.error_ns for a in ours)


def test_dropped_records_are_counted(program, recorder):
    """Those that are left belong to their calls all the same."""
    run, trace = program.trace(recorder.command("launch_bound_linked", 1000, 20, 0), "drop=10")
    activities, submissions = trace.activities(), trace.submissions()
    assert trace.dropped() == 100 and len(activities) == 900
    assert len({(a.stream, a.seq) for a in activities} & set(submissions)) == 900
    by_start = sorted(truth(run), key=lambda op: op["start_ns"])
    ends = {i + 1: op["end_ns"] for i, op in enumerate(by_start)}  # one stream: the n-th submission is the n-th to run
    assert all(ends[a.seq] == a.end for a in activities)


REFUSALS = {
    "held": ({"standin": "held"}, HELD, 39),
    "not initialised": ({"standin": "subscribe=15"}, REFUSED, 15),
    "no privileges": ({"standin": "enable=35"}, REFUSED, 35),
    "no library": ({"library": "another"}, NO_LIBRARY, 0),
    "a tool is injected": ({"CUDA_INJECTION64_PATH": "/opt/tool.so"}, HELD, 0),
}


@pytest.mark.parametrize("case", REFUSALS)
@pytest.mark.parametrize("log", ["", "1"])
def test_without_cupti_it_goes_on(program, recorder, case, log):
    how, why, result = REFUSALS[case]
    command = recorder.command("launch_bound_linked", 300, 20, 0)
    run, trace = program.trace(command, GPUSHIM_LOG=log, **how)
    plain = program.run(command, shim=False)
    assert run.stdout == plain.stdout
    assert trace.header_level() in (EDGES, BURSTS)
    assert [level[1:] for level in trace.levels()] == [(trace.header_level(), why, result, CUPTI)]
    assert trace.activities() == [] and trace.dropped() == 0
    assert trace.count(gst.EDGE) > 0
    assert len(truth(run)) == 300 == len(trace.submissions())
    if log:
        (line,) = run.stderr.splitlines()
        assert line.startswith("gpushim: CUPTI is not used: ") and line.endswith(f"({result})")
    else:
        assert run.stderr == ""


@pytest.mark.parametrize("how", ["linked", "dlsym"])
def test_the_programs_own_profiler_comes_first(program, how):
    command = program.client(how, "before")
    plain, (run, trace) = program.run(command, shim=False), program.trace(command)
    assert run.stdout == plain.stdout == f"subscribe: 0\nkernels {ROUNDS}, copies {2 * ROUNDS}, calls {ROUNDS}\n"
    assert [level[1:] for level in trace.levels()] == [(trace.header_level(), HELD, 0, CUPTI)]
    assert trace.header_level() in (EDGES, BURSTS) and trace.activities() == []


@pytest.mark.parametrize("how", ["linked", "dlsym"])
def test_the_programs_own_profiler_comes_later(program, how):
    """It has CUPTI as without us; what was done before is in the trace, and the level says from when on it is not."""
    command = program.client(how, "after")
    plain, (run, trace) = program.run(command, shim=False), program.trace(command)
    assert run.stdout == plain.stdout == f"subscribe: 0\nkernels {ROUNDS}, copies {2 * ROUNDS}, calls {ROUNDS}\n"
    assert trace.header_level() == CUPTI
    first, second = trace.levels()
    assert (first.level, first.why) == (CUPTI, AS_ASKED)
    assert second.level in (EDGES, BURSTS) and second.why == YIELDED
    ops = sorted(truth(run), key=lambda op: op["start_ns"])
    assert Counter(map(of_trace, trace.activities())) == Counter(map(of_truth, ops[:3 * ROUNDS]))
    assert trace.count(gst.EDGE) > 0


@pytest.mark.parametrize("how", ["linked", "dlsym"])
def test_a_profiler_that_only_wants_activities(program, how):
    """As in NVIDIA's sample: it says which, gives buffers then, and is no subscriber. What it has said holds, though we end there."""
    command = program.client(how, "activities")
    plain, (run, trace) = program.run(command, shim=False), program.trace(command)
    assert run.stdout == plain.stdout == f"kernels {ROUNDS}, copies {2 * ROUNDS}, calls 0\n"
    assert [level.why for level in trace.levels()] == [AS_ASKED, YIELDED]


@pytest.mark.parametrize("how", ["linked", "dlsym"])
def test_the_programs_own_profiler_where_nothing_can_be_recorded(program, how):
    """There is no file to write what was measured to; CUPTI is the program's all the same."""
    command = program.client(how, "after")
    plain, run = program.run(command, shim=False), program.run(command, GPUSHIM_OUT="/proc/nowhere")
    assert (run.status, run.stdout, run.stderr) == (0, plain.stdout, plain.stderr) and "subscribe: 0\n" in plain.stdout
    assert not run.traces()


@pytest.mark.parametrize("when", ["never", "found"])
@pytest.mark.parametrize("how", ["linked", "dlsym"])
def test_a_program_that_only_could_profile(program, how, when):
    """It has looked up CUPTI's functions, as PyTorch has wherever it could profile, and called none of them."""
    run, trace = program.trace(program.client(how, when))
    assert [level.why for level in trace.levels()] == [AS_ASKED, ENDS]
    assert Counter(map(of_trace, trace.activities())) == Counter(map(of_truth, truth(run)))


FLUSH_MS = 200


def test_what_other_threads_launch_while_cupti_is_given_up(program):
    """That takes as long as CUPTI needs to hand over what it has. From its beginning on nobody promises their times, and edges bound them."""
    run, trace = program.trace(program.client(name="client_beside"), f"slow={FLUSH_MS}")
    assert run.stdout == "subscribe: 0\n"
    first, second = trace.levels()
    assert (first.why, second.why) == (AS_ASKED, YIELDED)
    launches, measured = trace.launches(), {(a.stream, a.seq) for a in trace.activities()}
    before = {place for place, begin in launches.items() if begin < second.ticks}
    amid = {place for place, begin in launches.items() if 0 <= begin - second.ticks < trace.ticks_in(FLUSH_MS / 2)}
    assert len(before) >= 300 and len(before - measured) <= 1  # one was running
    assert len(amid) > 50 and len(amid - measured) > 40
    assert min(begin for *_, begin in trace.of(gst.EDGE, "<4IQ")) - second.ticks < trace.ticks_in(FLUSH_MS / 2)
    losses = run.report()["losses"]
    assert losses["operations_lost"] == len(before - measured) and losses["operations_unlinked"] == 0


NAMES = ["cuptiSubscribe", "cuptiSubscribe_v2", "cuptiActivityRegisterCallbacks", "cuptiActivityRegisterCallbacks_v2", "cuptiActivityEnable",
         "cuptiFinalize"]


@pytest.mark.parametrize("level", ["cupti", "host"])
def test_where_there_is_no_libcupti_its_names_are_not_there(program, level):
    """We export some of them; by dlsym they are found where they would be without us."""
    looks = (f"import ctypes\ncuda = ctypes.CDLL('libcuda.so.1')\ncuda.cuInit(0)\nhandles = [ctypes.CDLL(None), cuda]\n"
             f"print([name for name in {NAMES} for library in handles if hasattr(library, name)])\n"
             "cupti = ctypes.CDLL('libcupti.so.13')\n"
             f"print([hasattr(cupti, name) for name in {NAMES}])")
    command = [sys.executable, "-c", looks]
    plain, recorded = program.run(command, shim=False), program.run(command, GPUSHIM_DEVICE=level)
    assert (recorded.status, recorded.stdout, recorded.stderr) == (0, plain.stdout, "")
    assert plain.stdout == "[]\n[True, False, True, False, True, False]\n"


FORKS = {"fork-cuda": 2, "fork-after": 2, "fork": 1, "vfork-exec": 1, "spawn": 2, "clone": 4, "fork-amid": 51, "handler": 2}


@pytest.mark.parametrize("case", FORKS)
def test_children(program, recorder, case):
    """A forked child of a process with CUPTI has none; one that begins by itself has."""
    _, done = survival.survives(recorder, recorder.command("survive_forks_linked", case), 0, processes=FORKS[case], env=program.environment())
    whys = Counter(tuple(level.why for level in Trace(path).levels()) for path in done.traces())
    whole = 2 if case in ("fork-cuda", "spawn") else 1
    assert whys == Counter({(AS_ASKED, ENDS): whole, (FORKED,): FORKS[case] - whole}) - Counter()


@pytest.mark.parametrize("case", ["exit", "_exit", "quick_exit", "exit-elsewhere", "SIGSEGV", "SIGKILL", "exec"])
def test_ends(program, recorder, case):
    """However it ends, the trace is a good one; at exit() all that is done is in it."""
    command = recorder.command("survive_exits_linked", case)
    plain = survival.run(recorder, command, shim=False, env=program.environment())
    done = survival.run(recorder, command, env=program.environment())
    assert survival.outcome(done) == survival.outcome(plain)
    for path in done.traces():
        trace = Trace(path)
        assert trace.header_level() == CUPTI and trace.levels()[0].why == AS_ASKED
