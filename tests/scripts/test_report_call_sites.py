# SPDX-License-Identifier: BSD-2-Clause
"""The report's page on call sites: of several devices the longest stand first, whosever they are."""

import subprocess

DEVICE = """thread {tid} worker
launch t=1000us..1002us stream={stream} seq=1 kernel=step device={device}
sync-stream t=1005us..4010us stream={stream} seq=1 device={device}
taken silence t=4010us..{next}us stack={stack}
launch t={next}us..{next}.5us stream={stream} seq=2 kernel=step device={device}
sync-stream t={next}.6us..120000us stream={stream} seq=2 device={device}
"""
TRACE = """process 100 exited=1 end=200ms
thread 100 main
device 0
device 1 uuid=2
stream 1
stream 2 device=1
code 2 file=/srv/me/train.py name=train first=50
stack 1 frames=python:2:61
stack 2 frames=python:2:66
""" + DEVICE.format(tid=101, stream=1, device=0, next=10000, stack=1) + DEVICE.format(tid=102, stream=2, device=1, next=90000, stack=2)


def test_the_longest_of_all_devices(build, gpushim, tmp_path):
    (tmp_path / "trace.txt").write_text(TRACE)
    subprocess.run([build / "tools/gst_write", tmp_path / "trace.txt", tmp_path / "run"], check=True)
    page = subprocess.run([gpushim, "report", tmp_path / "run"], capture_output=True, text=True, check=True).stdout
    rows = page[page.index("idle time by call site"):].splitlines()[1:3]
    assert "dev1 before train.py:66 in train" in rows[0] and "dev0 before train.py:61 in train" in rows[1], rows
