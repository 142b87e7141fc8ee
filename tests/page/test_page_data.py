# SPDX-License-Identifier: BSD-2-Clause
"""What the page of `report --html` holds, as data: the report's own figures where they stand packed, what is bounded, what no name can do, and that
the same trace gives the same bytes."""

import base64
import hashlib
import json
import re
import subprocess

import page_data
import page_traces
import pytest

GAPS_BYTES = 3 << 20


def page(gpushim, trace, path):
    subprocess.run([gpushim, "report", trace, "--html", path], check=True)
    return page_data.of_page(path)


def report(gpushim, trace):
    return json.loads(subprocess.run([gpushim, "report", trace, "--json"], capture_output=True, check=True).stdout)


@pytest.fixture
def golden(build, root, gpushim, tmp_path):
    """name, more lines → its page's data and its report."""

    def get(name, text=None):
        trace = page_traces.written(build, tmp_path / name, text or (root / "tests/golden" / name / "trace.txt").read_bytes())
        return page(gpushim, trace, tmp_path / f"{name}.html"), report(gpushim, trace)

    return get


def step_names(data, steps):
    return [data["strings"][name] + (str(number - 1) if number else "") for name, number in zip(steps["s"], steps["number"])]


@pytest.mark.parametrize("name", ["nvtx-phases", "steps-by-launches", "four-devices", "chain-input-storage"])
def test_steps_are_those_of_the_report(golden, name):
    data, whole = golden(name)
    assert sum(packed["n"] for packed in data["steps"]) == len(whole["steps"])
    for packed in data["steps"]:
        ours, theirs = page_data.columns(packed), [step for step in whole["steps"] if step["device"] == packed["device"]]
        causes = {one: page_data.column(column) for one, column in packed["causes"].items()}
        usual = next(usual for usual in whole["steps_usual"] if usual["device"] == packed["device"])
        assert step_names(data, ours) == [step["name"] for step in theirs]
        assert ours["b"] == [step["begin_ns"] - int(data["zero_ns"]) for step in theirs]
        assert ours["d"] == [step["end_ns"] - step["begin_ns"] for step in theirs]
        assert ours["i"] == [step["idle_ns"] for step in theirs]
        assert ours["k"] == [int(step["kind"] == "between") for step in theirs]
        assert [i for i, is_one in enumerate(ours["o"]) if is_one] == [outlier["index"] for outlier in usual["outliers"]]
        for i, step in enumerate(theirs):
            assert {one: column[i] for one, column in causes.items() if column[i]} == {one: ns for one, ns in step["causes"].items() if ns}


@pytest.mark.parametrize("name", ["chain-input-storage", "nvtx-phases", "four-devices", "losses-lower-confidence"])
def test_gaps_are_those_of_the_report(golden, name):
    """Each with all that the report says of it; of so few, all of them."""
    data, whole = golden(name)
    told = {gap["gap"]: gap for gap in data["gaps"]}
    theirs = [(device["device"], gap) for device in whole["devices"] for gap in device["gaps"]]
    assert sorted(told) == list(range(len(theirs))) and data["gaps_all"] == len(theirs)
    for number, (device, gap) in enumerate(theirs):
        ours = told[number]
        assert ours["device"] == device
        assert {key: ours[key] for key in gap} == gap
        assert ours["at_ns"] == gap["begin_ns"] - int(data["zero_ns"])
        assert all(op["begin_ns"] <= op["end_ns"] for op in ours["around"])
        assert any(op["begin_ns"] >= gap["end_ns"] for op in ours["around"]), "what ended it"


def test_what_ends_a_gap_is_among_its_calls(golden):
    """A launch from 29.0 ms on, for which the device waited; the thread read from a pipe before."""
    data, _ = golden("advice-more-workers")
    gap = max(data["gaps"], key=lambda gap: gap["end_ns"] - gap["begin_ns"])
    (last,) = [call for call in gap["calls"] if call.get("ends_gap")]
    assert data["strings"][last["name"]] == "cuLaunchKernel" and last["begin_ns"] <= gap["end_ns"] <= last["end_ns"]
    assert (gap["pid"], gap["tid"], gap["doubt"]) == (100, 100, False)
    longest = max(gap["causes"], key=lambda cause: cause["end_ns"] - cause["begin_ns"])
    assert [link["tid"] for link in longest["chain"]] == [100, 200]


def test_no_name_gets_out_of_its_text(build, gpushim, tmp_path):
    """page_data looks at the bytes; the names themselves arrive whole but for what steers."""
    data = page(gpushim, page_traces.written(build, tmp_path / "hostile", page_traces.hostile_text()), tmp_path / "page.html")
    named = set(data["strings"])
    for name in ("<script>alert(1)</script>", "</script><script>alert(2)</script>", "]]>&lt;&amp;", "\\u003cb\\u003e\\", "größe_日本語_🦊", "__proto__"):
        assert name in named
    assert {"line?separator?s", "right?to?left", "nul?]0;title?bell"} < named
    assert data["title"] == "script>", "what stands behind the folder of the program"


def test_the_same_trace_gives_the_same_bytes(build, root, gpushim, tmp_path):
    trace = page_traces.written(build, tmp_path / "ranks", page_traces.ranks_text())
    for name in ("one", "two"):
        page(gpushim, trace, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_stories_have_a_budget(build, gpushim, tmp_path):
    """Of 30,000 gaps no more are told than 3 MB hold: the longest, and the longest of each cause."""
    trace = page_traces.many(build, tmp_path / "many", 30_000)
    data, whole = page(gpushim, trace, tmp_path / "page.html"), report(gpushim, trace)
    (device,) = whole["devices"]
    lengths = [gap["end_ns"] - gap["begin_ns"] for gap in device["gaps"]]
    told = {gap["gap"] for gap in data["gaps"]}
    assert data["gaps_all"] == 30_000 and 500 < len(told) <= 2000
    assert len(json.dumps(data["gaps"], separators=(",", ":"))) < GAPS_BYTES + 100_000
    least = sorted(lengths, reverse=True)[len(told) - 30]
    assert all(number in told for number, length in enumerate(lengths) if length > least)
    for one, ns in device["causes"].items():
        pieces = [(cause["end_ns"] - cause["begin_ns"], -number) for number, gap in enumerate(device["gaps"]) for cause in gap["causes"] if cause["id"] == one]
        assert not ns or -max(pieces)[1] in told


@pytest.mark.parametrize("longer, least", [("", 1_800_000), ("e" * 400, 3_500_000), ("<" * 400, 3_500_000)], ids=["short", "long", "escaped"])
def test_stacks_have_a_budget(build, gpushim, tmp_path, longer, least):
    """Each of 1,000 gaps has one of 40 frames: 4 MB of them at most are told, those of statements and of gaps with stories; of the others the statement."""
    trace = page_traces.written(build, tmp_path / "trace", page_traces.stacks_text(1000, 40, longer))
    data = page(gpushim, trace, tmp_path / "page.html")
    stacks = json.dumps(data["report"]["stacks"], separators=(",", ":"))
    assert least < len(stacks) + 5 * stacks.count("<") < 4_100_000 and (tmp_path / "page.html").stat().st_size < 20_000_000
    told = {stack["stack"]: len(stack["frames"]) for stack in data["report"]["stacks"]}
    assert len(report(gpushim, trace)["stacks"]) == 999 > len(told)  # the last gap has none
    assert longer or all(site["stack"] in told for site in data["report"]["call_sites"] if "stack" in site)
    named = [held for gap in data["gaps"] for cause in gap["causes"] for held in cause.get("held", []) if held["by"] != "none"]
    assert all(held["function"] and held["line"] for held in named) and any(held["stack"] not in told for held in named)


# ---- ranks ------------------------------------------------------------------------------------------------------------------------


def rows(data):
    made = []
    for row in data["ranks"]["rows"]:
        made.append({key: page_data.column(value) if isinstance(value, dict) else value for key, value in row.items()})
        assert {len(made[-1][key]) for key in ("b", "length", "idle", "wait", "late")} == {data["ranks"]["columns"]}
    return made


def test_ranks_by_step(golden):
    """Who is waited for, and how long, is what the report says; each step stands above the same of other hosts, whose clocks differ by 250 ms."""
    data, whole = golden("ranks", page_traces.ranks_text())
    made, by_rank = rows(data), {rank["rank"]: rank for rank in whole["ranks"]["ranks"]}
    assert (data["ranks"]["by"], data["ranks"]["columns"], data["ranks"]["stride"]) == ("steps", page_traces.STEPS, 1)
    for row in made:
        rank = by_rank[row["rank"]]
        steps = [step for step in whole["steps"] if step["device"] == rank["device"]]
        assert row["length"] == [step["end_ns"] - step["begin_ns"] for step in steps]
        assert row["idle"] == [step["idle_ns"] for step in steps]
        assert sum(row["late"]) == rank["cost_ns"] and sum(row["wait"]) == rank["wait_ns"]
        assert all(abs(at - other) < 100_000 for at, other in zip(row["b"], made[0]["b"])), "on one clock"
    assert made[page_traces.LATE]["late"].index(max(made[page_traces.LATE]["late"])) == 15


def test_a_rank_that_is_seen_later_stands_where_it_belongs(golden):
    """The second rank says nothing of its first two steps."""
    text = page_traces.ranks_text()
    first, rest = text.split("process 301", 1)
    mine, others = rest.split("process 402", 1)
    mine = "\n".join(line for line in mine.splitlines() if not re.search(r"^range step~ .* number=[01] ", line))
    data, _ = golden("ranks-later", f"{first}process 301{mine}\nprocess 402{others}")
    made = rows(data)
    assert data["ranks"]["columns"] == page_traces.STEPS
    assert made[1]["length"][:2] == [0, 0] and min(made[1]["length"][2:]) > 0
    assert all(abs(at - other) < 100_000 for at, other in list(zip(made[1]["b"], made[0]["b"]))[2:])


def test_ranks_by_time(golden):
    """Where there are no steps: slices of the time, whose idle time and waits are the report's."""
    data, whole = golden("ranks-few")
    assert (data["ranks"]["by"], data["ranks"]["columns"]) == ("time", 240)
    by_rank = {rank["rank"]: rank for rank in whole["ranks"]["ranks"]}
    for row in rows(data):
        rank = by_rank[row["rank"]]
        device = next(device for device in whole["devices"] if device["device"] == rank["device"])
        assert sum(row["idle"]) == device["idle_ns"] > 0
        assert sum(row["late"]) == rank["cost_ns"] and sum(row["wait"]) == rank["wait_ns"]


# ---- the file ---------------------------------------------------------------------------------------------------------------------


def test_policy_names_what_is_there_and_nothing_else(build, root, gpushim, tmp_path):
    """Script and style by their hashes; scripts put no text where a parser would read it."""
    trace = page_traces.written(build, tmp_path / "trace", (root / "tests/golden/nvtx-phases/trace.txt").read_bytes())
    page(gpushim, trace, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_bytes()
    hashes = [base64.b64encode(hashlib.sha256(part).digest()).decode() for kind in (b"style", b"script")
              for part in re.findall(b"<%s>(.*?)</%s>" % (kind, kind), text, re.S)]
    style, script = hashes
    policy = f"default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">'.encode() in text
    for file in (root / "analyzer/html/page").glob("*.js"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|\bfetch\(|XMLHttpRequest|https?://", file.read_text()), file.name


def test_classes_have_their_own_looks(golden):
    """Every cause has one, and no two classes of a kind the same colour and pattern; on a dark page, too."""
    data, whole = golden("nvtx-phases")
    causes = [one["id"] for one in data["classes"] if one["kind"] == "idle"]
    assert causes == list(whole["devices"][0]["causes"])
    for theme in ("light", "dark"):
        for kind in ("idle", "busy"):
            looks = [(one[theme], one["pattern"]) for one in data["classes"] if one["kind"] == kind]
            assert len(set(looks)) == len(looks)
    assert all(one["advice"] and one["title"] for one in data["classes"] if one["kind"] == "idle")
