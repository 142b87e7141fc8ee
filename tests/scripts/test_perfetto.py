# SPDX-License-Identifier: BSD-2-Clause
"""`gpushim export --perfetto`, decoded by the perfetto package's own classes: the same slices, arrows and counters as in the Chrome form, on
the same tracks, in a fifth of its bytes."""

import gzip
import json
import resource
import signal
import subprocess
from bisect import bisect
from collections import Counter
from pathlib import Path

import pytest

from perfetto_trace import Decoded, packet_bytes

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
LINKS = {"device", "stream", "correlation"}  # what tracks and arrows say
BYTES, BYTES_JSON = 100, 400  # of a launch: its slice, the arrow and the kernel's slice, but for names


def ns(microseconds):
    return round(microseconds * 1000)


def exported(gpushim, folder, into, *options):
    """Both forms of a run: Perfetto's, decoded, and Chrome's, parsed."""
    subprocess.run([gpushim, "export", *folder, "--perfetto", into / "t.pftrace", "--chrome", into / "t.json", *options], check=True,
                   stderr=subprocess.DEVNULL)
    return Decoded((into / "t.pftrace").read_bytes()), json.loads((into / "t.json").read_text())


class Chrome:
    """The same things of a Chrome trace."""

    def __init__(self, trace):
        self.events = trace["traceEvents"]
        named = [e for e in self.events if e["ph"] == "M" and e["name"].endswith("_name")]
        self.process = {e["pid"]: e["args"]["name"] for e in named if e["name"] == "process_name"}
        self.thread = {(e["pid"], e["tid"]): e["args"]["name"] for e in named if e["name"] == "thread_name"}
        self.slices = [e for e in self.events if e["ph"] == "X"]

    def place(self, event):
        return self.process[event["pid"]], self.thread[event["pid"], event["tid"]]


def in_ns(args):
    """Chrome's arguments as Perfetto has them."""
    out = {}
    for key, value in args.items():
        if key.endswith("_us"):
            key, value = key[:-3] + "_ns", ns(value)
        out[key] = value
    if "grid" in out:
        out["grid x threads"] = f"{','.join(map(str, out.pop('grid')))} x {out.pop('threads')}"
    return out


def without_links(args):
    return {key: value for key, value in args.items() if key not in LINKS}


def frozen(args):
    return json.dumps(args, sort_keys=True)


def same(decoded, chrome):
    ours = Counter((decoded.parent_name(s.track), s.track.name, s.category, s.name, s.begin_ns, s.end_ns, frozen(without_links(s.args)))
                   for s in decoded.slices)
    theirs = Counter((*chrome.place(e), e["cat"], e["name"], ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), frozen(without_links(in_ns(e["args"]))))
                     for e in chrome.slices)
    assert ours == theirs

    arrows = {flow: slice for slice in decoded.slices for flow in slice.flow_from}
    ends = {flow: slice for slice in decoded.slices for flow in slice.flow_to}
    begins_json = {e["bind_id"]: e for e in chrome.slices if "flow_out" in e}
    ends_json = {e["bind_id"]: e for e in chrome.slices if "flow_in" in e}
    assert sum(len(s.flow_from) + len(s.flow_to) for s in decoded.slices) == len(arrows) + len(ends)
    for mine, other in ((arrows, begins_json), (ends, ends_json)):
        assert mine.keys() == other.keys()
        for flow, slice in mine.items():
            assert (decoded.parent_name(slice.track), slice.track.name) == chrome.place(other[flow])
            assert (slice.name, slice.begin_ns) == (other[flow]["name"], ns(other[flow]["ts"]))

    counted = Counter((decoded.parent_name(c.track), c.track.name, c.at_ns, c.value) for c in decoded.counters)
    assert counted == Counter((chrome.process[e["pid"]], f"{e['name']}: {key}", ns(e["ts"]), value)
                              for e in chrome.events if e["ph"] == "C" for key, value in e["args"].items())
    places = {flow: i for i, s in enumerate(decoded.slices) for flow in s.flow_from}
    assert all(places[flow] < i for i, s in enumerate(decoded.slices) for flow in s.flow_to), "or a viewer drops what begins at one time"
    return len(ours), len(arrows), len(counted)


@pytest.fixture(scope="module")
def write(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")

    def written(name):
        into = folder / name
        if not into.exists():
            subprocess.run([build / "tools/gst_write", GOLDEN / name / "trace.txt", into], check=True)
        return into

    return written


@pytest.mark.parametrize("name", sorted(p.parent.name for p in GOLDEN.glob("*/trace.txt")))
def test_golden_traces_are_the_same(gpushim, write, tmp_path, name):
    slices, _, _ = same(*(make(form) for make, form in zip((lambda d: d, Chrome), exported(gpushim, [write(name)], tmp_path, "--all"))))
    assert slices


@pytest.fixture(scope="module")
def launches(recorder):
    run = recorder.run(recorder.command("launch_bound_linked", 5000, 2, 0))
    assert run.status == 0, run.stderr
    return run


@pytest.fixture(scope="module")
def training(recorder):
    run = recorder.run(recorder.command("train.py", "--steps", 20, "--workers", 1, "--item-each-layer", "--compute-ms", 3, "--checkpoint-every", 10,
                                        "--allocs", 2))
    assert run.status == 0, run.stderr
    return run


@pytest.fixture(params=["launches", "training"])
def forms(request, gpushim, tmp_path):
    run = request.getfixturevalue(request.param)
    decoded, chrome = exported(gpushim, [run.out], tmp_path, "--all")
    return run, decoded, Chrome(chrome), tmp_path


def test_recorded_runs_are_the_same(forms):
    run, decoded, chrome, _ = forms
    slices, arrows, counters = same(decoded, chrome)
    assert slices > 2000 and arrows == sum(device["operations"] for device in run.report()["devices"])
    assert counters or not [e for e in chrome.events if e["ph"] == "C"]


def test_bytes_of_a_launch(forms):
    """Both forms of both runs; names are counted apart, as they are of any length, and in Perfetto's form they are there once."""
    _, decoded, chrome, folder = forms
    ends = [s for s in decoded.slices if s.flow_to]
    ours = sum(packet_bytes(p) for s in decoded.slices if s.flow_to or s.flow_from for p in s.packets) / len(ends)
    lines = [line.rstrip(",") for line in (folder / "t.json").read_text().splitlines() if '"bind_id":' in line]
    names = sum(len(json.dumps(json.loads(line)["name"])) - 2 for line in lines)
    theirs = (sum(len(line.encode()) + 2 for line in lines) - names) / len(ends)
    print(f"{ours:.1f} and {theirs:.1f} bytes; whole files {(folder / 't.pftrace').stat().st_size} and {(folder / 't.json').stat().st_size}")
    assert len(lines) == 2 * len(ends) >= 2000
    assert ours <= BYTES and theirs <= BYTES_JSON


def test_counters_and_ranks_are_among_what_is_compared(gpushim, write, tmp_path):
    decoded, chrome = exported(gpushim, [write("memory-framework")], tmp_path)
    _, _, counters = same(decoded, Chrome(chrome))
    assert counters > 5 and {c.track.name for c in decoded.counters} == {"memory: allocated", "memory: reserved and free"}
    decoded, chrome = exported(gpushim, [write("ranks-straggler")], tmp_path)
    same(decoded, Chrome(chrome))
    tracks = decoded.tracks.values()
    assert len({t.process.pid for t in tracks if t.HasField("process")}) == len([t for t in tracks if t.name.startswith("device ")]) == 3
    ends = {}
    for s in decoded.slices:
        if s.category == "kernel" and s.name.startswith("ncclDevKernel"):
            ends.setdefault(decoded.parent_name(s.track), []).append(s.end_ns)
    apart = [max(step) - min(step) for step in zip(*ends.values())]
    assert len(apart) > 5 and max(apart) < 10000, "one clock: a collective ends at once on all ranks"


def test_times_are_those_of_the_system(gpushim, launches, tmp_path):
    """CLOCK_MONOTONIC's, and the calendar's beside it."""
    decoded, chrome = exported(gpushim, [launches.out], tmp_path)
    assert decoded.real_ns == chrome["baseTimeNanoseconds"] > 10**18
    assert min(s.begin_ns for s in decoded.slices) >= 0
    submitted = [json.loads(line)["submit_ns"] for line in launches.truth.read_text().splitlines() if '"op":"kernel"' in line]
    calls = [s for s in decoded.slices if s.name == "cuLaunchKernel"]
    assert len(calls) == len(submitted) == 5000
    inside = [call.begin_ns <= at - decoded.base_ns <= call.end_ns for call, at in zip(calls, submitted)]
    assert inside.count(True) == 5000


def test_awkward_names_are_text(build, gpushim, tmp_path):
    """Bytes that are no UTF-8, and what would steer a terminal."""
    (tmp_path / "trace.txt").write_bytes(b"""process 1 exited=1 end=40ms command=a\xffb
thread 1 main
device 0 name=Te\x1bst
stream 1
launch t=1000us..1002us stream=1 seq=1 kernel=<script>\xff\x1b]0;\xc3\xa9
launch t=1003us..1004us stream=1 seq=2 kernel=bad\xfe result=1
sync-stream t=1020us..4010us stream=1 seq=1
""")
    subprocess.run([build / "tools/gst_write", tmp_path / "trace.txt", tmp_path / "run"], check=True)
    decoded, chrome = exported(gpushim, [tmp_path / "run"], tmp_path)
    same(decoded, Chrome(chrome))
    assert "<script>??]0;\u00e9" in {s.name for s in decoded.slices}
    assert "bad\ufffd" in {s.args.get("kernel") for s in decoded.slices}
    assert not [t for t in decoded.tracks.values() if "\x1b" in t.name + t.process.process_name]


def test_standard_output_and_gzip(gpushim, write, tmp_path):
    folder = write("cause-allocator")
    plain = subprocess.run([gpushim, "export", folder, "--perfetto", "-"], stdout=subprocess.PIPE, check=True).stdout
    subprocess.run([gpushim, "export", folder, "--perfetto", tmp_path / "t.pftrace.gz"], check=True)
    assert gzip.decompress((tmp_path / "t.pftrace.gz").read_bytes()) == plain and Decoded(plain).slices


@pytest.mark.parametrize("name", ["t.pftrace", "t.pftrace.gz"])
def test_no_room_is_an_error_and_leaves_nothing(gpushim, write, tmp_path, name):
    def little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

    done = subprocess.run([gpushim, "export", write("cause-allocator"), "--perfetto", tmp_path / name], capture_output=True, text=True,
                          preexec_fn=little_room)
    assert done.returncode == 4 and "cannot write: File too large" in done.stderr
    assert not list(tmp_path.iterdir())


def test_full_disk_and_closed_pipe(gpushim, launches):
    done = subprocess.run([gpushim, "export", launches.out, "--perfetto", "/dev/full"], capture_output=True, text=True)
    assert done.returncode == 4 and "/dev/full: cannot write" in done.stderr
    shell = f"{gpushim} export {launches.out} --perfetto - | head -c 100 >/dev/null; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", shell]).returncode in (4, 141)


def at_host(path, host, pid, later_ns):
    """The recording, as if it were another host's, which booted so much later."""
    data = bytearray(path.read_bytes())
    head = data[:4096]
    head[80:84], head[144:160] = b"job\0", host.encode().ljust(16, b"\0")
    head[36:40] = pid.to_bytes(4, "little")
    head[64:72] = (int.from_bytes(head[64:72], "little") + later_ns).to_bytes(8, "little")
    data[data.index(b"Made up") - 24] = pid  # the device's uuid
    head[12:16] = bytes(4)
    check = 0x811c9dc5
    for byte in head:
        check = (check ^ byte) * 0x01000193 % 2**32
    head[12:16] = check.to_bytes(4, "little")
    data[:4096] = head
    path.write_bytes(data)


def test_of_a_long_run_it_is_what_is_near_the_longest_gaps(build, gpushim, tmp_path):
    """Near in time, on whichever host: one's clock is 0.5 s behind. Both forms leave out the same."""
    for name, arguments in (("a", (20, 1400, 5)), ("b", (70, 400, 2))):
        subprocess.run([build / "tools/gst_big", tmp_path / f"{name}.gst", *map(str, arguments)], check=True)
        at_host(tmp_path / f"{name}.gst", name, ord(name), 500_000_000 * (name == "b"))
    run = [tmp_path / "a.gst", tmp_path / "b.gst"]
    subprocess.run([gpushim, "export", *run, "--perfetto", tmp_path / "whole", "--all"], check=True)
    whole = Decoded((tmp_path / "whole").read_bytes())
    some, chrome = exported(gpushim, run, tmp_path)
    same(some, Chrome(chrome))
    gaps = {}
    for s in whole.slices:
        if s.category == "idle":
            begin, end = gaps.get(s.args["gap"], (s.begin_ns, s.end_ns))
            gaps[s.args["gap"]] = min(begin, s.begin_ns), max(end, s.end_ns)
    longest = sorted(gaps.values(), key=lambda gap: gap[0] - gap[1])[:50]

    def key(s):
        return whole.parent_name(s.track), s.track.name, s.name, s.begin_ns, s.end_ns

    kept = {key(s) for s in some.slices}
    work = [s for s in whole.slices if s.category in DEVICE]
    near = [s for begin, end in longest for s in work if s.begin_ns <= end + 1_999_000 and s.end_ns >= begin - 1_999_000]
    assert len({s.track.parent_uuid for s in near}) == 2 and not [s for s in near if key(s) not in kept]
    idle = [[(key(s), s.args) for s in form.slices if s.category == "idle"] for form in (whole, some)]
    brief = 0
    for (name, args), (name_here, args_here) in zip(*idle, strict=True):
        assert name == name_here
        brief += args_here.keys() == {"gap", "cause", "confidence"}
        assert args_here == args or args_here == {key: args[key] for key in ("gap", "cause", "confidence")}
        assert "evidence" in args_here or gaps[args["gap"]] not in longest
    assert brief > len(idle[0]) / 4
    left_out = sorted(s.begin_ns for s in work if key(s) not in kept)
    assert len(left_out) > len(work) / 3
    steps = [s for s in whole.slices if s.name.startswith("ProfilerStep#")]
    whole_steps = [s for s in steps if bisect(left_out, s.end_ns) == bisect(left_out, s.begin_ns)]
    assert len(steps) == 90 and 2 <= len(whole_steps) < 30, "the worst ones, and a usual one"
    of_b = [s for s in steps if whole.parent_name(s.track).endswith(" on b)")]
    assert len(of_b) == 70 and max(of_b, key=lambda s: s.end_ns - s.begin_ns) in whole_steps
