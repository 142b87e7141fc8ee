# SPDX-License-Identifier: BSD-2-Clause
"""`report --why N`: what ran before and after, whether the host was late, and what the work stood behind, wait by wait."""

import subprocess

import pytest

INNOCENT = "host innocent: the submission had returned"


@pytest.fixture
def why(root, build, gpushim, tmp_path):
    """The page on a gap, the first, of the golden trace of this name, its lines joined."""
    def make(name, gap=0):
        subprocess.run([build / "tools/gst_write", root / "tests/golden" / name / "trace.txt", tmp_path / name], check=True)
        done = subprocess.run([gpushim, "report", tmp_path / name, "--why", str(gap)], capture_output=True, text=True, check=True)
        assert max(map(len, done.stdout.splitlines())) <= 80
        return " ".join(done.stdout.split())
    return make


def test_each_wait_on_the_way(why):
    text = why("cause-device-dependency-relay")
    assert "before first in stream 2" in text and "after second in stream 2" in text
    assert f"{INNOCENT} 482.7 us before the gap began what the work stood behind" in text
    waits = [text.index(words) for words in ("stream 2 waits for event 0x6: put in at -486.7 us, cuStreamWaitEvent took 1.0 us (host-100.gst byte",
                                             "stream 3 waits for event 0x5: put in at -490.7 us",
                                             "stream 1: a host function, over by +4,434.3 us, not before +4,390.3 us; cuLaunchHostFunc took")]
    assert waits == sorted(waits)
    assert "what to do device-dependency: queued work waited" in text


def test_a_value(why):
    text = why("cause-device-dependency-value-late")
    assert "stream 2 waits for the value at 0x1000 to be 1: put in at -495.0 us" in text
    assert "stream 1: cuStreamWriteValue32_v2, over by +2,998.0 us, not before +2,995.0 us" in text
    text = why("cause-device-dependency-value-unwritten")
    assert "stream 2 waits for the value at 0x1000 to be 1 or more: put in" in text and "no record says who wrote that" in text


@pytest.mark.parametrize("name, gap, node", [("node", 1, "a host node"), ("node-device", 0, "far_away")])
def test_a_node_of_a_graph(why, name, gap, node):
    """It is named as in the evidence."""
    assert f"{node} of the graph, over by" in why(f"cause-device-dependency-{name}", gap)


def test_a_host_that_was_late(why):
    text = why("chain-host-lock")
    assert "host late: thread 100's submission returned 7.5 ms after the gap began who owned it" in text
    assert "what the work stood behind" not in text and "doubt" not in text and INNOCENT not in text


def test_doubt(why):
    assert "doubt records about it may be missing (gpushim info says which): all causes are inferences" in why("losses-lower-confidence")
