# SPDX-License-Identifier: BSD-2-Clause
"""The report's page, word for word where figures stand: what bursts say, for one device and for many; steps and phases; stacks."""

import subprocess

import pytest

THIRD = """device 2 uuid=3
stream 3 device=2
launch t=14000us..14002us stream=3 seq=1 kernel=regular device=2
launch t=14050us..14052us stream=3 seq=2 kernel=regular device=2
"""


@pytest.fixture
def page(root, build, gpushim, tmp_path):
    """The report in full on the golden trace of this name and these lines more, its lines joined; options: the command's."""
    def make(name, more="", options=("--full",)):
        text, out = tmp_path / "trace.txt", tmp_path / "out"
        text.write_text((root / "tests/golden" / name / "trace.txt").read_text() + more)
        subprocess.run([build / "tools/gst_write", text, out], check=True)
        done = subprocess.run([gpushim, "report", out, *options], capture_output=True, text=True, check=True)
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


def test_steps_and_phases(page):
    text = page("nvtx-phases")
    assert "steps and phases by the program's own NVTX ranges 3 steps (step 1 to step 3), half of them within 1.0 ms;" in text
    assert "the device was idle in 49.2 % of them, longest in step 2: 650.0 us idle in phase time of idle mainly" in text
    assert "backward 530.0 us 36.6 % unexplained 100 % data 400.0 us 27.6 % unexplained 100 % forward 200.0 us 13.8 % unexplained 100 %" in text
    assert "forward > attention 120.0 us 8.3 % unexplained 100 % (step, in no range of it) 100.0 us 6.9 %" in text
    assert "epoch 0 100.0 us 6.9 % unexplained 100 % longest gaps" in text, "no row more"


def test_each_step(page):
    text = page("nvtx-phases", options=["--steps"])
    assert text == ("device 0 steps by NVTX ranges step at length idle mainly step 1 -360.0 us 1.0 ms 290.0 us 29.0 % unexplained 100 % "
                    "step 2 640.0 us 1.0 ms 650.0 us 65.0 % unexplained 100 % step 3 1.6 ms 950.0 us 510.0 us 53.7 % unexplained 100 % "
                    "in a step median mean of its length idle 510.0 us 483.3 us 49.2 % unexplained 510.0 us 483.3 us 49.2 %")


def test_a_step_without_length(page):
    text = page("nvtx-killed", options=["--steps"])
    assert "step 2 2.4 ms 2.5 ms 1.5 ms 60.5 % sync-bubble 66 %, unexplained 33 %" in text and "step 4 6.9 ms 0 ns 0 ns 0.0 % in a step" in text
    assert "4 steps (step 1 to step 4), half of them within 2.0 ms" in page("nvtx-killed", options=["--full"])


def test_steps_without_ranges(page):
    text = page("steps-by-launches")
    assert ("steps and phases by what repeats in its launches 12 steps (step 0 to step 11), half of them within 1.0 ms; the device was idle in 37.6 % of "
            "them, longest in step 7: 2.3 ms step 7 took 2.0 ms longer than half of them: module-load 2.0 ms longest gaps") in text
    text = page("steps-by-launches", options=["--steps"])
    assert text.startswith("device 0 steps by what repeats in the launches step at length idle mainly step 0 490.0 us 1.0 ms 295.0 us 29.5 % ")
    assert "after step 4 5.5 ms 1.0 ms 370.0 us 37.0 %" in text and "step 7 8.5 ms 3.0 ms 2.3 ms 76.5 % module-load 87 %, sync-bubble 12 % step 8" in text
    assert text.endswith("step 7 took 2.0 ms longer than half of them: module-load 2.0 ms")
    assert "in a step median mean of its length idle 295.0 us 438.3 us 37.6 % module-load 0 ns 166.7 us 14.3 %" in text


def test_no_steps(page):
    assert page("stacks-python", options=["--steps"]) == "no steps: neither NVTX ranges nor launches repeat (gpushim info)"
    assert "steps and phases" not in page("stacks-python")


def test_call_sites(page):
    text = page("stacks-python")
    assert "idle time by call site the statement that the submitting thread was at 6.0 ms 99.6 % train.py:41 in load_batch; host-sleep in 1 gap" in text
    assert "and 2 more: --json, export --folded 3 stacks taken in 20.0 us, 0.07 % of the run; 3 looks from outside;" in text
    assert "/nonexistent/bin/python3.11 is not here" in text


def test_the_stacks_of_one_gap(page):
    """Each place with how long it held the thread; of what owns a fiftieth and more the stack that says so, with the statement in it marked."""
    text = page("stacks-python", options=["--why", "0"])
    assert text.count("launched at train.py:66 in train") == 2, "before and after"
    assert "in the call at train.py:70 in train, for 9.9 us +9.9 us" in text
    assert ("at train.py:41 in load_batch, for 6.0 ms => train.py:41 in load_batch /srv/me/train.py train.py:61 in train /srv/me/train.py "
            "train.py:88 in <module> /srv/me/train.py 0xfff in python3.11 (build-id aa01)") in text
    assert "before the launch at train.py:66 in train, for 13.5 us what thread 100 called" in text
    assert text.count("=>") == 1


def test_what_to_do_about_one_gap_begins_with_what_owns_most_of_it(page):
    """Storage 78 %, the sync before it 21, the host's own work 2.6, preparing 1.1; of 0.3 % without a CPU nothing is advised."""
    advised = page("chain-input-storage", options=["--why", "0"]).split("what to do ")[1]
    places = [advised.index(f"{cause}: the ") for cause in ("input-storage", "sync-bubble", "host-compute")]
    assert places == sorted(places) and places[0] == 0
    assert "input-preprocess: " in advised and "cpu-contention" not in advised
