# SPDX-License-Identifier: BSD-2-Clause
"""What bursts say, on the report's page: for one device after another, and for many together."""

import subprocess

import pytest

THIRD = """device 2 uuid=3
stream 3 device=2
launch t=14000us..14002us stream=3 seq=1 kernel=regular device=2
launch t=14050us..14052us stream=3 seq=2 kernel=regular device=2
"""


@pytest.fixture
def page(root, build, gpushim, tmp_path):
    """The report on the golden trace of this name and these lines more, its lines joined."""
    def make(name, more=""):
        text, out = tmp_path / "trace.txt", tmp_path / "out"
        text.write_text((root / "tests/golden" / name / "trace.txt").read_text() + more)
        subprocess.run([build / "tools/gst_write", text, out], check=True)
        done = subprocess.run([gpushim, "report", out], capture_output=True, text=True, check=True)
        return " ".join(done.stdout.split())
    return make


def test_each_of_two_devices_has_its_estimate(page):
    text = page("bursts-of-another-device")
    assert "of the 2.4 ms that cannot be told, about 1.9 ms (1.9 ms to 2.0 ms, 95 %) idle: launch-bound 1.9 ms" in text
    assert "too few bursts (1)" in text, "of four, one met the second device"


def test_three_devices_have_a_column_and_a_sum(page):
    text = page("bursts-of-another-device", THIRD)
    assert "devices span idle likely 0 device" in text
    assert "15.7 % 80.1 % 1 device" in text and "15.4 % - 2 device" in text, "the second device's bursts are too few"
    assert ", 95 %) idle: launch-bound" in text[text.index("all 3 devices"):text.index("longest gaps")]
    assert "likely by level bursts idle for" in text and "95 %): 18 submissions were timed" in text
    assert "held the program up for 36.0 us, are in it" in text


def test_too_few_bursts_have_no_interval(page):
    text = page("bursts-too-few")
    assert "likely bursts are too few to say:" in text and "95 %" not in text
