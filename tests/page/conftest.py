# SPDX-License-Identifier: BSD-2-Clause
"""The page of `report --html` in a real browser: what is there is skipped, with the reason, where no browser could be had."""

import importlib.util
import json
import subprocess

import page_traces
import pytest

KINDS = ("demo", "many", "ranks", "hostile")
GAPS = 1_000_000


@pytest.fixture(scope="session")
def browser(build, tmp_path_factory):
    if not importlib.util.find_spec("selenium") or not (build / "setup-page").exists():
        log = build / "page.log"
        reason = log.read_text().strip().splitlines()[-1:] if log.exists() else []
        pytest.skip(f"no browser (scripts/setup.sh page): {''.join(reason)}")
    import chromium

    driver = chromium.start(tmp_path_factory.mktemp("chromium"))
    yield driver
    driver.quit()


class Made:
    """A trace, its page and its report."""

    def __init__(self, gpushim, run, page):
        self.gpushim, self.run, self.path = gpushim, run, page
        done = subprocess.run([gpushim, "report", run, "--html", page], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self.warnings = done.stderr
        self.parsed = {}

    def report(self, *options):
        if options not in self.parsed:
            done = subprocess.run([self.gpushim, "report", self.run, "--json", *options], capture_output=True, check=True)
            self.parsed[options] = json.loads(done.stdout)
        return self.parsed[options]

    def text(self, *options):
        return subprocess.run([self.gpushim, "report", self.run, *options], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="session")
def made(build, gpushim, recorder, tmp_path_factory):
    """kind → what was made of it, once."""
    folder, cache = tmp_path_factory.mktemp("pages"), {}

    def trace(kind):
        if kind == "demo":
            return page_traces.demo(recorder)
        if kind == "many":
            return page_traces.many(build, folder / kind, GAPS)
        return page_traces.written(build, folder / kind, {"ranks": page_traces.ranks_text, "hostile": page_traces.hostile_text}[kind]())

    def get(kind):
        if kind not in cache:
            cache[kind] = Made(gpushim, trace(kind), folder / f"{kind}.html")
        return cache[kind]

    return get


@pytest.fixture
def open_page(browser, made, build):
    """open_page(kind, width=, height=, dark=): the page of that trace. At the test's end nothing may have gone wrong in it, nor may it have
    asked for anything."""
    import chromium

    opened = []

    def get(kind, **how):
        page = chromium.Page(browser, made(kind).path, build / "check/page").open(**how)
        opened[:] = [page]
        return page

    yield get
    for page in opened:
        assert page.troubles() == []
        assert page.requests() == []
