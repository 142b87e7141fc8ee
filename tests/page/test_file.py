# SPDX-License-Identifier: BSD-2-Clause
"""The page as a file: one that can be sent on. It names nothing outside of itself, nothing a trace says can end its data, and it is the same each time."""

import re
import subprocess

import figures
import page_traces
import pytest

# Ways in which a name could become markup or code, in which a page could ask for something, and in which it could be another tomorrow.
NEVER = (r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc|\beval\(|new Function|set(Timeout|Interval)\(\s*[\"'`]",
         r"\bfetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|\bimport\b|importScripts|new Worker|https?://|url\(",
         r"Math\.random|Date\.now|new Date|localStorage|sessionStorage|indexedDB|document\.cookie")
SOURCES = ("*.js", "*.css", "*.html")


@pytest.fixture(scope="module")
def pages(build, gpushim, tmp_path_factory):
    """kind → its page's text, made twice."""
    folder, cache = tmp_path_factory.mktemp("files"), {}

    def get(kind):
        if kind not in cache:
            trace = page_traces.written(build, folder / kind, {"ranks": page_traces.ranks_text, "hostile": page_traces.hostile_text}[kind]())
            for page in ("once.html", "again.html"):
                subprocess.run([gpushim, "report", trace, "--html", folder / page], check=True, stdout=subprocess.DEVNULL)
            once, again = ((folder / page).read_bytes() for page in ("once.html", "again.html"))
            assert once == again
            cache[kind] = once.decode()
        return cache[kind]

    return get


@pytest.mark.parametrize("pattern", NEVER, ids=["markup", "requests", "chance"])
def test_sources(root, pattern):
    files = [path for glob in SOURCES for path in sorted((root / "analyzer/html/page").rglob(glob))]
    assert len(files) >= 6
    found = [f"{path.name}: {line.strip()}" for path in files for line in path.read_text().splitlines() if re.search(pattern, line)]
    assert found == []


@pytest.mark.parametrize("kind", ["ranks", "hostile"])
def test_the_data_cannot_end_its_element(pages, kind):
    (data,) = figures.DATA.findall(pages(kind))
    assert not re.search("[<>&\u2028-\u202e\u2066-\u2069\u200e\u200f\\x00-\\x08\\x0b-\\x1f\\x7f\ufffe\uffff]", data)
    assert pages(kind).count("<script") == pages(kind).count("</script") >= 2


@pytest.mark.parametrize("kind", ["ranks", "hostile"])
def test_it_is_whole(pages, kind):
    text = pages(kind)
    assert text.startswith("<!DOCTYPE html>") and text.rstrip().endswith("</html>")
    assert re.search(r"""<meta http-equiv="Content-Security-Policy" content="default-src 'none';""", text)
    outside = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.S)
    assert not re.search(r"""https?://|\b(src|href)\s*=\s*["'](?!#|data:)""", outside)
    assert "@" + "POLICY@" not in text and not re.search(r"@[A-Z]+@", outside)
