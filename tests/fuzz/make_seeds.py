#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""make_seeds.py: packs the reader's seeds (`gst_write --compact` makes those of golden traces) into seeds of several traces, for
fuzz_report and fuzz_run (common.h has the form), and writes command lines for fuzz_options. Prints nothing; run it in the repository
when a golden trace or a form has changed."""

from pathlib import Path

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
    seeds = {path.name: path.read_bytes() for path in sorted((CORPUS / "reader").iterdir())}

    def seed(name):
        return seeds[next(full for full in seeds if full.startswith(name))]

    runs = {
        "one": [(seed("cause-sync-bubble-host"), 0, b"")],
        "one-device-two-processes": [(seeds["two-processes-host-100"], 0, b"id\0host\0python train.py"),
                                     (seeds["two-processes-host-200"], 0, b"id\0host\0python train.py")],
        "measured": [(seed("cupti-graph-part"), 0, b""), (seed("cupti-unlinked"), 0, b""), (seed("cupti-yielded"), 0, b"")],
        "communicators": [(seeds["nccl-host-100"], 0, b""), (seeds["nccl-host-200"], 0, b"")],
        # Its beginning was given up, beside a process of the same device whose was not.
        "recycled": [(seed("recycled-host-100"), 0, b"id\0host\0python train.py"),
                     (seeds["two-processes-host-200"], 0, b"id\0host\0python train.py")],
        "bursts": [(seed("bursts-launch-bound"), 0, b""), (seed("bursts-too-few"), 0, b"")],
        "same-process-again": [(seed("overlap-two-streams"), 0, b""), (seed("overlap-two-streams"), 0, b"")],
        "two-runs": [(seed("sync-then-silence"), 0, b""), (seed("cause-input-wait-host"), 200, b"second")],
        "three-hostile-names": [(seed("first-launch"), 0, HOSTILE + b"\0" + HOSTILE + b"\0" + HOSTILE * 3),
                                (seed("cause-checkpoint-host"), 1, HOSTILE), (seed("cause-output-io-host"), 2, b"\0" * 9)],
        # A damaged trace beside a sound one: a flip in its first records, and one anywhere.
        "damaged-and-sound": [(b"\x02\x01" + bytes([8, 1, 0, 0, 3]) + bytes([0, 3, 2, 0, 5]) + seed("running-maximum")[2:], 0, b""),
                              (seed("several-segments"), 0, b"")],
    }
    for name, parts in runs.items():
        write("report", name, pack(parts))
        write("run", name, pack(parts))
    for name, words in COMMAND_LINES.items():
        for first in (0, 1):
            write("options", f"{name}{'-first' if first else ''}", bytes([first]) + b"\0".join(word.encode() for word in words))


if __name__ == "__main__":
    main()
