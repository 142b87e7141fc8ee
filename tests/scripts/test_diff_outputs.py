# SPDX-License-Identifier: BSD-2-Clause
"""A diff as a comment, as JUnit's XML and as a page: well-formed whatever names hold, and the same figures in each of them. Of diffs made by hand
(tests/unit/diff_made.h), and of two runs on the simulated driver."""

import json
import re
import subprocess

import diff_outputs
import pytest
from diff_outputs import SIGNS

KINDS = ("rich", "hostile", "two", "empty")


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
    assert len(root.findall("testsuite")) == {"two": 2}.get(kind, 1)
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
    assert len(cases) == len(made["rows"]) == int(root.get("tests"))
    for row in made["rows"]:
        case = cases[row["id"]]
        assert float(case.get("time")) == pytest.approx(row["new_ns"] / 1e9, abs=1e-12)
        assert (case.find("failure") is not None) == (row["verdict"] == "+") and (case.find("skipped") is not None) == (row["verdict"] in "?x")


def test_figures_are_those_of_the_json(real):
    rows = {row["id"]: row for row in json.loads(real["json"])["rows"]}
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
        assert re.search(rf"{re.escape(sign)} {name} {re.escape(base)} {re.escape(new)} {re.escape(delta)} \S+ % {re.escape(interval)}", plain), (name, row)


def test_the_longest_gap_is_shown(real):
    gap = max(json.loads(real["json"])["devices"][0]["gaps"], key=lambda gap: gap["delta_ns"])
    assert gap["new"]["causes"]["host-sleep"] > 3_000_000 and gap["new"]["evidence"]
    assert f"gap {gap['new']['number']}" in real["md"] and f"report --why {gap['new']['number']}" in real["html"]
