# SPDX-License-Identifier: BSD-2-Clause
"""What programs say through NVTX is recorded as they say it, where the slot for a tool is free; and who has the slot keeps it."""

import signal
import struct
import subprocess
import sys

import pytest
from nvtx_records import ATTACHED, CATEGORY, MARK, OFF, OURS, PUSHED, STARTED, TAKEN, Trace

VARIABLE = "NVTX_INJECTION64_PATH"


@pytest.fixture(scope="module")
def client(build):
    program = build / "nvtx" / "client_ranges"
    if not program.exists():
        pytest.skip("without NVTX's headers it was not built")
    return program


@pytest.fixture
def run(recorder, client):
    """A finished run of the client's acts, and the one trace it left."""
    def go(*acts, env=None, status=0, stderr=""):
        done = recorder.run([str(client), *map(str, acts)], env={VARIABLE: None, **(env or {})})
        assert done.status == status and (stderr is None or done.stderr == stderr), (done.status, done.stderr)
        return done, Trace(done.traces()[0]) if done.out.exists() else None
    return go


def brief(trace):
    return [(one.domain, one.name, one.level, one.kind) for one in trace.ranges]


def test_pushed_and_popped(run):
    """The levels are those that a tool returns, and each range lies within those around it."""
    done, trace = run("driver", "pushed")
    assert done.stdout == "pushed 0 1 1 1 1 0 -1\n"
    assert brief(trace) == [(None, "outer", 0, PUSHED), (None, "inner", 1, PUSHED), (None, "grüß 😀", 1, PUSHED)]
    outer, inner, wide = trace.ranges
    assert outer.begin <= inner.begin <= inner.end <= wide.begin <= wide.end <= outer.end
    assert {one.tid for one in trace.ranges} == {one.writer for one in trace.ranges}
    assert len(trace.records) == 6, "each when it begins, and when it ends"
    assert trace.said == [(OURS, None, 0, None), (ATTACHED, None, 1, None)]
    assert trace.untracked == 0


def test_domains_categories_registered_strings(run):
    """Each domain has levels of its own; a range ends with its own domain's pop, whatever stands above it."""
    done, trace = run("driver", "domains")
    assert done.stdout == "domains 0 0 0 0 0 0\n"
    assert brief(trace) == [("alpha", "in alpha", 0, PUSHED), (None, "in default", 0, PUSHED), ("beta", "registered 41", 0, PUSHED)]
    alpha, default, beta = trace.ranges
    assert (alpha.category, alpha.payload, default.category, default.payload) == (7, 2.5, 0, None)
    assert alpha.end <= default.end <= beta.end
    assert trace.said[2:] == [(CATEGORY, "alpha", 7, "seven"), (CATEGORY, None, 7, "default seven")]


def test_started_and_ended(run):
    """By any thread, in any order; an id that is nobody's, or was ended, is nothing."""
    done, trace = run("driver", "started")
    assert done.stdout == "started 1 1 1\n"
    assert brief(trace) == [(None, "started a", 0, STARTED), (None, "started w", 0, STARTED), ("gamma", "started ex", 0, STARTED)]
    a, w, ex = trace.ranges
    assert a.end <= ex.end <= w.end and a.writer == a.tid == w.writer == ex.tid
    assert ex.writer != ex.tid, "another thread ended it"
    assert ex.payload == -5


def test_marks(run):
    _, trace = run("driver", "marked")
    assert brief(trace) == [(None, "mark 3", 0, MARK), (None, "mark w", 0, MARK), (None, "mark ex", 0, MARK), ("alpha", "mark ex", 0, MARK)]
    assert all(one.begin == one.end for one in trace.ranges)
    assert trace.ranges[2].payload == 2**64 - 1
    assert "mark " in trace.texts.values() and "mark 3" not in trace.texts.values(), "the number stands apart"


def test_threads(run):
    done, trace = run("driver", "threads")
    assert done.stdout == "threads 0\n"
    for i in range(4):
        mine = trace.named(f"thread {i}")
        assert len(mine) == 500 and len({one.tid for one in mine}) == 1 and all(one.end for one in mine)
    assert len(trace.named("work")) == 2000 and len(trace.ranges) == 4000
    assert set(trace.texts.values()) == {"thread ", "work"}, "twice where two threads said it first at once"


def test_several_copies(run, build):
    """A library with a copy of its own: it is told of us too, and a domain of one name is one domain."""
    done, trace = run("driver", "copies", build / "nvtx/libcopy.so")
    assert done.stdout == "copies 0 1 1 0\n"
    assert brief(trace) == [("shared", "of the library", 0, PUSHED), ("shared", "of the program", 1, PUSHED)]
    assert [what for what in trace.said if what[0] == ATTACHED] == [(ATTACHED, None, 1, None), (ATTACHED, None, 2, None)]


def test_no_file_of_its_own(run):
    """A program that makes no driver call leaves no trace, whatever it says."""
    done, trace = run("pushed", "started")
    assert trace is None and done.stdout == "pushed 0 1 1 1 1 0 -1\nstarted 1 1 1\n"


def test_before_the_first_driver_call(run):
    """What is open then is there, with its own begin; what had ended is not."""
    _, trace = run("pushed", "push", "early", "start", "started early", "driver", "push", "late", "pop", "pop")
    assert [(one.name, bool(one.end)) for one in trace.ranges] == [("early", True), ("started early", False), ("late", True)]
    early, started, late = trace.ranges
    assert early.begin < started.begin < late.begin < late.end < early.end
    assert early.tid == started.tid == late.tid


def test_killed(run):
    """Open ranges are known, but for those deep inside others."""
    done, trace = run("driver", "push", "step 57", "push", "forward", "push", "layer", "push", "deep", "start", "epoch", "kill",
                      status=-signal.SIGKILL)
    assert [(one.name, one.end) for one in trace.ranges] == [("step 57", 0), ("forward", 0), ("layer", 0), ("epoch", 0)]


def test_hostile(run):
    """Nothing is read beyond its end or the limit; nonsense is no name."""
    done, trace = run("driver", "hostile")
    assert done.stdout == "hostile -1\n"
    assert [one.name for one in trace.ranges] == [
        "edge!", "x" * 512, "\ufffd" + "ä" * 255, None, "", "007", "big 12345678901234567890", "\x1b[2J\n\ufffd\ufffd", "a\ufffd\ufffdb",
        None, None, None, None, None]
    assert trace.untracked == 0


def test_as_many_as_there_are(run):
    """Names that only count are one text; of too many others the rest has no name, and is counted; the ranges are all there."""
    _, trace = run("driver", "many", 20000)
    assert len(trace.ranges) == 40000 and len({one.range for one in trace.ranges}) == 40000
    assert [one.name for one in trace.ranges if one.level == 0] == [f"step {i}" for i in range(20000)]
    different = [one.name for one in trace.ranges if one.level == 1]
    known = [name for name in different if name]
    assert 5000 < len(known) < 8192 and known == [f"{i} different" for i in range(20000) if different[i]]
    assert trace.untracked == 20000 - len(known)
    assert len(trace.texts) == len(known) + 1


def test_deep(run):
    done, trace = run("driver", "deep")
    assert done.stdout == "deep 0\n"
    assert [one.level for one in trace.ranges] == list(range(64)) and trace.untracked == 200 - 64


def test_more_domains_than_fit(run):
    _, trace = run("driver", "more-domains")
    assert [one.domain for one in trace.ranges] == [f"domain {i}" for i in range(63)] + [None] * 37
    assert trace.untracked == 37


@pytest.mark.parametrize("acts", [["forked"], ["driver", "forked"]], ids=["before", "after"])
def test_fork(recorder, client, acts):
    """The child's file has its own ranges: those the parent opened where it had no file yet are still open in the child."""
    done = recorder.run([str(client), *acts], env={VARIABLE: None})
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.startswith("forked 1 ")
    traces = [Trace(path) for path in done.traces()]
    child = next(trace for trace in traces if trace.named("of the child"))
    late = {"before its file", "of the child"}
    assert {one.name for one in child.ranges} == (late if "driver" in acts else late | {"of the parent"})
    assert len({one.tid for one in child.ranges}) == 1
    if "driver" in acts:
        parent, = (trace for trace in traces if trace is not child)
        assert [one.name for one in parent.ranges] == ["of the parent"]


def test_signal_handlers(run):
    done, trace = run("driver", "signals")
    what, wrong, pushes, handled = done.stdout.split()
    assert (what, wrong) == ("signals", "0") and int(handled) >= 200
    assert len(trace.named("interrupted")) == int(pushes) and len(trace.named("handler")) == int(handled)
    assert {one.level for one in trace.named("handler")} <= {0, 1} and all(one.end for one in trace.ranges)


def test_structured_payloads(run):
    """As NCCL has them: what the fields are called, and the bytes."""
    done, trace = run("driver", "payloads")
    assert done.stdout == "payloads 0 0 0 0 1 1 1 1\n"
    reduce, split, *marks = trace.ranges
    assert (reduce.name, split.name, reduce.domain) == ("ncclAllReduce", "ncclCommSplit", "NCCL")
    schema = "0 u64 NCCL communicator ID\n8 u64 Message size [bytes]\n16 u32 Reduction operation\t0=Sum\t1=Product\n"
    plain = "0 u64 NCCL communicator ID\n8 u64 Message size [bytes]\n"  # in the default domain there is no such enumeration
    first, second, third, fourth = trace.data
    assert (first.range, first.schema, first.size, first.kept[:20]) == (reduce.range, schema, 24, struct.pack("<QQI", 0xabcdef, 4096, 1))
    assert (second.range, second.schema, second.size, second.kept[:20]) == (split.range, schema, 24, struct.pack("<QQI", 0x77, 8192, 0))
    assert (third.range, third.schema, third.size) == (marks[0].range, plain, 24)
    assert (fourth.range, fourth.schema, fourth.kept) == (marks[1].range, "0 f64 \n", struct.pack("<d", 1.5))


# ---- the slot -------------------------------------------------------------------------------------------------------------


def test_the_slot_is_taken(run, build, recorder):
    """Somebody else's tool gets everything, we nothing, and say so."""
    tool = build / "nvtx/libtool.so"
    done, trace = run("driver", "pushed", env={VARIABLE: tool, "GPUSHIM_LOG": 1},
                      stderr=f"gpushim: {tool} is in {VARIABLE}: NVTX ranges are not recorded\n")
    assert done.stdout == "pushed 100 101 200 -2 201 202 203\ntool: 2 pushed, 4 popped\n"
    assert (trace.said, trace.ranges) == ([(TAKEN, None, 0, str(tool))], [])
    info = "".join(recorder.gpushim("info", done.out).stdout.split())
    assert f"NoNVTXranges:NVTX_INJECTION64_PATHbelongstoanothertool,{tool}"[:100] in info


def test_set_to_nothing(run):
    """Who sets it to the empty string wants no tool; that would find us, as we are in the program."""
    done, trace = run("driver", "pushed", env={VARIABLE: ""})
    assert done.stdout == "pushed -2 -2 -2 -2 -2 -2 -2\n" and trace.said == [(TAKEN, None, 0, "")]


def test_taken_by_the_program_itself(recorder, build):
    """At a time when we have been there already."""
    tool = build / "nvtx/libtool.so"
    if not tool.exists():
        pytest.skip("without NVTX's headers it was not built")
    program = f"""
import ctypes, os
ctypes.CDLL(None).setenv(b"{VARIABLE}", b"{tool}", 1)
ctypes.CDLL("libcuda.so.1").cuInit(0)
copy = ctypes.CDLL("{build}/nvtx/libcopy.so")
print(copy.copy_push(b"domain", b"name"))
"""
    done = recorder.run([sys.executable, "-c", program], env={VARIABLE: None})
    assert (done.status, done.stdout, done.stderr) == (0, "-2\ntool: 0 pushed, 0 popped\n", "")
    assert Trace(done.traces()[0]).said == [(TAKEN, None, 0, str(tool))]


def test_no_error_of_the_loaders_is_left(run):
    done, _ = run("dlerror")
    assert done.stdout == "dlerror (null)\n"


@pytest.mark.parametrize("off", [{"GPUSHIM_NVTX": "off"}, {"GPUSHIM": "off"}], ids=["nvtx", "all"])
def test_off(run, off):
    done, trace = run("variable", "driver", "pushed", env=off)
    assert done.stdout == "variable (null)\npushed -2 -2 -2 -2 -2 -2 -2\n"
    if "GPUSHIM_NVTX" in off:
        assert (trace.said, trace.ranges) == ([(OFF, None, 0, None)], [])
    else:
        assert trace is None


def test_found_by_the_variable_alone(shim, build):
    """NVTX that is told to look among what is loaded (NVTX_SUPPORT_ALREADY_INJECTED_LIBRARY) comes to whoever else is there."""
    for library in (shim, build / "twin/libcuda.so.1"):
        names = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.split()
        assert "InitializeInjectionNvtx2" in names and not [name for name in names if "Preinject" in name]


def test_children(recorder, client):
    """One with us records for itself; one that has lost us finds no library of that name, and goes on as if there were no tool."""
    done = recorder.run([str(client), "variable", "exec", str(client), "driver", "pushed"], env={VARIABLE: None})
    assert (done.status, done.stdout) == (0, "variable libgpushim.so\npushed 0 1 1 1 1 0 -1\n")
    assert len(Trace(done.traces()[0]).ranges) == 3
    done = recorder.run([str(client), "variable", "exec", "env", "-u", "LD_PRELOAD", str(client), "driver", "pushed"], env={VARIABLE: None})
    assert (done.status, done.stdout) == (0, "variable libgpushim.so\npushed -2 -2 -2 -2 -2 -2 -2\n")
    assert not done.out.exists()


def test_the_twin(recorder, client, build):
    """Its own name is the driver's: the slot has its path."""
    twin = build / "twin/libcuda.so.1"
    done = recorder.run([str(client), "variable", "driver", "pushed"], env={VARIABLE: None, "LD_PRELOAD": twin})
    assert (done.status, done.stdout) == (0, f"variable {twin}\npushed 0 1 1 1 1 0 -1\n")
    assert len(Trace(done.traces()[0]).ranges) == 3


def test_recycled(run):
    """Texts outlive the segments they stood in, and so does whose slot it is."""
    _, trace = run("driver", "many", 20000, env={"GPUSHIM_LIMIT": "1M"})
    kept = [one for one in trace.ranges if one.level == 0]
    assert 0 < len(kept) < 20000 and kept[-1].name == "step 19999"
    assert (OURS, None, 0, None) in trace.said


# ---- the real one ---------------------------------------------------------------------------------------------------------

NCCL = """
import ctypes, sys
ctypes.CDLL("libcuda.so.1").cuInit(0)
nccl = ctypes.CDLL(sys.argv[1])
print(nccl.ncclGetUniqueId((ctypes.c_char * 128)()), nccl.ncclGroupStart(), nccl.ncclGroupEnd(), nccl.ncclAllReduce(None, None, ctypes.c_size_t(4), 7, 2, None, None))
"""


def test_nvidias_nccl(recorder, build):
    """Its own copy of NVTX calls us; what an all-reduce says of itself, even one without a communicator, is as its header has it."""
    library = build / "nccl-wheel/libnccl.so.2"
    if not library.exists():
        pytest.skip("NVIDIA's NCCL was not fetched (scripts/setup.sh nccl)")
    done = recorder.run([sys.executable, "-c", NCCL, str(library)], env={VARIABLE: None})
    assert (done.status, done.stdout) == (0, "0 0 0 4\n"), done.stderr
    trace = Trace(done.traces()[0])
    assert [(one.domain, one.name) for one in trace.ranges] == [("NCCL", name) for name in ("ncclGroupStart", "ncclGroupEnd", "ncclAllReduce")]
    data, = trace.data
    assert data.schema == ("0 u64 NCCL communicator ID\n8 u64 Message size [bytes]\n"
                           "16 u32 Reduction operation\t0=Sum\t1=Product\t2=Max\t3=Min\t4=Avg\n")
    assert data.range == trace.ranges[-1].range and struct.unpack_from("<QQI", data.kept) == (0, 16, 2)
