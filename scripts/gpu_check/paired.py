# SPDX-License-Identifier: BSD-2-Clause
"""How much slower B is than A, from pairs of times taken next to each other, with a 95 % interval.

A pair is worth the logarithm of its ratio; the estimate is their mean, as what a level costs now and then must count; the median, which
one interruption by the machine does not move, stands beside it. Pairs come in groups, one a set of processes: two runs of one
program differ by where things lie in memory, and all pairs of a set share that. So the interval is Student's over the groups' means, and
narrow only where there are several groups. With one group it is Student's over the pairs, and says nothing about other processes."""

import math
import statistics

# Student's t at 97.5 % by degrees of freedom; between them the larger value.
T_975 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228, 12: 2.179, 15: 2.131,
         20: 2.086, 25: 2.060, 30: 2.042, 40: 2.021, 60: 2.000, 120: 1.980}


def t_975(freedom):
    return T_975[max(known for known in T_975 if known <= freedom)]


def mean(values):
    return math.fsum(values) / len(values)


def student(values):
    """(low, high) of the mean; None where fewer than two values say nothing about their scatter."""
    if len(values) < 2:
        return None
    centre = mean(values)
    deviation = math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))
    half = t_975(len(values) - 1) * deviation / math.sqrt(len(values))
    return centre - half, centre + half


def percent(log_ratio):
    return round(100 * math.expm1(log_ratio), 4)


def slowdown(groups):
    """groups: lists of (time of A, time of B). In percent of A; None where nothing was measured."""
    logs = [[math.log(b / a) for a, b in group] for group in groups if group]
    if not logs:
        return None
    every = [value for group in logs for value in group]
    means = [mean(group) for group in logs]
    interval, method = (student(every), "student over pairs") if len(logs) == 1 else (student(means), "student over groups")
    return {"percent": percent(mean(means)), "median": percent(statistics.median(every)), "low": percent(interval[0]) if interval else None,
            "high": percent(interval[1]) if interval else None, "pairs": len(every), "groups": len(logs), "method": method}
