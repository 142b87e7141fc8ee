# SPDX-License-Identifier: BSD-2-Clause
"""`report --html` in a browser: it loads without an error and asks for nothing (conftest.py looks at the end of each test), shows what the report says,
and does what is asked of it by mouse and keyboard."""

import re

import conftest
import figures
import pytest


LOOKS = [(kind, width, scheme) for kind in conftest.KINDS for width in (1400, 800) for scheme in ("light", "dark")
         if kind != "many" or (width, scheme) == (1400, "light")]  # it takes a while


@pytest.mark.parametrize("kind, width, scheme", LOOKS)
def test_it_loads(open_page, made, kind, width, scheme):
    page = open_page(kind, width=width, dark=scheme == "dark")
    assert page.all(".trouble") == []
    page.shot(f"{kind}-{width}-{scheme}", whole=True)
    assert page.js("return document.documentElement.scrollWidth <= innerWidth"), "nothing stands out at the right"


def test_figures_are_written_as_the_report_writes_them(open_page):
    """Ties, too: C rounds them to even."""
    page = open_page("hostile")
    values = [0, 1, 999, 1000, 1049, 1050, 1150, 1250, 1350, 2250, 3750, 12_345, 999_949, 999_950, 1_250_000, 999_949_999, 999_950_000, 1_125_000_000, 1_375_000_000,
              2_625_000_000, 999_999_999_999, 10**12, 1_000_500_000_000, 1_001_500_000_000, -1250]
    assert page.js("return arguments[0].map(gpushim.duration)", values) == [figures.duration(value) for value in values]
    sizes = [0, 1023, 1024, 1280, 1_048_524, 1_048_525, 5 * 2**20 + 2**18, 3 * 2**40]
    assert page.js("return arguments[0].map(gpushim.bytes)", sizes) == [figures.size(value) for value in sizes]
    parts = [(1, 8), (1, 16), (1, 32), (3, 80), (1, 3), (0, 0), (7, 7), (1, 800), (3, 800)]
    assert page.js("return arguments[0].map(([part, whole]) => gpushim.percent(part, whole))", parts) == [figures.percent(*part) for part in parts]
    counts = [0, 999, 1000, 1_234_567]
    assert page.js("return arguments[0].map(gpushim.count)", counts) == [f"{value:,}" for value in counts]
