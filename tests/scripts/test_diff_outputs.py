# SPDX-License-Identifier: BSD-2-Clause
"""A diff as a comment, as JUnit's XML and as a page: well-formed whatever names hold, and the same figures in each of them. Of diffs made by hand
(tests/unit/diff_made.h), and of two runs on the simulated driver."""

import json
import re
import subprocess

import diff_outputs
import pytest
from diff_outputs import SIGNS

KINDS = ("rich", "hostile", "two", "few", "many", "tail", "stories", "whole", "empty")
DEVICES = {"two": 2, "few": 8, "many": 64}


@pytest.fixture(scope="session")
def made(build):
    """made(kind, form): what is printed of it; the same each time."""
    cache = {}

    def get(kind, form):
        if (kind, form) not in cache:
            once, again = (subprocess.run([build / "tools/diff_made", kind, form], capture_output=True, check=True).stdout for _ in range(2))
            assert once == again
            cache[kind, form] = once
        return cache[kind, form]

    return get


def rows_of_md(text):
    """row's name → (sign, base, new, change, interval) of the first table."""
    head, *rows = diff_outputs.tables(text)[0]
    assert head == ["", "per step", "base", "new", "change", "", "95 % interval"]
    return {name: (sign, base, new, delta, interval) for sign, name, base, new, delta, _, interval in rows}


# ---- each by its rules ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", KINDS)
def test_comment(made, kind):
    text = made(kind, "md").decode()
    assert list(diff_outputs.markdown_troubles(text)) == []
    assert re.match(r"### `[+~?x-]` \S", text) and len(text.encode()) <= 60000


@pytest.mark.parametrize("kind", KINDS)
def test_junit(made, kind):
    root = diff_outputs.junit(made(kind, "junit"))
    assert len(root.findall("testsuite")) == DEVICES.get(kind, 1)
    assert {one.get("name") for one in root.iter("property")} >= {"verdict", "reason", "base.1.path", "new.1.path"}


@pytest.mark.parametrize("kind", KINDS)
def test_page(made, kind):
    text = made(kind, "html").decode()
    page = diff_outputs.Page(text)
    assert page.troubles == []
    assert text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n")
    assert re.search(r"""<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-[^']+'; base-uri""", text)
    assert not re.search("[\u2028-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f]", text)


def test_names_are_there_as_text(made):
    """What is left of a name where what steers is taken out."""
    said = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    assert said in "".join(diff_outputs.Page(made("hostile", "html").decode()).text)
    assert any(said in one.get("value") for one in diff_outputs.junit(made("hostile", "junit")).iter("property"))
    assert any(said in cell for table in diff_outputs.tables(made("hostile", "md").decode()) for row in table for cell in row)


def test_rules_see_trouble():
    """The yardsticks of this test."""
    for bad in ("<img>", "see @me", "fixes #1", "http://x", "[a](b)", "a ` b", "    code", "- x\n\n---\n", "<details>"):
        assert list(diff_outputs.markdown_troubles(bad)), bad
    for good in ("`<img>` and `` a`b ``", "`@me` `#`1 http`://`x", "| a | b |\n|---|---|\n| `x` | y |\n", "- x", "\\<img\\>"):
        assert list(diff_outputs.markdown_troubles(good)) == [], good
    for bad in ("<p><b></p>", "<p onclick='x'>a</p>", "<script></script>", "<a href='http://x'>a</a>"):
        assert diff_outputs.Page(bad).troubles, bad


# ---- the same figures ----------------------------------------------------------------------------------------------------------------------

def test_figures_of_the_comment_are_those_of_the_page(made):
    md = rows_of_md(made("rich", "md").decode())
    shown = next(table for table in diff_outputs.Page(made("rich", "html").decode()).tables if table[0][0] == "verdict")
    page = {}
    for verdict, name, base, new, delta, _, _, interval in shown[1:]:
        page[name.split("\n")[0]] = (verdict[0], base, new, delta, interval)
    assert {row: page.get(row) for row in md} == md
    assert all(verdict[1:] == SIGNS[verdict[0]] for verdict, *_ in shown[1:])


def test_figures_of_junit_are_those_of_the_comment(made):
    md = rows_of_md(made("rich", "md").decode())
    cases = {case.get("name"): case for case in diff_outputs.junit(made("rich", "junit")).iter("testcase")}
    for name, (sign, base, new, delta, interval) in md.items():
        said = "".join(cases[name].itertext()) + "".join(child.get("message", "") for child in cases[name])
        assert f"{SIGNS[sign]}: {new} a step, was {base}: {delta}" in said and f"(95 %: {interval})" in said
        assert (cases[name].find("failure") is not None) == (sign == "+") and (cases[name].find("skipped") is not None) == (sign in "?x")


def test_evidence_is_in_all_of_them(made):
    for form in ("md", "junit", "html"):
        assert "path=/data/slow/train-0003.tar offset=1048576 bytes=524288" in made("rich", form).decode()


def test_nothing_to_compare_says_why(made):
    assert made("empty", "md").decode().startswith("### `x` not comparable: base has 2 devices, new has 4\n")
    (case,) = diff_outputs.junit(made("empty", "junit")).iter("testcase")
    assert case.find("skipped").get("message") == "base has 2 devices, new has 4"
    assert "base has 2 devices, new has 4" in made("empty", "html").decode()


# ---- what long steps add -------------------------------------------------------------------------------------------------------------------

def cases_of(root):
    """(suite's name, case's name) → the case."""
    return {(suite.get("name"), case.get("name")): case for suite in root.iter("testsuite") for case in suite.iter("testcase")}


def test_a_tail_that_alone_regressed(made):
    """It made the exit status 1: each output says so."""
    figures = ("+", "500.0 us", "12.5 ms", "+12.0 ms", "+10.0 ms to +14.0 ms")
    md, page = rows_of_md(made("tail", "md").decode()), diff_outputs.Page(made("tail", "html").decode()).tables[0]
    assert [name for name, row in md.items() if row[0] == "+"] == ["tail"] and md["tail"] == figures
    assert "| `+` | **tail** | 500.0 us | 12.5 ms | **+12.0 ms** | +11.7 % |" in made("tail", "md").decode()
    assert {row[1].split("\n")[0]: (row[0][0], row[2], row[3], row[4], row[7]) for row in page[1:]}["tail"] == figures
    assert re.search(r'<tr class="sum fails"><td><span class="sign sign-regressed"[^>]*>\+</span>(?:(?!<tr).)*>tail</span>', made("tail", "html").decode(), re.S)
    root = diff_outputs.junit(made("tail", "junit"))
    failed = [case.get("name") for case in root.iter("testcase") if case.find("failure") is not None]
    assert failed == ["tail"] and root.get("failures") == "1"
    (case,) = (case for case in root.iter("testcase") if case.get("name") == "tail")
    assert case.get("time") == "0.012500000" and case.find("failure").get("message").startswith("regressed: 12.5 ms a step, was 500.0 us: +12.0 ms, +11.7 % of the step")
    assert "tail     + long steps add 500.0 us to the mean step in base, 12.5 ms in new" in made("tail", "text").decode()


def test_a_tail_is_a_row_of_each_table(made):
    assert rows_of_md(made("rich", "md").decode())["tail"] == ("~", "500.0 us", "3.0 ms", "+2.5 ms", "+1.3 ms to +3.7 ms")
    assert all(int(suite.get("tests")) == len(json.loads(made("few", "json"))["rows"]) / 8 + 1 for suite in diff_outputs.junit(made("few", "junit")).iter("testsuite"))


# ---- many devices --------------------------------------------------------------------------------------------------------------------------

def headings(text):
    """Each heading's device, what else it says, and the lines up to the next one."""
    parts = re.split(r"^#### device (\d+)(.*)$", text, flags=re.M)[1:]
    return [(int(number), words, body) for number, words, body in zip(parts[::3], parts[1::3], parts[2::3])]


def test_devices_come_by_verdict(made):
    told = [part for part in headings(made("few", "md").decode()) if "what changed" not in part[1]]
    assert [number for number, *_ in told] == [5, 1, 3, 7, 2, 6]
    assert ["".join(diff_outputs.tables(body)[0][1][:2]) for *_, body in told] == ["+step", "-step", "xstep", "xstep", "?step", "?step"]
    assert "\n`~` 2 devices are unchanged: 0, 4\n" in made("few", "md").decode() and "left out" not in made("few", "md").decode()
    assert [number for number, words, _ in headings(made("few", "md").decode()) if "what changed" in words] == [5, 1, 3, 7, 2, 6]
    assert re.findall(r"^device (\d+)", made("few", "text").decode(), re.M) == ["5", "1", "3", "7"]
    assert re.findall(r"^device (\d+)", made("many", "text").decode(), re.M) == ["5", "13", "21", "29"]
    assert "\n4 more devices: --json, --html FILE\n" in made("few", "text").decode()


def test_a_device_has_all_of_its_rows_or_is_named(made):
    """However long others are: no row stands under another device's head, and each device is somewhere."""
    text = made("many", "md").decode()
    parts = headings(text)
    told = [part for part in parts if "what changed" not in part[1]]
    for number, words, body in told:
        (table,) = diff_outputs.tables(body)
        assert len(table) == 12 and [row[1] for row in table[1:]][::10] == ["step", "tail"], number
        assert "<details>" not in body
    numbers = [number for number, *_ in told]
    plus = [i for i in range(64) if i % 8 == 5]
    better = [i for i in range(64) if i % 8 == 1]
    unlike = [i for i in range(64) if i % 4 == 3]
    order = plus + better + unlike + [i for i in range(64) if i % 4 == 2]
    assert numbers == order[:len(numbers)] and len(plus) < len(numbers) < 48
    left, named, more = re.search(r"^(\d+) more devices for which there is no room here: ([\d, ]+)(?: and (\d+) more)?$", text, re.M).groups()
    named = [int(number) for number in named.split(", ")]
    assert named == order[len(numbers):][:24] and int(left) == 48 - len(numbers) == len(named) + int(more or 0)
    assert re.search(r"^`~` 16 devices are unchanged: " + ", ".join(str(i) for i in range(0, 64, 4)) + "$", text, re.M)
    assert re.search(rf"^{left} devices and \d+ lines are left out: a comment has room for 60000 bytes", text, re.M)
    changed = [number for number, words, _ in parts if "what changed" in words]
    assert changed == order[:len(changed)] and changed
    assert all("<details>" in body for _, words, body in parts if "what changed" in words)


def test_signs_of_devices(made):
    """The worst row's, and be it the tail: device 13 has no other."""
    text = made("many", "html").decode()
    signs = dict(re.findall(r'<li><a href="#device-(\d+)">[^<]*</a> <span class="sign [^>]*>(.)</span>', text))
    assert signs == {str(i): "~-?x~+?x"[i % 8] for i in range(64)}
    folded = re.findall(r'<section class="device" id="device-(\d+)">(?:(?!<section).)*<summary>nothing changed for sure', text, re.S)
    assert folded == [str(i) for i in range(64) if i % 4 in (0, 2)]


def test_a_device_has_bases_number(made):
    title = "device 5 (2 in new), NVIDIA H100 80GB HBM3"
    root = diff_outputs.junit(made("few", "junit"))
    assert {case.get("classname") for (suite, _), case in cases_of(root).items() if suite == title} == {"gpushim.device5"}
    assert {case.get("classname") for case in root.iter("testcase")} == {f"gpushim.device{i}" for i in range(8)}
    assert f"#### {title}\n" in made("few", "md").decode() and f"\n{title}\n" in made("few", "text").decode() and f"<h2>{title}</h2>" in made("few", "html").decode()
    assert [(device["device"], device["new_device"]) for device in json.loads(made("few", "json"))["devices"]] == [(i, 7 - i) for i in range(8)]
    assert "device 0, NVIDIA H100 80GB HBM3" in made("rich", "text").decode() and "in new)" not in made("rich", "html").decode()


# ---- what is said of a row -----------------------------------------------------------------------------------------------------------------

def test_stories_are_of_their_rows(made):
    cases = {case.get("name"): case for case in diff_outputs.junit(made("stories", "junit")).iter("testcase")}
    failures = {name: case.find("failure").text.split("\n") for name, case in cases.items() if case.find("failure") is not None}
    assert set(failures) == {"step", "idle", "compute", "input-storage", "host-compute"}
    assert len(failures["step"]) == len(failures["compute"]) == 1  # no gap tells why
    assert len(failures["host-compute"]) == 1  # its only gap shrank
    for row in ("idle", "input-storage"):  # not the gap that comes first
        assert failures[row][1] == "input-storage, 24.6 ms, observed" and failures[row][-1] == "held by load_batch (train.py:41)"


def test_a_note_is_of_rows_that_cannot_be_compared(made):
    cases = {case.get("name"): case for case in diff_outputs.junit(made("stories", "junit")).iter("testcase")}
    assert cases["sync-bubble"].find("skipped").get("message") == "host probes are ebpf in base and none in new"
    assert cases["cpu-contention"].find("skipped").get("message") == "inconclusive: 5.5 ms a step, was 4.0 ms: +1.5 ms, +1.5 % of the step (95 %: -3.1 ms to +6.1 ms)"


def test_the_band_is_the_verdicts(made):
    """Of what is idle or busy it is wider, by what is not known of it: 2 ms and 6 ms more."""
    words = "a change of less than 2.0 ms, 2.0 % of the step, is none, and in its parts one of less than 8.0 ms;"
    text = made("stories", "html").decode()
    assert words in text and words in made("stories", "md").decode() and words in " ".join(made("stories", "text").decode().split())
    assert "in its parts" not in made("rich", "html").decode()
    bands = {name: float(width) for name, width in re.findall(r'<tr(?:(?!<tr).)*?class="name">(?:<svg.*?</svg>)?([\w-]+)</span>(?:(?!<tr).)*?class="band" x="[\d.]+" width="([\d.]+)"', text, re.S)}
    assert bands["idle"] == bands["compute"] == bands["host-compute"] == pytest.approx(4 * bands["step"], rel=0.01)
    assert bands["tail"] == pytest.approx(2.56 * bands["step"], rel=0.01)  # 5 % of 102.4 ms


def test_whole_runs_are_called_so(made):
    for form in ("md", "html", "text"):
        text = " ".join(made("whole", form).decode().split())
        assert "2 whole runs against 1 whole run; a change" in text and "0 steps" not in text


# ---- of two runs ---------------------------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def real(build, gpushim, recorder, tmp_path_factory):
    """What is printed of two runs on the simulated driver, in each form, by one call and by two."""
    folder = tmp_path_factory.mktemp("real")
    for side, length in (("base", 20_000), ("new", 4_000_000)):
        env = recorder.environment(shim=False, LAB_LAYERS=6, LAB_SHORT=length)
        subprocess.run([gpushim, "run", "--host", "off", "-o", folder / side, "--", build / "host/faults_linked", "sleep", "40"], env=env, check=True, capture_output=True)

    def diff(*options):
        done = subprocess.run([gpushim, "diff", folder / "base", folder / "new", *options], capture_output=True)
        assert done.returncode == 1, done.stderr
        return done.stdout.decode()

    made = {"text": diff(), "json": diff("--json"), "md": diff("--md", "--junit", folder / "a.xml", "--html", folder / "a.html"), "junit": diff("--junit", "-"), "html": diff("--html", "-")}
    made["junit"], made["html"] = (made[form][made[form].index(first):] for form, first in (("junit", "<?xml"), ("html", "<!DOCTYPE")))
    assert made["junit"] == (folder / "a.xml").read_text() and made["html"] == (folder / "a.html").read_text()
    return made


def exact(words):
    """"+1.5 ms" → (ns, what is rounded off of it)."""
    number, unit = re.fullmatch(r"([+-]?[\d.,]+) (ns|us|ms|s)", words).groups()
    scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
    return float(number.replace(",", "")) * scale, scale * 0.051


def test_real_outputs_keep_their_rules(real):
    assert list(diff_outputs.markdown_troubles(real["md"])) == [] and diff_outputs.Page(real["html"]).troubles == []
    assert real["md"].startswith("### `+` regressed: ")


def test_cases_are_rows(real):
    made, root = json.loads(real["json"]), diff_outputs.junit(real["junit"])
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert len(cases) == len(made["rows"]) + 1 == int(root.get("tests"))
    assert float(cases["tail"].get("time")) == pytest.approx(max(made["devices"][0]["new_tail_ns"], 0) / 1e9, abs=1e-12)
    for row in made["rows"]:
        case = cases[row["id"]]
        assert float(case.get("time")) == pytest.approx(row["new_ns"] / 1e9, abs=1e-12)
        assert (case.find("failure") is not None) == (row["verdict"] == "+") and (case.find("skipped") is not None) == (row["verdict"] in "?x")


def test_figures_are_those_of_the_json(real):
    made = json.loads(real["json"])
    device = made["devices"][0]
    rows = {row["id"]: row for row in made["rows"]} | {"tail": device["tail"] | {"base_ns": device["base_tail_ns"], "new_ns": device["new_tail_ns"]}}
    md = rows_of_md(real["md"])
    assert {"step", "idle", "host-sleep"} <= set(md)
    for name, (sign, base, new, delta, interval) in md.items():
        row, low, high = rows[name], *interval.split(" to ")
        assert sign == row["verdict"]
        for words, ns in ((base, row["base_ns"]), (new, row["new_ns"]), (delta, row["delta_ns"]), (low, row["low_ns"]), (high, row["high_ns"])):
            value, rounded = exact(words)
            assert value == pytest.approx(ns, abs=rounded), (name, words, ns)


def test_figures_are_in_each_form(real):
    plain = re.sub(r"\s+", " ", real["text"])
    page = next(table for table in diff_outputs.Page(real["html"]).tables if table[0][0] == "verdict")
    shown = {name.split("\n")[0]: (verdict[0], base, new, delta, interval) for verdict, name, base, new, delta, _, _, interval in page[1:]}
    for name, row in rows_of_md(real["md"]).items():
        sign, base, new, delta, interval = row
        assert shown[name] == row
        if name == "tail":
            assert f"tail {sign} long steps add {base} to the mean step in base, {new} in new" in plain
            continue
        assert re.search(rf"{re.escape(sign)} {name} {re.escape(base)} {re.escape(new)} {re.escape(delta)} \S+ % {re.escape(interval)}", plain), (name, row)


def test_the_longest_gap_is_shown(real):
    gap = max(json.loads(real["json"])["devices"][0]["gaps"], key=lambda gap: gap["delta_ns"])
    assert gap["new"]["causes"]["host-sleep"] > 3_000_000 and gap["new"]["evidence"]
    assert f"gap {gap['new']['number']}" in real["md"] and f"report --why {gap['new']['number']}" in real["html"]
