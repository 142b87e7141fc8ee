# SPDX-License-Identifier: BSD-2-Clause
"""Tests of host probes are skipped for what the machine lacks, and for nothing else."""

import errno
import os

import watching


def built(folder):
    (folder / "ebpf").mkdir()
    (folder / "ebpf" / "host.skel.h").touch()
    return folder


def test_a_refused_system_call_is_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "BPF", watching.BPF or 1)
    monkeypatch.setattr(watching, "PERF_EVENT_OPEN", watching.PERF_EVENT_OPEN or 1)
    monkeypatch.setattr(watching, "system_call", lambda *_: errno.EPERM)
    monkeypatch.setattr(watching, "BTF", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(watching.platform, "release", lambda: "6.1.0-test")
    watching.why_not.cache_clear()
    assert watching.why_not(tmp_path, "ebpf") == "built without eBPF"
    watching.why_not.cache_clear()
    build = built(tmp_path)
    assert watching.why_not(build, "ebpf") == "bpf(2): Operation not permitted"
    assert watching.why_not(build, "perf") == "perf_event_open(2): Operation not permitted"
    assert watching.why_not(build, "proc") is None


def test_what_is_there_is_no_reason(tmp_path, monkeypatch):
    """Whatever our own commands do: none of them is there to be asked."""
    build = built(tmp_path)
    monkeypatch.setattr(watching, "BPF", watching.BPF or 1)
    monkeypatch.setattr(watching, "system_call", lambda *_: None)
    monkeypatch.setattr(watching, "BTF", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(watching.platform, "release", lambda: "5.15.0")
    watching.why_not.cache_clear()
    assert [watching.why_not(build, way) for way in ("ebpf", "perf", "proc")] == [None, None, None]
    monkeypatch.setattr(watching.platform, "release", lambda: "5.10.0-9")
    watching.why_not.cache_clear()
    assert watching.why_not(build, "ebpf") == "Linux 5.10.0-9 is too old"
    watching.why_not.cache_clear()
