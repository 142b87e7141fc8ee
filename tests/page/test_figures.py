# SPDX-License-Identifier: BSD-2-Clause
"""Whatever shows a figure shows the same: the text report, JSON, the Chrome export, metrics, SQLite, and the page's data (what a reader sees of that:
test_page.py)."""

import subprocess

import figures
import page_traces
import pytest

GOLDEN = ("copy-kinds", "four-devices", "devices-numbered-apart", "nvtx-phases", "memory-framework", "memory-driver", "ranks-straggler", "ranks-edges", "comm-by-call",
          "chain-input-storage", "cupti-sync-bubble", "losses-lower-confidence", "recycled", "overlap-two-streams", "steps-by-launches")
RUNS = ("demo", *GOLDEN)


class Run:
    def __init__(self, gpushim, folder, path):
        self.gpushim, self.folder, self.path = gpushim, folder, path
        self.folder.mkdir(exist_ok=True)
        self.report = figures.json.loads(self.run("report", path, "--json"))
        self.figures = figures.of_report(self.report)

    def run(self, *command):
        done = subprocess.run([self.gpushim, *command], capture_output=True, text=True, env={"LC_ALL": "C.UTF-8", "COLUMNS": "100"})
        assert done.returncode == 0, done.stderr
        return done.stdout

    def export(self, form, name, *options):
        self.run("export", self.path, f"--{form}", self.folder / name, *options)
        return self.folder / name


@pytest.fixture(scope="module")
def runs(build, gpushim, recorder, root, tmp_path_factory):
    folder, cache = tmp_path_factory.mktemp("figures"), {}

    def get(name):
        if name not in cache:
            trace = page_traces.demo(recorder, 6) if name == "demo" else page_traces.written(
                build, folder / f"{name}-trace", (root / "tests/golden" / name / "trace.txt").read_bytes())
            cache[name] = Run(gpushim, folder / name, trace)
        return cache[name]

    return get


def same(found, known, at_least):
    """Each figure that was found is the one that is known; and those of `at_least` were found."""
    wrong = {key: (value, known.get(key)) for key, value in found.items() if value != known.get(key)}
    assert not wrong
    missing = [key for key in at_least if key not in found]
    assert not missing


@pytest.mark.parametrize("name", RUNS)
def test_text(runs, name):
    """In full, and what of that fits on a screen."""
    run = runs(name)
    known = figures.as_text(run.report)
    found = figures.of_text(run.run("report", run.path, "--full", "--top", "1000"), run.report)
    needed = []
    for k, device in enumerate(run.report["devices"]):
        needed += [("device", k, "span_ns"), ("device", k, "idle share")]
        where = "all" if any(key[:2] == ("device", "all") for key in found) else k
        needed += [("device", where, "compute_ns"), ("device", where, "idle_ns")]
        needed += [("device", where, "causes", one) for one, ns in device["causes"].items() if ns]
        needed += [("device", where, "copy", one) for one, ns in device["copy"].items() if ns]
    needed += [(*key[:2], part) for key in run.figures if key[0] == "gap" and key[2] == "begin_ns" for part in ("at", "length")]
    needed += [key for key, value in run.figures.items() if key[0] == "memory" and value]
    needed += [("records_dropped",)] if run.report["losses"]["records_dropped"] else []
    same(found, known, needed)
    for usual in run.report["steps_usual"]:
        assert f"{usual['steps']:,} steps (" in (text := " ".join(run.run("report", run.path, "--full").split()))
        assert f", half of them within {figures.duration(usual['median']['length_ns'])}; the device" in text
    brief = figures.of_text(run.run("report", run.path), run.report)
    gaps = min(3, sum(len(device["gaps"]) for device in run.report["devices"]))
    same(brief, known, [("device", k, part) for k in range(len(run.report["devices"])) for part in ("span_ns", "idle share")])
    assert sum(key[0] == "gap" for key in brief) >= gaps


def drawn_of(run, found, lengths=True):
    """What the Chrome export and the page must say of it. When something was is there on the clock of the first host, and of how long it took that
    is so in the Chrome export (lengths): other than on a host of another clock, by that clock's rate, to the nanosecond for each piece."""
    known, number = dict(run.figures), 0
    for k, (device, rate) in enumerate(zip(run.report["devices"], figures.rates(run.report))):
        first = None
        for gap in device["gaps"]:
            first = first or (found["gap", number, "begin"], gap["begin_ns"])  # their zero is their own
            length = gap["end_ns"] - gap["begin_ns"]
            known["gap", number, "device"], known["gap", number, "length"] = k, length
            known["gap", number, "drawn"] = round(length * rate) if lengths else length
            known["gap", number, "begin"] = first[0] + round((gap["begin_ns"] - first[1]) * rate)
            number += 1
        if rate == 1:
            continue
        pieces = 1 + sum(len(gap["causes"]) for gap in device["gaps"])
        for key in [key for key in found if key in known and (key[:2] == ("device", k) or key[0] == "gap" and found.get((*key[:2], "device")) == k)]:
            if key[2] == "begin" or lengths and key[2] in ("drawn", "causes", "idle_ns"):
                scaled = known[key] * (rate if key[2] in ("causes", "idle_ns") else 1)
                known[key] = found[key] if abs(found[key] - scaled) <= 2 * pieces else known[key]
    return known


@pytest.mark.parametrize("name", RUNS)
def test_chrome(runs, name):
    run = runs(name)
    found = figures.of_chrome(run.export("chrome", "trace.json", "--all"), run.report)
    gaps = sum(len(device["gaps"]) for device in run.report["devices"])
    same(found, drawn_of(run, found), [("gap", n, part) for n in range(gaps) for part in ("begin", "length", "drawn", "device")] +
         [key for key, value in run.figures.items() if key[0] == "device" and key[2] in ("idle_ns", "causes") and value] +
         [key for key, value in run.figures.items() if key[0] == "memory" and key[2] == figures.PEAKS[0] and value])


@pytest.mark.parametrize("name", RUNS)
def test_data_of_the_page(runs, name):
    """What the page draws from is what report --json says: the lists that are packed apart, but for all gaps."""
    run = runs(name)
    run.run("report", run.path, "--html", run.folder / "page.html")
    data = figures.page_data(run.folder / "page.html")
    for part, value in data["report"].items():
        apart = {"devices": ("gaps",), "memory": ("course", "stories")}.get(part)  # packed, or a part of what is kept
        if apart:
            for ours, theirs in zip(value, run.report[part], strict=True):
                assert ours | {key: theirs[key] for key in apart} == theirs
                for story, whole in zip(ours.get("stories", ()), theirs.get("stories", ()), strict=True):
                    assert {key: one for key, one in story.items() if not isinstance(one, list)}.items() <= whole.items()
        else:
            assert value == run.report[part], part
    assert set(run.report) - set(data["report"]) <= {"steps"}
    assert " ".join(f"{line['label']} {line['text']}" for line in data["trust"]).split() == run.run("report", run.path, "--trust").split()[5:]
    steps = [key[:3] for key in run.figures if key[0] == "step" and key[3] == "idle_ns"]
    found = figures.of_page(data)
    known, firsts = drawn_of(run, found, lengths=False), {}
    rates = {device["device"]: rate for device, rate in zip(run.report["devices"], figures.rates(run.report))}
    for key in steps:
        begin, end, idle = (run.figures[*key, part] for part in ("begin_ns", "end_ns", "idle_ns"))
        first = (int(data["zero_ns"]), 0) if rates[key[1]] == 1 else firsts.setdefault(key[1], (begin, found[key][0]))
        known[key] = first[1] + round((begin - first[0]) * rates[key[1]]), end - begin, idle
    same(found, known, [*steps, *(("gap", n, part) for n in range(data["gaps_all"]) for part in ("begin", "drawn", "device")),
                        *(key for key, value in run.figures.items() if key[0] == "device" and key[2] in ("idle_ns", "causes") and value),
                        *(key for key in run.figures if key[0] == "step" and key[3] == "causes")])
    gaps = [(k, gap) for k, device in enumerate(run.report["devices"]) for gap in device["gaps"]]
    assert data["gaps_all"] == len(data["gaps"]) == len(gaps)  # few enough for all to be there
    for gap in data["gaps"]:
        device, theirs = gaps[gap["gap"]]
        assert gap["device"] == device and {key: gap[key] for key in theirs} == theirs
        assert gap["at_ns"] == theirs["begin_ns"] - int(data["zero_ns"]) or len(run.report["devices"]) > 1


@pytest.mark.parametrize("name", RUNS)
def test_metrics(runs, name):
    run = runs(name)
    found = figures.of_metrics(run.run("export", run.path, "--metrics", "-"), run.report)
    same(found, run.figures, [key for key in run.figures if key[0] in ("memory", "records_dropped") or
                              key[0] == "device" and key[2] not in ("idle_ns", "copy_exposed_ns", "comm_exposed_ns")])


@pytest.mark.parametrize("name", RUNS)
def test_sqlite(runs, name):
    run = runs(name)
    assert figures.of_sqlite(run.export("sqlite", "run.sqlite", "--all"), run.report) == run.figures
