# SPDX-License-Identifier: BSD-2-Clause
"""The traces whose pages are looked at: a recorded one, and three that are written and hence the same each time."""

import subprocess

DEMO = ("--workers", 1, "--slow-loader", 150, "--compute-ms", 8, "--item-each-layer", "--checkpoint-every", 10, "--allocs", 2)  # as scripts/demo.sh
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
STEPS = 24
WORK_US = 3100 + 700 * 6 + 60  # forward and backward
LATE = 3  # this rank reads its batches from a slow disk

# What the parser of a page, of a script, of JSON, or of the direction of text could take for its own.
HOSTILE = [b"<script>alert(1)</script>", b"</script><script>alert(2)</script>", b"<img/src=x/onerror=alert(3)>", b"<!--<script>", b"]]>&lt;&amp;",
           b"\"quoted\"'name'`${alert(4)}`", b"\\u003cb\\u003e\\", b"line\xe2\x80\xa8separator\xe2\x80\xa9s", b"right\xe2\x80\xaeto\xe2\x81\xa6left",
           b"invalid\xff\xfe\xc3(\xed\xa0\x80utf8", b"nul\x1b]0;title\x07bell", "größe_日本語_🦊".encode(), b"__proto__", b"constructor", b"javascript:alert(5)"]


def demo(recorder, steps=12):
    return recorder.run(recorder.command("train.py", "--steps", steps, *DEMO)).out


def written(build, folder, text):
    """A run directory of this text, tests/support/gst_text.h."""
    source = folder.parent / f"{folder.name}.txt"
    source.write_bytes(text if isinstance(text, bytes) else text.encode())
    subprocess.run([build / "tools/gst_write", source, folder], check=True)
    return folder


def many(build, folder, gaps):
    subprocess.run([build / "tools/gst_many", str(gaps), folder], check=True)
    return folder


class Clock:
    """Of a host, against the first one's, in us: what its own says at a time of all."""

    def __init__(self, ahead_us, ppm):
        self.ahead, self.gain = ahead_us, 1 + ppm * 1e-6

    def at(self, us):
        return f"{self.ahead + us * self.gain:.3f}us"

    def span(self, begin, end):
        return f"{self.at(begin)}..{self.at(end)}"


class Rank:
    """One process of the training, as lines. All times are in us of one clock."""

    def __init__(self, number):
        self.number, self.seq, self.collectives = number, 0, 0
        self.clock = Clock(250_000, 20) if number >= 2 else Clock(0, 0)
        host, pid = ("node-b", 400 + number) if number >= 2 else ("node-a", 300 + number)
        self.lines = [f"process {pid} host={host} run=job level=cupti exited=1 end={self.clock.at(STEPS * 14_200)} real=5000000s "
                      f"start={self.clock.at(0)} command=train_ddp.py",
                      f"thread {pid} main", f"device {number} uuid={number + 1} name=H200",
                      f"stream 1 device={number}", f"stream 2 device={number}",
                      f"comm 1 t={self.clock.at(10)} hash=0x5a rank={number} size=4 device={number} name=world"]

    def add(self, text):
        self.lines.append(text)

    def kernel(self, launched, begin, end, name, stream=1):
        self.seq += 1
        self.add(f"launch t={self.clock.span(launched, launched + 4)} stream={stream} seq={self.seq} kernel={name} device={self.number}")
        return f"activity t={self.clock.span(begin, end)} stream={stream} seq={self.seq} kernel={name} device={self.number}"

    def read(self, begin, end):
        """Looks at a thread that waits for its file."""
        for us in range(int(begin) + 300, int(end), 500):
            self.add(f"sample t={self.clock.at(us)} syscall=17 fd=file file=/data/shard-{self.number}.tar state=D")

    def step(self, number, begin, reads_us, all_came):
        """Its batch, forward, backward, the gradients' all-reduce, which ends when all have come; when the step is over."""
        at, done = begin, []
        self.read(at, at + reads_us)
        at += reads_us
        self.add(f"range data t={self.clock.span(begin, at)} level=2")
        forward = at
        for layer in range(6):
            done.append(self.kernel(at, at + 8 + 500 * layer, at + 8 + 500 * layer + 470 + 5 * layer, f"_Z12attention_fwILi{layer}EEvPfPKf"))
            at += 12
        backward = at
        for layer in range(6):
            begins = forward + 3100 + 700 * layer
            done.append(self.kernel(at, begins, begins + 690, f"_Z12attention_bwILi{layer}EEvPfPKf"))
            at += 12
        came = forward + WORK_US
        over = all_came + 400
        self.collectives += 1
        self.add(f"nccl all-reduce t={self.clock.span(at, at + 9)} hook=ncclAllReduce comm=1 stream=1 seq={self.collectives} count=25000000 type=float32 op=sum")
        done.append(self.kernel(at + 2, came, over, ALL_REDUCE))
        self.add(f"range forward t={self.clock.span(forward, backward)} level=2")
        self.add(f"range backward t={self.clock.span(backward, at + 12)} level=2")
        done.append(self.kernel(at + 14, over + 5, over + 905, "_Z10adam_applyPfPKfS_S_ffffi"))
        self.add(f"sync-stream t={self.clock.span(at + 20, over + 915)} stream=1 seq={self.seq}")
        self.lines += done
        self.add(f"range step~ t={self.clock.span(begin, over + 950)} number={number} level=1")
        return over + 950


def reads_us(rank, step):
    return (9000 if step == 15 else 5200) if rank == LATE else 700 + 100 * rank


def ranks_text():
    ranks, at = [Rank(number) for number in range(4)], 1000
    for step in range(STEPS):
        came = max(at + reads_us(rank.number, step) + WORK_US for rank in ranks)
        at = max(rank.step(step, at, reads_us(rank.number, step), came) for rank in ranks)
    return "\n".join("\n".join(rank.lines) for rank in ranks) + "\n"


def hostile_text():
    """A step of kernels whose names are HOSTILE, with a wait before each; ranges, a file, functions, the host, a thread, a communicator, the command and a
    device have such names as well."""
    lines = [b"process 100 host=<u>host level=cupti exited=1 end=60ms command=" + HOSTILE[0], b"thread 100 <i>main</i>", b"device 0 name=" + HOSTILE[1], b"stream 1",
             b"comm 1 t=10us hash=0x5a rank=0 size=1 device=0 name=" + HOSTILE[2]]
    lines += [b"code %d file=/srv/%s/train.py name=%s" % (number + 1, name, name) for number, name in enumerate(HOSTILE)]
    lines += [b"stack %d frames=python:%d:7" % (number + 1, number + 1) for number in range(len(HOSTILE))]
    at = 1000
    for step in range(3):
        begin = at
        for number, name in enumerate(HOSTILE):
            seq = step * len(HOSTILE) + number + 1
            lines.append(b"launch t=%dus..%dus stream=1 seq=%d kernel=%s" % (at, at + 3, seq, name))
            lines.append(b"activity t=%dus..%dus stream=1 seq=%d kernel=%s" % (at + 8, at + 108, seq, name))
            lines.append(b"sync-stream t=%dus..%dus stream=1 seq=%d" % (at + 4, at + 112, seq))
            lines += [b"sample t=%dus syscall=17 fd=file file=/data/%s" % (at + us, name) for us in (200, 400, 600)]
            lines += [b"taken look t=%dus..%dus stack=%d" % (at + us, at + us + 2, number + 1) for us in (210, 410, 610)]
            lines.append(b"range %s t=%dus..%dus level=2" % (name, at, at + 700))
            at += 800
        lines.append(b"range step<b>~ t=%dus..%dus number=%d level=1" % (begin, at - 20, step))
    return b"\n".join(lines) + b"\n"


def stacks_text(n, depth, longer=""):
    """n gaps, each with a stack of its own. longer: of what is in each name and path."""
    lines = [f"process 100 exited=1 end={11 + 10 * n}ms", "thread 100 main", "device 0", "stream 1", "edge 1 t=997us..998us stream=1 covers=0 fired=1004us done=1005us kind=start"]
    lines += [f"code {i} file=/srv/me{longer}/f.py name=f{longer}{i}" for i in range(1, depth + 1)]
    for i in range(n):
        at = 1000 + 10000 * i
        lines += ["segment"] if i % 40 == 39 else []  # a segment holds no more than two hundred of 40 frames
        lines += [f"stack {i + 1} frames=" + ",".join(f"python:{k + 1}:{i + 1}" for k in range(depth)),
                  f"launch t={at}us..{at + 2}us stream=1 seq={i + 1} kernel=step",
                  f"edge {i + 2} base=1 t={at + 3}us..{at + 4}us stream=1 covers={i + 1} fired={at + 3000}us done={at + 3010}us",
                  f"sync-stream t={at + 5}us..{at + 3010}us stream=1 seq={i + 1}",
                  f"sample t={at + 3500}us syscall=230", f"taken look t={at + 3010}us..{at + 3500}us stack={i + 1}"]
    return "\n".join(lines) + "\n"
