# SPDX-License-Identifier: BSD-2-Clause
"""What can be won back, and what to do: rules that hold on every trace there is, and one piece of advice for every cause."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from test_golden import CASES, report  # noqa: F401 (a fixture)

HERE = Path(__file__).resolve().parent
ANALYZER = HERE.parent.parent / "analyzer"
CAUSES = re.findall(r'^CAUSE(?:_RULE)?\(\w+, "([a-z-]+)"', (ANALYZER / "cause/causes.def").read_text(), re.M)
EXPOSED = re.findall(r'^EXPOSED\(\w+, "([a-z0-9-]+)"', (ANALYZER / "advice/recover.def").read_text(), re.M)
ROWS = dict(re.findall(r'^ADVICE\((\w+), "([a-z-]+)"', (ANALYZER / "advice/advice.def").read_text(), re.M))
DO = re.findall(r'^DO\((\w+), FRAMEWORK_(\w+), ', (ANALYZER / "advice/advice.def").read_text(), re.M)
FRAMEWORKS = ("none", "pytorch", "jax", "tensorflow", "tinygrad")
LEAST = 100  # what is lost less than so-manieth of the time says nothing

# The rows that a cause's golden trace brings, besides its own; a worker that sleeps is a worker.
ADVICE_OF = {"input-preprocess": {"more-workers", "load-beside"}, "input-wait": {"more-workers"}, "input-storage": {"storage", "more-workers", "load-beside"},
             "input-network": {"network-input", "more-workers", "load-beside"}, "sync-bubble": {"fewer-syncs"}, "launch-bound": {"cuda-graphs"},
             "allocator": {"allocations"}, "module-load": {"warm-up"}, "checkpoint": {"async-checkpoint"}, "output-io": {"less-output"},
             "host-sleep": {"no-sleep"}, "host-lock": {"lock-holder"}, "host-compute": {"host-code"}, "cpu-contention": {"more-cpus"},
             "cpu-throttled": {"cpu-limit"}, "memory-stall": {"more-memory"}, "comm-host": {"keep-communicators"}, "device-latency": {"start-latency"},
             "device-dependency": {"overlap-work"}, "device-contention": {"own-device"}, "unexplained": {"know-more"},
             "profiler": set()}  # it goes away with the profiler


def close(a, b):
    return abs(a - b) <= 1e-5 * max(1, abs(a), abs(b))


def check_ceiling(entry, span):
    assert close(entry["ceiling"], span / max(1, span - entry["recoverable_ns"]) - 1)
    assert entry["next_ns"] >= 0 and entry["next"]


def check_losses(device, losses):
    """The causes' parts are of the steps alone where there are any, else they are all of it."""
    assert [x["recoverable_ns"] for x in losses] == sorted((x["recoverable_ns"] for x in losses), reverse=True)
    assert len({x["id"] for x in losses}) == len(losses) and {x["id"] for x in losses} <= set(CAUSES + EXPOSED)
    for x in losses:
        assert 0 <= x["recoverable_ns"] <= x["lost_ns"] + x["likely_ns"] and 0 <= x["observed_ns"] <= x["lost_ns"]
        assert 0 < x["span_ns"] <= device["span_ns"] and x["lost_ns"] <= x["span_ns"]
        check_ceiling(x, x["span_ns"])
    lost = {x["id"]: x["lost_ns"] for x in losses}
    if losses and not losses[0]["steps"]:
        assert {id: ns for id, ns in device["causes"].items() if ns} == {id: ns for id, ns in lost.items() if id in CAUSES and ns}
        assert device["copy_exposed_ns"] == sum(ns for id, ns in lost.items() if id.startswith("copy-") or id == "memset")
        assert {id: ns for id, ns in device["comm"].items() if ns} == {id: ns for id, ns in lost.items() if id.startswith("comm-") and id in EXPOSED}
    for id, ns in lost.items():
        if id in CAUSES:
            assert ns <= device["causes"][id]


def check_limits(advice, losses):
    """No advice says more than its losses can give, and what it takes away does not bound the run next, but for what is left of it."""
    assert advice["cause"] in advice["covers"] and set(advice["covers"]) <= set(losses)
    assert advice["recoverable_ns"] <= sum(losses[id]["recoverable_ns"] for id in advice["covers"])
    assert advice["lost_ns"] <= sum(losses[id]["lost_ns"] for id in advice["covers"])
    if len(advice["covers"]) > 1 and advice["next"] in advice["covers"]:
        assert advice["next"] in ("input-storage", "input-network") or advice["next_ns"] == advice["lost_ns"] - advice["recoverable_ns"]
    assert not re.search(r"\b0 (gap|start|wait|stall|cop|read|time|of them)|\b0 ns at most", advice["why"]), advice["why"]


@pytest.mark.parametrize("name", CASES)
def test_rules(name, report):  # noqa: F811
    made = report(name)
    assert made["framework"] in FRAMEWORKS
    for device in made["devices"]:
        check_losses(device, [x for x in made["recoverable"] if x["device"] == device["device"]])
    spans = {(x["device"], x["id"]): x["span_ns"] for x in made["recoverable"]}
    assert [a["ceiling"] for a in made["advice"]] == sorted((a["ceiling"] for a in made["advice"]), reverse=True)
    for advice in made["advice"]:
        span = next(ns for (device, _), ns in spans.items() if device == advice["device"])
        assert advice["id"] in set(ROWS.values()) | set(CAUSES)
        assert advice["recoverable_ns"] * LEAST >= span - LEAST and 0 <= advice["observed"] <= 1
        check_limits(advice, {x["id"]: x for x in made["recoverable"] if x["device"] == advice["device"]})
        check_ceiling(advice, span)
        assert advice["why"] and advice["text"] and not re.search(r"[{}\[\]|]", re.sub(r"\[\d+\]", "", advice["why"] + advice["text"])), advice
        assert all(isinstance(text, str) and text for text in advice["evidence"])


def test_every_row_speaks_to_everybody():
    assert len({(row, framework) for row, framework in DO}) == len(DO)
    assert {row for row, framework in DO if framework == "NONE"} == set(ROWS)


def pairs():
    for cause in CAUSES:
        for kind in ("cause", "chain"):
            if (HERE / f"{kind}-{cause}").is_dir():
                yield cause, f"{kind}-{cause}"


@pytest.mark.parametrize("cause, case", list(pairs()))
def test_each_cause_has_its_advice(cause, case, report):  # noqa: F811
    """In the trace in which it fires, with the figures of the loss; and none where it owns nothing."""
    made = report(case)
    (lost, span), = {(x["lost_ns"], x["span_ns"]) for x in made["recoverable"] if x["id"] == cause and x["device"] == made["devices"][0]["device"]}
    said = {advice["id"]: advice for advice in made["advice"]}
    if lost * LEAST >= span:
        own = ADVICE_OF[cause] & set(said)
        assert own or not ADVICE_OF[cause], (cause, list(said))
        assert ADVICE_OF[cause] or not [a for a in made["advice"] if a["cause"] == cause]
        assert all(said[id]["figures"]["lost_ns"] == said[id]["lost_ns"] for id in own)
    without = report(f"{case}-not")
    if not sum(device["causes"][cause] for device in without["devices"]):
        assert not [a for a in without["advice"] if a["cause"] == cause and a["id"] not in ("more-workers", "load-beside")]


def test_text(build, gpushim, tmp_path):
    """What the report prints is what JSON says."""
    subprocess.run([build / "tools/gst_write", HERE / "cause-allocator/trace.txt", tmp_path], check=True)
    page = subprocess.run([gpushim, "report", "--full", tmp_path], capture_output=True, text=True, check=True).stdout
    made = json.loads(subprocess.run([gpushim, "report", "--json", tmp_path], capture_output=True, text=True, check=True).stdout)
    (advice,) = [a for a in made["advice"] if a["id"] == "allocations"]
    words = " ".join(page.split("what to do", 1)[1].split())
    assert f"allocations at most {advice['ceiling']:.1%}".replace("%", " %") in words
    assert advice["why"] in words and f"-> {advice['text']}" in words and advice["evidence"][0] in words
    assert max(map(len, page.splitlines())) <= 80


@pytest.mark.parametrize("path, framework, what", [
    ("/usr/lib/python3/site-packages/torch/lib/libtorch_cuda.so", "pytorch", "pin_memory=True"),
    ("/usr/lib/python3/site-packages/jaxlib/xla_extension.so", "jax", "jax.device_put()"),
    ("/usr/lib/python3/site-packages/tensorflow/libtensorflow_cc.so.2", "tensorflow", "dataset.prefetch"),
    ("/usr/lib/python3/site-packages/tinygrad/runtime/helpers.so", "tinygrad", "cuMemAllocHost"),
    ("/opt/mine/libmine.so", "none", "cuMemAllocHost")])
def test_words(path, framework, what, build, gpushim, tmp_path):
    """The advice speaks in the words of what the stacks go through; where a row has none for it, in the driver's."""
    text = (HERE / "advice-pinned-memory/trace.txt").read_text().replace("/usr/lib/python3/dist-packages/torch/_tensor.py", "/srv/me/other.py")
    (tmp_path / "trace.txt").write_text(re.sub(r"path=\S*libtorch\S*", f"path={path}", text))
    subprocess.run([build / "tools/gst_write", tmp_path / "trace.txt", tmp_path / "run"], check=True)
    made = json.loads(subprocess.run([gpushim, "report", "--json", tmp_path / "run"], capture_output=True, text=True, check=True).stdout)
    assert made["framework"] == framework
    assert what in made["advice"][0]["text"]


def test_every_row_has_its_figures():
    """A name in a sentence that no function sets would always be left out: each is a string in the code."""
    code = "".join(path.read_text() for path in ANALYZER.glob("advice/advice*.c"))
    names = set(re.findall(r"\{(\w+)[|}]", (ANALYZER / "advice/advice.def").read_text())) - {"name"}
    assert names and not {name for name in names if f'"{name}"' not in code}


def test_stragglers(report):  # noqa: F811
    """Waiting for other ranks is told apart from the transfer: on the ranks that wait, with the rank that is waited for and what keeps it."""
    made = report("ranks-straggler")
    waits = {loss["device"]: loss for loss in made["recoverable"] if loss["id"] == "comm-wait"}
    assert set(waits) == {device["device"] for device in made["devices"] if device["comm"]["comm-wait"]}
    said = [advice for advice in made["advice"] if advice["id"] == "straggler"]
    assert said and {advice["device"] for advice in said} == set(waits)
    for advice in said:
        assert {name: advice["figures"][name] for name in ("rank", "last", "timed", "doing")} == {"rank": 2, "last": 10, "timed": 10, "doing": "host-sleep"}
        assert "rank 2" in advice["text"] and advice["figures"]["exposed_ns"] == waits[advice["device"]]["lost_ns"]
    assert not [advice for advice in report("ranks-absent")["advice"] if advice["id"] == "straggler"]


HEAD = "process 100 level=cupti exited=1 end=100ms\nthread 100 main\ndevice 0\nstream 1\n"


def made_of(lines, build, gpushim, tmp_path):
    (tmp_path / "trace.txt").write_text("\n".join(lines) + "\n")
    subprocess.run([build / "tools/gst_write", tmp_path / "trace.txt", tmp_path / "run"], check=True)
    return json.loads(subprocess.run([gpushim, "report", "--json", tmp_path / "run"], capture_output=True, text=True, check=True).stdout)


def loss_of(made, id):
    (loss,) = [loss for loss in made["recoverable"] if loss["id"] == id]
    return loss


def test_beside(build, gpushim, tmp_path):
    """A save that takes longer than all the rest of the run: another thread would take as long, so no more than the rest can be won."""
    made = made_of([HEAD + "launch t=1000us..1005us stream=1 seq=1 kernel=step", "activity t=1010us..3010us stream=1 seq=1 kind=kernel kernel=step",
                    "copy t=1006us..3030us stream=1 seq=2 kind=d2h-pageable bytes=1M flags=blocking", "activity t=3010us..3020us stream=1 seq=2 kind=copy "
                    "copy=d2h-pageable bytes=1M", *(f"sample t={3500 + 1000 * k}us syscall=74 fd=file file=/out/model.pt" for k in range(10)),
                    "launch t=13010us..13015us stream=1 seq=3 kernel=step", "activity t=13020us..15020us stream=1 seq=3 kind=kernel kernel=step"],
                   build, gpushim, tmp_path)
    loss = loss_of(made, "checkpoint")
    assert loss["lost_ns"] > loss["span_ns"] / 2
    assert loss["recoverable_ns"] == loss["span_ns"] - loss["lost_ns"] and (loss["next"], loss["next_ns"]) == ("checkpoint", loss["lost_ns"])
    assert close(loss["ceiling"], loss["span_ns"] / loss["lost_ns"] - 1)


def test_ahead(build, gpushim, tmp_path):
    """It waits for 1 ms of 10, and is at something that is not on record for the rest: without waiting it is as slow as that."""
    lines = [HEAD]
    for k in range(4):
        at = 1000 + 10000 * k
        lines += [f"launch t={at}us..{at + 5}us stream=1 seq={k + 1} kernel=step", f"sync-stream t={at + 6}us..{at + 1020}us stream=1 seq={k + 1}",
                  f"activity t={at + 10}us..{at + 1010}us stream=1 seq={k + 1} kind=kernel kernel=step"]
    loss = loss_of(made_of(lines, build, gpushim, tmp_path), "sync-bubble")
    assert loss["lost_ns"] > 26_000_000
    waited = 4 * 1_014_000
    assert waited - 20_000 <= loss["recoverable_ns"] <= waited  # the last returns behind the device's end
    assert (loss["next"], loss["next_ns"]) == ("host", loss["span_ns"] - loss["recoverable_ns"])


def test_nodes(report):  # noqa: F811
    """In a graph too the device stands still between two kernels, 2 us at most."""
    loss = loss_of(report("advice-cuda-graphs"), "launch-bound")
    assert loss["recoverable_ns"] == loss["lost_ns"] - 39 * 2000


@pytest.mark.parametrize("level", ["edges", "cupti"])
def test_placed_copies(level, build, gpushim, tmp_path):
    """Between two edges a copy of 4 KiB and three kernels took 8 ms: nobody knows how long the copy took, and nobody believes in milliseconds. Where it
    was measured, it took what it took."""
    lines = [HEAD.replace("cupti", level), "edge 1 t=990us..991us stream=1 covers=0 fired=996us done=997us kind=start",
             "copy t=1000us..1010us stream=1 seq=1 kind=h2d-pinned bytes=4096"]
    lines += [f"launch t={1010 + k}us..{1011 + k}us stream=1 seq={2 + k} kernel=step" for k in range(3)]
    if level == "cupti":
        lines[1] = "activity t=1020us..2020us stream=1 seq=1 kind=copy copy=h2d-pinned bytes=4096"
        lines += [f"activity t={2020 + 2000 * k}us..{4020 + 2000 * k}us stream=1 seq={2 + k} kind=kernel kernel=step" for k in range(3)]
    else:
        lines += ["edge 2 base=1 t=1020us..1021us stream=1 covers=4 fired=9000us done=9010us"]
    lines += ["sync-stream t=1030us..9010us stream=1 seq=4"]
    made = made_of(lines, build, gpushim, tmp_path)
    loss = loss_of(made, "copy-h2d-pinned")
    assert loss["lost_ns"] >= 400_000
    assert loss["recoverable_ns"] == (1_000_000 if level == "cupti" else 20_000 + 4096)
    assert ("overlap-copies" in {advice["id"] for advice in made["advice"]}) == (level == "cupti")


# ---- whose work it is ----

def rank(pid, uuid, host=""):
    """A process on a device of its own that waits 6.8 ms for its second batch."""
    return (f"process {pid} level=cupti exited=1 end=60ms{host}\nthread {pid} main\ndevice 0 uuid={uuid}\nstream 1\n"
            "launch t=1000us..1002us stream=1 seq=1 kernel=step\nactivity t=1010us..3010us stream=1 seq=1 kernel=step\n"
            "sync-stream t=1005us..3020us stream=1 seq=1\nlaunch t=10000us..10002us stream=1 seq=2 kernel=step\n"
            "activity t=10010us..12010us stream=1 seq=2 kernel=step\n")


def reads(pid, worker, creator, inode, nbytes):
    """… whose worker reads a file meanwhile."""
    return (f"task {pid} t=0us creator={creator} name=python3\ntask {worker} t=100us creator={pid} name=pt_data_worker\n"
            f"wait {pid} t=3100us..9900us wake=9890us waker={worker} syscall=0 fd=pipe file=pipe:[{worker}] inode={worker}\n"
            f"wait {worker} t=3050us..9800us wake=9795us by=interrupt syscall=17 file=/data/{pid}.tar fd=file inode={inode} dev=0xfe00000 fs=0xef53 "
            f"offset=0 bytes={nbytes} flags=disk,iowait\n")


@pytest.mark.parametrize("launcher", [50, 100])
def test_reads_are_the_devices_own(launcher, build, gpushim, tmp_path):
    """Two ranks, each with its worker, watched by one collector. The second may be launched by the first, as some launchers do: it is another's all the
    same."""
    made = made_of([rank(100, 1), rank(300, 2), "host 50 end=60ms\ntask 50 t=0us name=launcher flags=root",
                    reads(100, 200, 50, 42, "1M"), reads(300, 400, launcher, 43, "3M")], build, gpushim, tmp_path)
    said = {advice["device"]: advice["figures"] for advice in made["advice"] if advice["id"] == "storage"}
    assert {device: (figures["reads"], figures["read_bytes"], figures["read_ns"], "readers" in figures) for device, figures in said.items()} == {
        0: (1, 1 << 20, 6750000, False), 1: (1, 3 << 20, 6750000, False)}


def works(pid, worker, host):
    """A process tree, alone in its container, whose worker computes a batch for 6.8 ms; another one waits for its turn."""
    return (f"host {pid} end=60ms{host}\ntask {pid} t=0us name=python3 flags=root\ntask {worker} t=100us creator={pid} name=pt_data_worker\n"
            f"task {worker + 1} t=100us creator={pid} name=pt_data_worker\nwait {worker + 1} t=110us..59ms syscall=0 fd=pipe file=pipe:[9] inode=9\n"
            f"wait {worker} t=110us..2000us wake=2000us waker={pid} syscall=0 fd=pipe file=pipe:[8] inode=8\n"
            f"wait {worker} t=9900us..59ms syscall=0 fd=pipe file=pipe:[8] inode=8\n"
            f"wait {pid} t=3100us..9900us wake=9890us waker={worker} syscall=0 fd=pipe file=pipe:[7] inode=7\n")


def test_workers_are_the_devices_own(build, gpushim, tmp_path):
    """Two containers alike: their processes have the same numbers."""
    lines = []
    for uuid, host in ((1, " host=pod-a"), (2, " host=pod-b")):
        lines += [rank(41, uuid, host), works(41, 42, host)]
    made = made_of(lines, build, gpushim, tmp_path)
    said = [advice for advice in made["advice"] if advice["id"] == "more-workers"]
    assert [advice["device"] for advice in said] == [0, 1]
    for advice in said:
        assert (advice["figures"]["workers"], advice["figures"]["work_ns"]) == (2, 7900000)


# ---- steps, and what is between them ----

def test_per_step(report):  # noqa: F811
    """Each step copies a batch and reads one number back. So does the evaluation, twice: it is no step."""
    said = {advice["id"]: advice["figures"] for advice in report("steps-by-launches")["advice"]}
    steps = report("steps-by-launches")["recoverable"][0]["steps"]
    assert said["fewer-syncs"]["per_step"] == 1 and said["fewer-syncs"]["blocking"] == steps + 2


# ---- estimates ----

def test_what_is_estimated(build, gpushim, tmp_path, report):  # noqa: F811
    """Nothing is proven: it is said to be inferred, and no gaps are counted. What kernels take is known of all devices together: how many is not said."""
    made = report("bursts-launch-bound")
    said = {advice["id"]: advice for advice in made["advice"]}
    graphs, (loss,) = said["cuda-graphs"], [x for x in made["recoverable"] if x["id"] == "launch-bound"]
    assert loss["likely_ns"] > 0.9 * 1932000 and 0 < loss["recoverable_ns"] < loss["lost_ns"] + loss["likely_ns"]
    assert "by estimate" in graphs["why"]
    assert "kernels" not in said["bigger-batches"]["figures"] and said["bigger-batches"]["why"].startswith("half of the kernels take less than 10")
    subprocess.run([build / "tools/gst_write", HERE / "bursts-launch-bound/trace.txt", tmp_path], check=True)
    page = " ".join(subprocess.run([gpushim, "report", "--full", tmp_path], capture_output=True, text=True, check=True).stdout.split())
    assert re.search(r"cuda-graphs at most \S+ (% faster|times as fast) \(inferred\)", page)


def test_none_of_them(build, gpushim, tmp_path):
    """What is copied into pinned memory alone: none of it into pageable."""
    lines = [HEAD]
    for k in range(4):
        at = 1000 + 4000 * k
        lines += [f"launch t={at}us..{at + 5}us stream=1 seq={2 * k + 1} kernel=step", f"activity t={at + 10}us..{at + 2010}us stream=1 seq={2 * k + 1} kernel=step",
                  f"copy t={at + 6}us..{at + 9}us stream=1 seq={2 * k + 2} kind=d2h-pinned bytes=1M",
                  f"activity t={at + 2010}us..{at + 4010}us stream=1 seq={2 * k + 2} kind=copy copy=d2h-pinned bytes=1M"]
    (advice,) = [a for a in made_of(lines, build, gpushim, tmp_path)["advice"] if a["id"] == "copies-to-host"]
    assert advice["why"].startswith("4 copies of 4.0 MiB to the host: for 8.0 ms") and "pageable" not in advice["figures"]
