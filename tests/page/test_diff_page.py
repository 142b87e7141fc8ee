# SPDX-License-Identifier: BSD-2-Clause
"""The page of `diff --html` in a browser: it draws itself without a script, in both themes, at any width; a keyboard has all of it; names are text.
Of diffs made by hand (tests/unit/diff_made.h)."""

import re
import subprocess

import pytest

KINDS = ("rich", "hostile", "two", "empty")
SIGNS = {"+": "regressed", "-": "improved", "~": "unchanged", "?": "inconclusive", "x": "not comparable"}


@pytest.fixture(scope="module")
def files(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("diffs")
    for kind in KINDS:
        done = subprocess.run([build / "tools/diff_made", kind, "html"], capture_output=True, check=True)
        (folder / f"{kind}.html").write_bytes(done.stdout)
    return folder


@pytest.fixture
def open_diff(browser, files, build):
    import chromium

    opened = []

    def get(kind, **how):
        opened[:] = [chromium.Page(browser, files / f"{kind}.html", build / "check/page").open(**how)]
        return opened[0]

    yield get
    for page in opened:
        assert page.troubles() == [] and page.requests() == []


def css(page, selector, name):
    return page.js("return getComputedStyle(document.querySelector(arguments[0])).getPropertyValue(arguments[1])", selector, name)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 420])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_drawn(open_diff, kind, width, dark):
    page = open_diff(kind, width=width, dark=dark)
    assert page.js("return document.scripts.length") == 0
    assert page.js("return document.documentElement.scrollWidth") <= width
    assert page.find("#answer .sign").text in SIGNS and page.find("#answer h1").text
    page.shot(f"diff-{kind}-{width}-{'dark' if dark else 'light'}", whole=True)


def test_themes_are_the_readers(open_diff):
    seen = [[css(open_diff("rich", dark=dark), *what) for what in (("body", "background-color"), ("h1", "color"), (".c-compute", "fill"), (".change-regressed", "fill"))]
            for dark in (False, True)]
    assert all(light != dark for light, dark in zip(*seen)), seen


def test_each_class_has_its_colours(root, build):
    style = (build / "page/diff_head.html").read_text()
    light, _, dark = style.partition("@media (prefers-color-scheme: dark)")
    rows = re.findall(r'^(?:CLASS\(\w+, +"([^"]+)"|CAUSE_CLASS\((\w+)),.*?"(#\w{6})", "(#\w{6})"', (root / "analyzer/html/html_classes.def").read_text(), re.M)
    assert len(rows) > 40
    for name, cause, colour, other in rows:
        name = name or cause.replace("_", "-")
        assert f".c-{name} {{ fill: {colour}; }}" in light and f".c-{name} {{ fill: {other}; }}" in dark, name


def test_verdicts_are_text(open_diff):
    """Nobody has to tell them by colour."""
    page = open_diff("rich")
    said = page.js("return [...document.querySelectorAll('.rows tbody tr')].map(tr => tr.cells[0].textContent)")
    assert {one[0] for one in said} == {"+", "-", "~", "?"} and all(one[1:] == SIGNS[one[0]] for one in said)


def test_bars_are_to_scale(open_diff):
    page = open_diff("rich")
    ends = page.js("""return [...document.querySelectorAll('.stack-rows .stacked')].map(svg =>
        Math.max(...[...svg.querySelectorAll('rect')].map(r => r.x.baseVal.value + r.width.baseVal.value)))""")
    assert ends == [pytest.approx(1000 * 102.4 / 121.9, abs=0.5), pytest.approx(1000, abs=0.5)]


def test_an_interval_is_drawn_around_its_change(open_diff):
    page = open_diff("rich")
    for zero, bar, whisker in page.js("""return [...document.querySelectorAll('.picture')].map(svg => [svg.querySelector('.zero').x1.baseVal.value,
            (r => [r.x.baseVal.value, r.x.baseVal.value + r.width.baseVal.value])(svg.querySelector('.change')),
            (b => [b.x, b.x + b.width])(svg.querySelector('.whisker').getBBox())])"""):
        tip = bar[1] if abs(bar[0] - zero) < 0.2 else bar[0]
        assert whisker[0] - 0.2 <= tip <= whisker[1] + 0.2 and -0.1 <= whisker[0] and whisker[1] <= 230.1


def test_a_keyboard_has_all_of_it(open_diff):
    page = open_diff("rich")
    details = page.js("return document.querySelectorAll('details:not([open])').length")
    reached = 0
    for _ in range(60):
        page.press("TAB")
        if page.js("const d = document.activeElement.closest('summary') && document.activeElement.parentElement; return d && !d.open"):
            page.press("ENTER")
            reached += 1
    assert details >= 1 and reached == details and page.js("return document.querySelectorAll('details:not([open])').length") == 0


def test_names_stay_text(open_diff):
    """Nothing of them runs, and no element is made of them."""
    page = open_diff("hostile")
    assert "<script>alert(1)</script><img src=x onerror=alert(2)>" in page.text()
    assert page.js("return document.querySelectorAll('img, script, a[href^=http], [onmouseover], [onerror]').length") == 0


def test_devices_are_linked(open_diff):
    page = open_diff("two")
    assert page.js("return [...document.querySelectorAll('nav a')].every(a => document.querySelector(a.getAttribute('href')))")
    assert len(page.all("section.device")) == 2
