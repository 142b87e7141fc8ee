# SPDX-License-Identifier: BSD-2-Clause
"""pictures.py BUILD FOLDER: records two runs on the simulated driver and takes pictures of their pages. Run by scripts/pictures.sh.

1. Training whose data set lies on a slow file system, with host probes where they can be had (root).
2. Four ranks of which one waits for its batches, at level cupti."""

import ctypes
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/page"), str(ROOT / "tests/workloads")]

import chromium  # noqa: E402
from nccl_ranks import Ranks, library_path  # noqa: E402
from recording import Recorder  # noqa: E402

CLONE_NEWUTS = 0x04000000
WIDTH, WITH_STORY = 1240, 1440
TRAIN = ["python3", "train.py", "--steps", "24", "--workers", "1", "--item-each-layer", "--checkpoint-every", "8"]
SLOW = "open delay 60\nread delay 60\n"  # ms
STEPS_SHOWN = 3


@contextmanager
def slow_folder(build, scratch):
    """A folder on a file system that takes its time (tests/fuse); where that cannot be had, one that does not."""
    source, control, mounted = scratch / "disk", scratch / "control", scratch / "dataset"
    source.mkdir()
    mounted.mkdir()
    control.write_text("")
    program = build / "fuse/slow_fs"
    if os.geteuid() != 0 or not program.exists():
        yield mounted
        return
    server = subprocess.Popen([program, source, control, scratch / "log", mounted], stderr=subprocess.DEVNULL)
    while not os.path.ismount(mounted):
        assert server.poll() is None, "slow_fs did not start"
        time.sleep(0.05)
    control.write_text(SLOW)
    try:
        yield mounted
    finally:
        control.write_text("")
        subprocess.run(["umount", "--lazy", mounted], check=True)
        server.wait()


def apart():
    """As root: before all others on the machine, and on a host of no particular name."""
    if os.geteuid() == 0 and ctypes.CDLL(None).unshare(CLONE_NEWUTS) == 0:
        socket.sethostname("gpu-node")
        os.nice(-15)


def record_training(build, scratch):
    out = scratch / "training"
    with slow_folder(build, scratch) as folder:
        env = {name: value for name, value in os.environ.items() if not name.startswith(("GPUSHIM", "SIMGPU_"))}
        env |= {"LD_LIBRARY_PATH": str(build / "simgpu"), "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        subprocess.run([build / "gpushim", "run", "-o", out, "--", *TRAIN], cwd=ROOT / "tests/workloads", env=env, check=True, stdout=subprocess.DEVNULL)
    return out


def record_ranks(build, scratch):
    recorder = Recorder(build, build / "libgpushim.so", build / "gpushim", scratch / "ranks")
    env = {"SIMGPU_DEVICES": 4, "GPUSHIM_DEVICE": "cupti", "NCCL_STANDIN_DATA": 4096, "LD_LIBRARY_PATH": f"{build / 'cupti'}:{library_path(build)}"}
    return Ranks(recorder, "client_linked", "late", shim=True, env=env, together=True, options=("--steps", 40, "--late", 2, "--how", "read")).finish().out


def page_of(build, trace, driver, folder, **how):
    path = trace.parent / f"{trace.name}.html"
    subprocess.run([build / "gpushim", "report", trace, "--html", path], check=True, stdout=subprocess.DEVNULL)
    return chromium.Page(driver, path, folder).open(WIDTH, **how)


def settle(page):
    page.js("return new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 200))")


def answer(page):
    """The head, and why."""
    page.js("document.getElementById('timeline').style.display = 'none'")
    page.size(WIDTH, page.js("return Math.ceil(document.getElementById('causes').getBoundingClientRect().bottom)") + 14)
    settle(page)
    page.shot("answer")


def timeline(page):
    """A few steps, and the story of the longest gap in them."""
    gap = page.js("""const gaps = gpushim.data.gaps.filter(g => g.at_ns > gpushim.data.span_ns / 3 && g.causes.some(c => c.chain.length > 2));
        return (gaps.length ? gaps : gpushim.data.gaps).sort((a, b) => gpushim.length(b) - gpushim.length(a))[0]""")
    length = gap["end_ns"] - gap["begin_ns"]
    page.size(WITH_STORY, 820)
    page.js("gpushim.bus.emit('select', arguments[0])", {"device": gap["device"], "gap": gap["gap"]})
    page.until("return !document.getElementById('story').hidden")
    page.js("gpushim.timeline.goto(arguments[0], arguments[1])", gap["at_ns"] - STEPS_SHOWN * length / 2, gap["at_ns"] + length * (1 + STEPS_SHOWN / 2))
    page.js("window.scrollTo(0, document.getElementById('timeline').getBoundingClientRect().top + scrollY - 12)")
    settle(page)
    page.shot("timeline")


def ranks(page):
    """The ranks beside each other, and the steps of some."""
    page.js("for (const one of document.querySelectorAll('body > header, main > section:not(#ranks)')) one.style.display = 'none'")
    page.size(WIDTH, page.js("return Math.ceil(document.getElementById('ranks').getBoundingClientRect().bottom)") + 14)
    settle(page)
    page.shot("ranks")


def main():
    build, folder = (Path(one).resolve() for one in sys.argv[1:])
    apart()
    with tempfile.TemporaryDirectory(prefix="gpushim-") as name:
        scratch = Path(name)
        driver = chromium.start(scratch)
        training = record_training(build, scratch)
        timeline(page_of(build, training, driver, folder))
        answer(page_of(build, training, driver, folder))
        ranks(page_of(build, record_ranks(build, scratch), driver, folder, dark=True))
        driver.quit()
    for path in (folder / f"{name}.png" for name in ("timeline", "answer", "ranks")):
        print(f"{path} {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
