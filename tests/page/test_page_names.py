# SPDX-License-Identifier: BSD-2-Clause
"""C++ names in the page: whole where a reader asks, short where there is little room."""

import subprocess

import page_data
import page_traces
import pytest

SYMBOL = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_"
WHOLE = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
         "(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)")
SHORT = "vectorized_elementwise_kernel<4, CUDAFunctor_add<...>, array<...>>"
PLAIN = "a_kernel_of_a_compiler_that_writes_what_it_does_into_the_name_" * 2


@pytest.fixture
def page(build, gpushim, root, tmp_path):
    text = (root / "tests/golden/stacks-python/trace.txt").read_text()
    first, second, rest = text.replace("kernel=step", f"kernel={SYMBOL}", 1).partition("kernel=step")
    run = page_traces.written(build, tmp_path / "trace", first + f"kernel={PLAIN}" + rest)
    subprocess.run([gpushim, "report", run, "--html", tmp_path / "page.html"], check=True)
    return tmp_path / "page.html"


def test_long_names_have_a_short_form(page):
    data = page_data.of_page(page)
    assert {data["strings"][int(number)]: short for number, short in data["short"].items()} == {WHOLE: SHORT}
    assert PLAIN in data["strings"] and not any(SYMBOL in text for text in data["strings"])


def test_story_names_the_kernel(page, browser, build):
    import chromium

    opened = chromium.Page(browser, page, build / "check/page").open()
    opened.js("gpushim.bus.emit('select', { device: 0, gap: 0 })")
    shown = opened.until("return [...document.querySelectorAll('#story .code[title]')].map(e => [e.textContent, e.title])")
    assert [SHORT, WHOLE] in shown
    assert opened.troubles() == [] and opened.requests() == []
