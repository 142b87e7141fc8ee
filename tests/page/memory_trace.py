# SPDX-License-Identifier: BSD-2-Clause
"""A training that runs out of device memory: an allocator as PyTorch's has cached ranges, cut into blocks; each step's activations come and go, a few of
them stay, and in the end a large one finds much memory free and no place. The same each time."""

import random

M = 1 << 20
TOTAL = 4096 * M
SMALL, LARGE = 20 * M, 64 * M  # ranges that are asked of the driver


class Allocator:
    def __init__(self):
        self.lines, self.ranges, self.next, self.at = [], {}, 0x7f1000000000, 5000  # address → [size, {offset: bytes that are taken}]

    @property
    def reserved(self):
        return sum(size for size, _ in self.ranges.values())

    @property
    def allocated(self):
        return sum(sum(taken.values()) for _, taken in self.ranges.values())

    def tick(self, us=10):
        self.at += us
        return self.at

    def hole(self, size):
        """The smallest free piece that is large enough."""
        best = None
        for address, (whole, taken) in self.ranges.items():
            at = 0
            for offset in [*sorted(taken), whole]:
                if offset - at >= size and (best is None or offset - at < best[0]):
                    best = offset - at, address, at
                at = offset + taken.get(offset, 0)
        return best

    def say(self, kind, address, size):
        self.lines.append(f"block {kind} t={self.tick()}us address={address:#x} bytes={size} allocated={self.allocated} reserved={self.reserved}")

    def take(self, size):
        """Where it is; None: there was no room."""
        size = (size + 511) // 512 * 512
        hole = self.hole(size)
        if hole is None:
            whole = max(size, SMALL if size < SMALL else LARGE)
            begin = self.tick()
            if self.reserved + whole > TOTAL - 300 * M:
                for again in range(2):
                    self.lines += [f"alloc t={begin}us..{self.tick(100)}us bytes={whole} result=2",
                                   f"left t={self.tick()}us free={TOTAL - 300 * M - self.reserved} total={TOTAL}"]
                    begin = self.tick()
                self.lines.append(f"block refused t={self.tick()}us bytes={size} allocated={self.allocated} reserved={self.reserved}")
                return None
            self.lines.append(f"alloc t={begin}us..{self.tick(200)}us pointer={self.next:#x} bytes={whole}")
            self.ranges[self.next] = [whole, {}]
            hole = whole, self.next, 0
            self.next += whole + 2 * M
        _, address, offset = hole
        self.ranges[address][1][offset] = size
        self.say("taken", address + offset, size)
        return address, offset

    def give(self, place):
        address, offset = place
        size = self.ranges[address][1].pop(offset)
        self.say("given", address + offset, size)


def text(steps=60):
    rng, own, seq = random.Random(4), Allocator(), 0
    weights = [own.take(rng.randrange(2, 40) * M) for _ in range(60)]
    kept = []
    for step in range(steps):
        begin, activations = own.at, []
        for _ in range(40):
            activations.append(own.take(int(M * rng.choice([0.5, 1.3, 3, 7, 12, 25, 48]) * (1 + step // 15 / 8))))
            seq += 1
            own.lines.append(f"launch t={own.tick(5)}us..{own.tick(3)}us stream=1 seq={seq} kernel=_Z7forwardILi{seq % 6}EEvPfPKf")
        own.lines.append(f"sync-stream t={own.tick(5)}us..{own.tick(2000)}us stream=1 seq={seq}")
        for place in reversed(activations):
            if rng.random() < 0.04:
                kept.append(place)
            else:
                own.give(place)
        own.tick(3000)
        own.lines.append(f"range step~ t={begin}us..{own.at}us number={step} level=1")
    assert own.take(TOTAL - 300 * M - own.reserved + 40 * M) is None and weights
    head = [f"process 100 exited=1 end={own.at + 20000}us command=train.py", "thread 100 main", "device 0 name=H200", "stream 1"]
    lines = []
    for number, line in enumerate(own.lines):
        lines += ["segment"] if number % 1500 == 1499 else []
        lines.append(line)
    return "\n".join([*head, *lines]) + "\n"
