# SPDX-License-Identifier: BSD-2-Clause
"""What Perfetto, chrome://tracing and tools made for Kineto's files need of `gpushim export --chrome`: a test for each rule."""

import json
import re
import subprocess
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parent.parent / "golden"

# Two processes, one with the number of the device; two streams at once; every kind of copy; a collective; names that could break JSON
# or steer a terminal; a launch that failed; a graph.
MANY = """
process 1 exited=1 end=40ms
thread 1 main
device 0 name=Test
stream 1
stream 2
launch t=1000us..1002us stream=1 seq=1 kernel=gemm"quoted"\\back
launch t=1003us..1005us stream=2 seq=1 kernel=ncclDevKernel_AllReduce_Sum_f32
launch t=1006us..1008us stream=1 seq=2 kernel=other
launch t=1009us..1010us stream=1 seq=3 kernel=failed result=1
edge 1 t=1011us..1012us stream=1 covers=2 fired=4000us done=4300us
edge 2 base=1 t=1013us..1014us stream=2 covers=1 fired=3000us done=4300us
sync-context t=1020us..4010us context=7
copy t=6000us..6010us stream=1 seq=4 kind=h2d-pageable bytes=1000
copy t=6011us..6020us stream=1 seq=5 kind=h2d-pinned bytes=1000
copy t=6021us..6030us stream=1 seq=6 kind=d2h-pinned bytes=1000
copy t=6031us..6040us stream=1 seq=7 kind=d2d bytes=1000
memset t=6041us..6050us stream=1 seq=8 bytes=64
copy t=6051us..7000us stream=1 seq=9 kind=d2h-pageable bytes=1000 flags=blocking
process 200 exited=1 end=40ms
thread 200 main
device 0 name=Test
stream 1
launch t=9000us..9002us stream=1 seq=1 kernel=gemm
sync-stream t=9003us..12000us stream=1 seq=1
"""


@pytest.fixture(scope="module")
def files(build, gpushim, tmp_path_factory):
    """name → (text, the parsed file) of every golden trace and of MANY."""
    made = {}
    folder = tmp_path_factory.mktemp("chrome")
    (folder / "many.txt").write_text(MANY)
    traces = {"many": folder / "many.txt", **{p.parent.name: p for p in sorted(GOLDEN.glob("*/trace.txt"))}}
    for name, trace in traces.items():
        subprocess.run([build / "tools/gst_write", trace, folder / name], check=True)
        out = folder / f"{name}.json"
        subprocess.run([gpushim, "export", folder / name, "--chrome", out], check=True, stderr=subprocess.DEVNULL)
        text = out.read_text()
        made[name] = text, json.loads(text)
    return made


@pytest.fixture(params=["many", *sorted(p.parent.name for p in GOLDEN.glob("*/trace.txt"))])
def file(request, files):
    return files[request.param]


def slices(file, *categories):
    return [e for e in file[1]["traceEvents"] if e["ph"] == "X" and (not categories or e["cat"] in categories)]


DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def ns(microseconds):
    return round(microseconds * 1000)


def test_one_event_per_line(file):
    lines = file[0].splitlines()
    events = [line for line in lines if line.startswith('{"ph"')]
    assert len(events) == len(file[1]["traceEvents"])
    for line in events:
        json.loads(line.rstrip(","))


def test_rank_is_written_with_the_space(file):
    assert re.search(r'"distributedInfo": \{[^}]*"rank": 0[,}]', file[0])


def test_times_are_relative_microseconds_with_three_decimals(file):
    for text in re.findall(r'"(?:ts|dur)":([^,}]*)', file[0]):
        assert re.fullmatch(r"\d+\.\d{3}", text), text


def test_times_count_from_the_begin_of_the_run(files):
    """A trace of text begins one second after the boot: a time of the boot's clock would read 1,001,000 here."""
    launch = next(e for e in files["many"][1]["traceEvents"] if e["name"] == "cuLaunchKernel")
    assert (launch["ts"], launch["dur"]) == (1000.0, 2.0)


def test_ids_fit_32_bits(file):
    for event in file[1]["traceEvents"]:
        assert 0 <= event["pid"] < 2**32 and 0 <= event["tid"] < 2**32


def test_phases_are_slices_counters_and_metadata(file):
    assert {event["ph"] for event in file[1]["traceEvents"]} <= {"X", "M", "C"}


def test_counters_are_of_devices_and_go_forward(file):
    """Perfetto makes one track of (pid, name, key) and draws the values in the order of time."""
    devices = {event["pid"] for event in file[1]["traceEvents"] if event["ph"] == "M" and event["args"].get("name", "").startswith("device ")}
    counters = [event for event in file[1]["traceEvents"] if event["ph"] == "C"]
    assert {event["pid"] for event in counters} <= devices
    for event in counters:
        assert event["name"] == "memory" and "dur" not in event
        assert all(isinstance(value, int) and value >= 0 for value in event["args"].values())
    for pid in devices:
        times = [event["ts"] for event in counters if event["pid"] == pid]
        assert times == sorted(set(times))


def test_device_work_has_stream_and_correlation(file):
    work = slices(file, *DEVICE)
    for event in work:
        assert isinstance(event["args"]["stream"], int) and isinstance(event["args"]["correlation"], int)
        assert event["tid"] == event["args"]["stream"] or event["tid"] >= 4000000
    others = [e for e in slices(file) if e["cat"] not in DEVICE and e["name"] != "work not known"]
    assert all("stream" not in event["args"] for event in others)


def test_each_work_has_its_launch(file):
    launches = {e["args"]["correlation"]: e for e in slices(file, "cuda_driver") if "correlation" in e["args"]}
    work = slices(file, *DEVICE)
    several = {"graph", "pieces"}  # a graph's nodes have one launch together
    alone = [e["args"]["correlation"] for e in work if not several & set(e["args"])]
    assert len(set(alone)) == len(alone)
    assert not set(alone) & {e["args"]["correlation"] for e in work if several & set(e["args"])}
    for event in work:
        if event["args"].get("launch") == "not known":
            assert event["args"]["correlation"] not in launches
            continue
        launch = launches[event["args"]["correlation"]]
        assert launch["ts"] <= event["ts"]


def test_flows_go_from_launch_to_work(file):
    """An arrow is two slices with one bind_id: of each launch one begins, and ends at the first of its work on one device; in the file the launch
    comes first, as both may have one time, and a viewer drops an arrow whose end it meets before its begin."""
    first = {}  # the first in time of each, on each device
    for event in sorted((e for e in slices(file, *DEVICE) if "launch" not in e["args"]), key=lambda e: e["ts"]):
        first.setdefault(event["args"]["correlation"], {}).setdefault(event["pid"], event)
    flows = [e for e in slices(file) if "bind_id" in e]
    begins, ends = ([e for e in flows if key in e] for key in ("flow_out", "flow_in"))
    assert len(begins) + len(ends) == len(flows)
    assert sorted(e["bind_id"] for e in begins) == sorted(e["bind_id"] for e in ends) == sorted(first)
    assert all(e["cat"] == "cuda_driver" and e["flow_out"] is True and e["bind_id"] == e["args"]["correlation"] for e in begins)
    assert all(e["flow_in"] is True and e in first[e["bind_id"]].values() for e in ends)
    assert not begins or file[1]["traceEvents"].index(begins[-1]) < file[1]["traceEvents"].index(ends[0])


def test_measured_work_is_where_it_was_measured(files):
    """To the nanosecond, and not as something that has bounds."""
    names = [name for name in files if name.startswith("cupti-")]
    assert len(names) > 5
    for name in names:
        trace = (GOLDEN / name / "trace.txt").read_text()
        spans = re.findall(r"^activity t=([\d.]+)us\.\.([\d.]+)us", trace, re.M)
        measured = sorted(round((float(end) - float(begin)) * 1000) for begin, end in spans)
        exact = [e for e in slices(files[name], *DEVICE) if "error_us" in e["args"]]
        assert sorted(ns(e["dur"]) for e in exact) == measured, name
        assert not [e for e in exact if {"earlier_us", "later_us"} & set(e["args"])]
        begins = sorted(ns(e["ts"]) for e in exact)
        wanted = sorted(round(float(begin) * 1000) for begin, _ in spans)
        assert [at - begins[0] for at in begins] == [at - wanted[0] for at in wanted], name


def test_no_partial_overlap_on_a_track(file):
    tracks = {}
    for event in slices(file):
        tracks.setdefault((event["pid"], event["tid"]), []).append((ns(event["ts"]), -ns(event["dur"])))
    for track, events in tracks.items():
        open_ends = []
        for begin, negative in sorted(events):
            end = begin - negative
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1], track
            open_ends.append(end)


def test_streams_hold_one_thing_at_a_time(file):
    last = {}
    for event in sorted(slices(file, *DEVICE), key=lambda e: e["ts"]):
        track = event["pid"], event["tid"]
        assert ns(event["ts"]) >= last.get(track, 0)
        last[track] = ns(event["ts"]) + ns(event["dur"])


def test_idle_slices_carry_cause_and_evidence(file):
    for event in slices(file, "idle"):
        assert event["args"]["cause"] and isinstance(event["args"]["evidence"], list)
        assert event["args"]["confidence"] in ("observed", "inferred")
        assert event["name"] == "idle: " + event["args"]["cause"]


def test_idle_and_work_do_not_meet(file):
    """Device-wide: where idle is claimed, nothing is drawn."""
    for device in {e["pid"] for e in slices(file, "idle")}:
        work = sorted((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in slices(file, *DEVICE) if e["pid"] == device)
        for event in slices(file, "idle"):
            if event["pid"] == device:
                begin, end = ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])
                assert not [w for w in work if w[0] < end and w[1] > begin]


def test_every_moment_is_work_or_idle(file):
    """Readers take for idle what no work is drawn over: it must be what we call idle, no more."""
    for device in {e["pid"] for e in slices(file, *DEVICE)}:
        drawn = [e for e in slices(file) if e["pid"] == device and ("stream" in e["args"] or e["cat"] == "idle")]
        spans = sorted((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in drawn)
        covered = spans[0][0]
        for begin, end in spans:
            assert begin <= covered, f"device {device}: nothing is drawn from {covered} to {begin}"
            covered = max(covered, end)


def test_bounded_work_says_how_far_it_could_move(files):
    """Each ran at some time between its launch and the end of the wait for the event behind both."""
    for name, launch in (('gemm"quoted"\\back', 1000.0), ("other", 1006.0)):
        event = next(e for e in slices(files["many"], "kernel") if e["name"] == name)
        begin = event["ts"] - event["args"].get("earlier_us", 0)
        assert round(begin, 3) == launch
        assert round(event["ts"] + event["dur"] + event["args"]["later_us"], 3) == 4010.0


def test_processes_and_threads_have_names(file):
    events = file[1]["traceEvents"]
    processes = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    threads = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    for event in slices(file):
        assert event["pid"] in processes
        assert (event["pid"], event["tid"]) in threads


def test_names_keep_their_meaning(files):
    names = {e["name"]: e["cat"] for e in slices(files["many"])}
    assert names["Memcpy HtoD (Pageable -> Device)"] == "gpu_memcpy"
    assert names["Memcpy HtoD (Pinned -> Device)"] == "gpu_memcpy"
    assert names["Memcpy DtoH (Device -> Pinned)"] == "gpu_memcpy"
    assert names["Memcpy DtoH (Device -> Pageable)"] == "gpu_memcpy"
    assert names["Memcpy DtoD (Device -> Device)"] == "gpu_memcpy"
    assert names["Memset (Device)"] == "gpu_memset"
    assert names["ncclDevKernel_AllReduce_Sum_f32"] == "kernel"
    assert names["cuLaunchKernel"] == "cuda_driver"


def test_awkward_names_survive(files):
    assert 'gemm"quoted"\\back' in {e["name"] for e in slices(files["many"], "kernel")}


def test_a_process_with_the_number_of_a_device_stays_apart(files):
    events = files["many"][1]["traceEvents"]
    names = [e for e in events if e["name"] == "process_name"]
    assert len({e["pid"] for e in names}) == len(names) == 3


def test_failed_launches_have_no_work(files):
    failed = [e for e in slices(files["many"], "cuda_driver") if e["args"].get("result")]
    assert len(failed) == 1 and "correlation" not in failed[0]["args"]


def test_standard_output(build, gpushim, tmp_path):
    subprocess.run([build / "tools/gst_write", GOLDEN / "cause-allocator/trace.txt", tmp_path / "run"], check=True)
    done = subprocess.run([gpushim, "export", tmp_path / "run", "--chrome", "-"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["traceEvents"]


def test_a_full_disk_is_an_error(build, gpushim, tmp_path):
    subprocess.run([build / "tools/gst_write", GOLDEN / "cause-allocator/trace.txt", tmp_path / "run"], check=True)
    done = subprocess.run([gpushim, "export", tmp_path / "run", "--chrome", "/dev/full"], capture_output=True, text=True)
    assert done.returncode == 4 and done.stderr.startswith("gpushim: /dev/full: cannot write")
    done = subprocess.run(f"{gpushim} report --json {tmp_path}/run >/dev/full", shell=True, capture_output=True, text=True)
    assert done.returncode == 4 and "cannot write" in done.stderr


def test_collectives_are_named_as_kineto_names_them(files):
    """record_param_comms's arguments, on a track beside the thread's driver calls; questions of the recorder's are not there."""
    events = slices(files["nccl"], "nccl")
    (reduce,) = [e for e in events if e["name"] == "ncclAllReduce" and e["pid"] == 100]
    assert {key: reduce["args"][key] for key in ("Collective name", "dtype", "In msg nelems", "Out msg nelems", "Group size", "Rank", "Seq")} == {
        "Collective name": "all_reduce", "dtype": "float32", "In msg nelems": 1000000, "Out msg nelems": 1000000, "Group size": 4, "Rank": 1,
        "Seq": 1}
    assert reduce["dur"] == 20.0
    assert reduce["tid"] not in {e["tid"] for e in slices(files["nccl"], "cuda_driver")}
    assert len({e["args"]["Process Group Name"] for e in events if e["name"] == "ncclAllReduce"}) == 1  # both ranks'
    assert not [e for e in events if e["name"] == "ncclCommCuDevice"]


def test_steps_by_launches_have_a_track(files):
    """Each from its first submission on; no name is ProfilerStep#, of which some readers leave out what is after the last."""
    steps = slices(files["steps-by-launches"], "user_annotation")
    names = [e["name"] for e in steps]
    whole = [*(f"step {n}" for n in range(5)), "after step 4", *(f"step {n}" for n in range(5, 12))]
    assert names == [name for name in whole if name in names] and {"after step 4", "step 7"} <= set(names), "those near the longest gaps"
    assert len({e["tid"] for e in steps}) == 1 and steps[0]["args"]["by"] == "launches"
    copies = [e for e in slices(files["steps-by-launches"], "cuda_driver") if e["name"].startswith("cuMemcpy")]
    assert {e["ts"] for e in steps} <= {e["ts"] for e in copies}
    assert not [e for e in slices(files["nvtx-phases"]) if e["args"].get("by") == "launches"], "the ranges are there themselves"


def test_ranges_are_annotations_beside_the_calls(files):
    """What the program says through NVTX, as Kineto calls it: on the thread's own track, with what it is about; a mark lasts no time."""
    events = slices(files["nvtx-other-thread"], "user_annotation")
    assert [(e["name"], e["ts"], e["dur"]) for e in events if e["name"].startswith("step")] == [("step 1", 1000.0, 950.0), ("step 2", 2000.0, 950.0)]
    reduce = [e for e in events if e["name"] == "ncclAllReduce"]
    assert [e["args"] for e in reduce] == [{"domain": "NCCL", "details": "NCCL communicator ID 0xabcdef012345, Message size [bytes] 4096"}] * 2
    assert len({e["tid"] for e in events}) == 2 and not {e["tid"] for e in events} & {e["tid"] for e in slices(files["nvtx-other-thread"], "cuda_driver")}
    done, = (e for e in slices(files["nvtx-phases"], "user_annotation") if e["name"] == "done")
    assert done["dur"] == 0.0
    checkpoint, = (e for e in slices(files["nvtx-side-by-side"], "user_annotation") if e["name"] == "checkpoint")
    assert checkpoint["args"]["not ended"] == 1
