# SPDX-License-Identifier: BSD-2-Clause
"""`report --html` in a browser: it loads without an error and asks for nothing (conftest.py looks at the end of each test), shows what the report says,
and does what is asked of it by mouse and keyboard."""

import re

import conftest
import pytest


LOOKS = [(kind, width, scheme) for kind in conftest.KINDS for width in (1400, 800) for scheme in ("light", "dark")
         if kind != "many" or (width, scheme) == (1400, "light")]  # it takes a while


@pytest.mark.parametrize("kind, width, scheme", LOOKS)
def test_it_loads(open_page, made, kind, width, scheme):
    page = open_page(kind, width=width, dark=scheme == "dark")
    assert page.all(".trouble") == []
    page.shot(f"{kind}-{width}-{scheme}", whole=True)
    assert page.js("return document.documentElement.scrollWidth <= innerWidth"), "nothing stands out at the right"
