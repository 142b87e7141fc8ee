#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""make_seeds.py GST_WRITE GPUSHIM: makes the reader's seeds, those that no golden trace is like and those that are golden traces (its corpus names them), packs
the reader's seeds (those of host probes go to fuzz_host) into seeds of several traces, for fuzz_report and fuzz_run (common.h has the form), and writes command lines for
fuzz_options, and archives of golden traces, damaged ones too, for fuzz_pack. Those of fuzz_nsys are nsys_seeds.py's, those of fuzz_kineto kineto_seeds.py's, those of
fuzz_baseline baseline_seeds.py's. Prints nothing; run it in the
repository when a golden trace or a form has changed: a seed in an old form is noise."""

import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import baseline_seeds
import kineto_seeds
import nsys_seeds

CORPUS = Path(__file__).resolve().parent / "corpus"
HOSTILE = b'r"\\un\x01\xff\xed\xa0\x80' + "\u202e</script>".encode()
COMMAND_LINES = {
    "report": ["/run", "--json", "--top", "7"],
    "values": ["-f", "-n", "3", "--few-or-many=18446744073709551614", "--text", "", "--word", "off", "--run", "all", "dir"],
    "short-joined": ["-fn9", "-rlast", "-wrequire", "a", "b", "c"],
    "abbreviated": ["--fl", "--te=x", "a"],
    "ambiguous": ["--few", "3", "--f", "a"],
    "refused-values": ["-n", "99999999999999999999", "--word", "aut", "--run", "-1"],
    "unknown": ["--no-such", "-\x01\x1b[31m", "a"],
    "end-of-options": ["a", "--", "-f", "--text"],
    "help": ["--help"],
    "nothing": [],
}

NINE_YEARS = "288000000s"  # nearly all the time there is, which is 2^58 ns


TOGETHER = {  # traces that have little in common
    "allocators": ["cause-allocator-host", "cause-allocator-retried", "cause-module-load-host"],
    "dependencies": ["cause-device-dependency-host", "host-function", "first-launch-compiles"],
    "waits": ["cause-host-sleep-host", "cause-host-compute-samples", "cause-input-wait-host"],
    "losses": ["killed", "losses-lower-confidence", "unlinked-work"],
    "taken": ["nvtx-taken", "stacks-lost", "copy-only"],
    "drivers": ["memory-driver", "cause-checkpoint-host", "cause-output-io-host"],
    "waits-not": ["cause-host-sleep-not", "cause-host-compute-not", "cause-input-wait-not"],
    "others-not": ["cause-module-load-not", "cause-device-dependency-not", "cause-allocator-not"],
}


def endless_bursts():
    """Each of them says that it took all the time there is."""
    yield "process 100 end=9ms level=bursts\nthread 10 main\ndevice 0\nstream 1\nlaunch t=1us..2us stream=1 seq=1 kernel=k"
    for number in range(1, 41):
        yield f"burst {number} t=0us..{NINE_YEARS} submissions=1 edges=2 passed=4294967295 cost={NINE_YEARS}"


def endless_devices():
    """Each of them has been idle, or nobody knows, for all the time there is."""
    yield f"process 100 end={NINE_YEARS} level=bursts\nthread 10 main"
    for device in range(40):
        yield f"device {device} uuid={device + 1}\nstream {device + 1} device={device}"
    for device in range(40):
        yield f"launch t=1us..2us stream={device + 1} seq=1 kernel=k device={device}"
        if device % 2:
            yield f"sync-stream t=3us..4us stream={device + 1} seq=1 device={device}"
    for device in range(40):
        yield f"launch t={NINE_YEARS}..{NINE_YEARS} stream={device + 1} seq=2 kernel=k device={device}"


def rows_of_launches():
    """Long ones, which a report folds: two threads that take turns, two shapes of one kernel, one launch that fails, a wait in the middle, a number that is left out."""
    yield "process 100 end=9ms level=edges\nthread 10 main\ndevice 0\nstream 1\nstream 2"
    at, seq = 10, {1: 0, 2: 0}
    for row, (tid, stream, count) in enumerate([(10, 1, 60), (11, 2, 40), (10, 1, 25), (11, 2, 90), (10, 2, 18), (10, 1, 30)]):
        yield f"thread {tid} {'main' if tid == 10 else 'other'}"
        for i in range(count):
            seq[stream] += 1 + (row == 3 and i == 45)
            result = " result=700" if (row, i) == (0, 30) else ""
            yield f"launch t={at}us..{at + 2}us stream={stream} seq={seq[stream]} kernel={'ab'[row % 2 and i > 20]}{result}"
            at += 4
            if (row, i) == (3, 60):
                yield f"sync-stream t={at}us..{at + 50}us stream={stream} seq={seq[stream]}"
                at += 60
    yield f"sync-stream t={at}us..{at + 90}us stream=1 seq={seq[1]}"


def rows_in_steps():
    """Steps by ranges, and within ranges; memory is taken in rows; each step ends in a wait, after looks and accounts. One edge stands in a row."""
    yield "process 100 end=20ms level=edges\nthread 10 main\ndevice 0\nstream 1"
    at, seq = 100, 0
    for step in range(5):
        begin = at
        for i in range(40):
            at, seq = at + 3, seq + 1
            yield f"launch t={at}us..{at + 1}us stream=1 seq={seq} kernel={'abc'[i % 3]}"
            if i % 9 == 4:
                yield f"block taken t={at + 2}us address={hex((step * 40 + i) << 20)} bytes=1M allocated={i + 1}M reserved=64M"
            if step == 3 and i == 20:
                at += 4
                yield f"edge 1 t={at}us..{at + 1}us stream=1 covers={seq} fired={at + 7}us done={at + 90}us kind=start"
        yield f"range step~ t={begin}us..{at + 60}us number={step} level=1\nrange forward t={begin + 10}us..{begin + 70}us level=2"
        yield f"usage t={at + 3}us cpu={at}us\nsample t={at + 5}us syscall=-1\nsample t={at + 30}us syscall=202"
        yield f"sync-stream t={at + 2}us..{at + 50}us stream=1 seq={seq}"
        at += 300


def rows_that_end_badly():
    """Two devices and three streams in turn; rows stand back to back without a wait; the process was killed."""
    yield "process 100 level=host\nthread 10 main\ndevice 0 uuid=1\ndevice 1 uuid=2\nstream 1\nstream 2 device=1\nstream 3"
    at, seq = 50, {1: 0, 2: 0, 3: 0}
    for row, (stream, count) in enumerate([(1, 33), (2, 50), (3, 17), (1, 64), (2, 16), (3, 70)]):
        for _ in range(count):
            at, seq[stream] = at + row + 2, seq[stream] + 1
            yield f"launch t={at}us..{at + 1 + row}us stream={stream} seq={seq[stream]} kernel=k{row % 2}{' device=1' if stream == 2 else ''}"
        at += 3000 if row == 3 else 10


def host_everything():
    """One record of each kind, and what contradicts it."""
    yield "host 100 end=9ms lost=1 sample=1ms"
    yield "task 100 t=0us flags=root,there name=python"
    yield "task 101 pid=100 t=10us creator=100 name=pin"
    yield "task 200 t=20us creator=101 name=loader"
    yield "task 200 t=30us flags=exec name=worker"
    yield "task 300 t=1ms flags=stranger,kernel name=jbd2"
    yield "wait 100 t=1ms..5ms wake=4.9ms waker=101 syscall=202 arg=7"
    yield "wait 101 t=0.5ms..4.9ms wake=4.8ms waker=200 syscall=0 arg=3 fd=pipe file=pipe:[44]"
    yield "wait 200 t=0.6ms..4ms by=interrupt syscall=17 fd=file file=/data/x offset=4096 bytes=512 inode=9 dev=3 flags=disk,iowait"
    yield "wait 200 t=4.2ms..4.5ms waker=300 syscall=74 flags=disk"
    yield "wait 200 t=4.6ms..4.7ms flags=preempted throttled=50us"
    yield "stalls 200 t=4ms..4.7ms count=9 blocked=100us queued=50us file=/data/x offset=0 last=65536 flags=fault"
    yield "request 200 t=0.6ms..3.9ms issued=0.7ms inode=9 file-dev=3 offset=4096 bytes=65536"
    yield "reclaim 200 t=4ms..4.1ms pages=3 group=1"
    yield "pipe-end 200 t=1ms inode=44 flags=writes"
    yield "pipe-end 100 t=1ms inode=44 flags=reads"
    yield "pressure t=0us..9ms cpu=5 throttled=7"
    yield "on-cpu 101 t=6ms frames=0x10,0x20"
    yield "task-end 200 t=8ms"
    yield "task 200 t=8.5ms creator=101 name=again"
    yield "wait 200 t=8ms..7ms\nwait 999 t=1ms..2ms\nwait 100 t=2ms..3ms\nwait 100 t=7ms..8ms flags=last\nwait 100 t=7ms..8.5ms"


def host_without_wakers():
    """Looks at /proc: who was at the other end of the pipe is inferred; the collector was killed."""
    yield "host 100 how=proc period=10ms watched=0x1c00"
    yield "task 100 t=0us flags=root,there\ntask 200 t=0us flags=there creator=100"
    yield "pipe-end 200 t=1ms inode=44 flags=writes\npipe-end 100 t=1ms inode=44 flags=reads"
    yield "wait 100 t=1ms..50ms wake=unknown syscall=0 fd=pipe inode=44 file=pipe:[44] flags=looked"
    yield "wait 200 t=1ms..40ms wake=unknown syscall=230 flags=looked\nwait 200 t=45ms..48ms wake=unknown syscall=1 fd=pipe inode=44 flags=looked"


HAND_MADE_HOST = {"everything": host_everything, "without-wakers": host_without_wakers}
HAND_MADE = {"bursts-endless": endless_bursts, "devices-endless": endless_devices, "rows": rows_of_launches, "rows-in-steps": rows_in_steps,
             "rows-that-end-badly": rows_that_end_badly}


def compact(gst_write, text):
    """Its files in the compact form: those of processes, those of host probes."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([gst_write, "--compact", text, out], check=True)
        files = [(path.name.endswith(".host.gst"), path.read_bytes()) for path in sorted(Path(out).iterdir())]
    return [content for host, content in files if not host], [content for host, content in files if host]


def make(gst_write, target, name, lines):
    """A seed of one file."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "trace.txt"
        text.write_text("\n".join(lines) + "\n")
        (content,) = sum(compact(gst_write, text), [])
        write(target, name, content)


def of_golden_traces(gst_write):
    """The reader's seeds that are golden traces, in the compact form of today: what an older one says is noise now."""
    for name in sorted({re.sub(r"-host-\d+$", "", path.name) for path in (CORPUS / "reader").glob("*-host-*")}):
        with tempfile.TemporaryDirectory() as out:
            subprocess.run([gst_write, "--compact", CORPUS.parent.parent / "golden" / name / "trace.txt", out], check=True, stdout=subprocess.DEVNULL)
            for path in Path(out).iterdir():
                write("reader", path.stem, path.read_bytes())


def watched(gst_write):
    """Golden traces with host probes, by name: what processes did, and what their host did. Both as seeds of several traces; host probes alone are fuzz_host's."""
    for text in sorted(CORPUS.parent.parent.glob("golden/*/trace.txt")):
        if re.search(r"^host ", text.read_text(), re.M):
            yield text.parent.name, *compact(gst_write, text)


SEEDS_PACKED = 24  # golden traces whose archives are seeds


def archives(gst_write, gpushim):
    """Archives, by name: of golden traces with one process, with several, with host probes; some of them cut, turned or repeated."""
    texts = sorted(CORPUS.parent.parent.glob("golden/*/trace.txt"))
    for text in texts[::max(1, len(texts) // SEEDS_PACKED)]:
        with tempfile.TemporaryDirectory() as folder:
            run, archive = Path(folder) / "run", Path(folder) / "a.gpk"
            subprocess.run([gst_write, text, run], check=True)
            done = subprocess.run([gpushim, "pack", run, "-o", archive], capture_output=True)
            if done.returncode == 0 and archive.stat().st_size < 12000:
                yield text.parent.name, archive.read_bytes()


def second_block(archive):
    """A header, what zstd made of its columns, and its bits (analyzer/pack/PACK.md): of the first segments."""
    def end(at):
        return at + 32 + sum(struct.unpack_from("<II", archive, at + 20))
    begin = end(16)
    return archive[begin:end(begin)]


def pack_seeds(gst_write, gpushim, compacts):
    """The first byte says what the others are: fuzz_pack.c."""
    for number, (name, content) in enumerate(archives(gst_write, gpushim)):
        write("pack", f"archive-{name}", b"\0" + content)
        at = len(content) * (number + 1) // 30
        turned = content[:at] + bytes([content[at] ^ 1 << number % 8]) + content[at + 1:]
        write("pack", f"turned-{name}", b"\1" + turned)
        write("pack", f"block-{name}", b"\4" + second_block(content))
    for name in list(compacts)[::max(1, len(compacts) // 12)]:
        write("pack", f"records-{name}", b"\3" + compacts[name])
    write("pack", "noise", b"\2" + bytes(n * n * 7 & 255 for n in range(3000)))
    write("pack", "zeros", b"\2" + bytes(5000))
    write("pack", "host-words", b"\7" + bytes(n & 255 for n in range(0, 9000, 3)))
    write("pack", "nothing", b"\0")


def pack(parts):
    """parts: (compact form, seconds after the beginning, header text)."""
    out = bytes([len(parts) - 1])
    for compact, seconds, text in parts:
        out += len(compact).to_bytes(2, "little") + bytes([seconds, len(text)]) + text + compact
    return out


def write(target, name, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def main():
    of_golden_traces(sys.argv[1])
    for name, lines in HAND_MADE.items():
        make(sys.argv[1], "reader", name, lines())
    for name, lines in HAND_MADE_HOST.items():
        make(sys.argv[1], "host", name, lines())
    seeds = {path.name: path.read_bytes() for path in sorted((CORPUS / "reader").iterdir())}

    def seed(name):
        return seeds[next(full for full in seeds if full.startswith(name))]

    runs = {
        "one": [(seed("cause-sync-bubble-host"), 0, b"")],
        "rows": [(seeds["rows"], 0, b""), (seed("overlap-two-streams"), 0, b"")],
        "rows-in-steps": [(seeds["rows-in-steps"], 0, b"")],
        "rows-that-end-badly": [(seeds["rows-that-end-badly"], 0, b"")],
        "rows-twice": [(seeds["rows"], 0, b"id\0host\0python train.py"), (seeds["rows-in-steps"], 0, b"id\0host\0python train.py")],
        "one-device-two-processes": [(seeds["two-processes-host-100"], 0, b"id\0host\0python train.py"),
                                     (seeds["two-processes-host-200"], 0, b"id\0host\0python train.py")],
        "ranges": [(seed("nvtx-phases"), 0, b""), (seed("nvtx-other-thread"), 0, b""), (seed("nvtx-side-by-side"), 0, b"")],
        "measured": [(seed("cupti-graph-part"), 0, b""), (seed("cupti-unlinked"), 0, b""), (seed("cupti-yielded"), 0, b"")],
        "communicators": [(seeds["nccl-host-100"], 0, b""), (seeds["nccl-host-200"], 0, b"")],
        # Its beginning was given up, beside a process of the same device whose was not.
        "recycled": [(seed("recycled-host-100"), 0, b"id\0host\0python train.py"),
                     (seeds["two-processes-host-200"], 0, b"id\0host\0python train.py")],
        "bursts": [(seed("bursts-launch-bound"), 0, b""), (seed("bursts-too-few"), 0, b"")],
        "steps": [(seed("steps-by-launches-host"), 0, b""), (seed("nvtx-phases"), 0, b"")],
        "stacks": [(seed("stacks-python"), 0, b""), (seed("stacks-native"), 0, b""), (seed("stacks-silence"), 0, b"")],
        "memory": [(seed("memory-framework"), 0, b""), (seed("memory-pool-host"), 0, b""), (seed("memory-mapped"), 0, b"")],
        "memory-comes-and-goes": [(seed("memory-context-gone"), 0, b""), (seed("memory-pools-change-places"), 0, b""),
                                  (seed("memory-handle-again"), 0, b"")],
        "endless": [(seeds["bursts-endless"], 0, b""), (seeds["devices-endless"], 0, b"")],
        "same-process-again": [(seed("overlap-two-streams"), 0, b""), (seed("overlap-two-streams"), 0, b"")],
        "two-runs": [(seed("sync-then-silence"), 0, b""), (seed("cause-input-wait-host"), 200, b"second")],
        "three-hostile-names": [(seed("first-launch"), 0, HOSTILE + b"\0" + HOSTILE + b"\0" + HOSTILE * 3),
                                (seed("cause-checkpoint-host"), 1, HOSTILE), (seed("cause-output-io-host"), 2, b"\0" * 9)],
        **{name: [(seed(part), 0, b"") for part in parts] for name, parts in TOGETHER.items()},
        # A damaged trace beside a sound one: a flip in its first records, and one anywhere.
        "damaged-and-sound": [(b"\x02\x01" + bytes([8, 1, 0, 0, 3]) + bytes([0, 3, 2, 0, 5]) + seed("running-maximum")[2:], 0, b""),
                              (seed("several-segments"), 0, b"")],
    }
    for name, processes, hosts in watched(sys.argv[1]):
        write("host", name, hosts[0])
        runs[f"watched-{name}"] = [(content, 0, b"") for content in (processes + hosts)[:3]]
    for name, parts in runs.items():
        write("report", name, pack(parts))
        write("run", name, pack(parts))
    for name, content in nsys_seeds.seeds().items():
        write("nsys", name, content)
    pack_seeds(sys.argv[1], sys.argv[2], seeds)
    for name, content in kineto_seeds.seeds():
        write("kineto", name, content)
    for name, content in baseline_seeds.seeds():
        write("baseline", name, content)
    for name, words in COMMAND_LINES.items():
        for first in (0, 1):
            write("options", f"{name}{'-first' if first else ''}", bytes([first]) + b"\0".join(word.encode() for word in words))


if __name__ == "__main__":
    main()
