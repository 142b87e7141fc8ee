# SPDX-License-Identifier: BSD-2-Clause
"""Times as [begin, end] in integer nanoseconds: what lies between them, once however much overlaps."""


def covered(intervals, begin, end):
    """How much of [begin, end] the intervals (sorted by begin) cover together."""
    total, reached = 0, begin
    for first, last in intervals:
        if first >= end:
            break
        first, last = max(first, reached), min(last, end)
        if last > first:
            total += last - first
            reached = last
    return total


def merged(intervals):
    """The same time, sorted and disjoint."""
    out = []
    for first, last in sorted(intervals):
        if out and first <= out[-1][1]:
            out[-1][1] = max(out[-1][1], last)
        else:
            out.append([first, last])
    return out


def gaps(busy):
    """What lies between merged intervals."""
    return [[left[1], right[0]] for left, right in zip(busy, busy[1:])]


def inside(intervals, marks):
    """Of each stretch between two marks, how much the intervals (sorted, disjoint) cover."""
    found, at = [], 0
    for begin, end in zip(marks, marks[1:]):
        while at < len(intervals) and intervals[at][1] <= begin:
            at += 1
        total, i = 0, at
        while i < len(intervals) and intervals[i][0] < end:
            total += min(intervals[i][1], end) - max(intervals[i][0], begin)
            i += 1
        found.append(total)
    return found
