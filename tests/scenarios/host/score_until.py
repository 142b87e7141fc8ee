# SPDX-License-Identifier: BSD-2-Clause
"""What a program cannot know while it runs: when the device was done with what its next work waited for. A span that names that ("until": a kernel, or
"hostfn" for a host function) ends with the first of that name that ends after its begin, by the simulated driver's log."""

import bisect
from collections import defaultdict


def ends_by_name(ops):
    """When they ended, in order: of each kernel by its name, of host functions."""
    ends = defaultdict(list)
    for op in ops:
        ends["hostfn" if op["op"] == "hostfn" else op["name"]].append(op["end_ns"])
    return {name: sorted(all_) for name, all_ in ends.items()}


def resolve(spans, ops):
    """The same spans; of those with `until` the end is set. ops: of the driver's log, as score.operations() has them."""
    ends = ends_by_name(ops) if any(span.until for span in spans) else {}
    for span in spans:
        if span.until:
            of_name = ends.get(span.until, [])
            at = bisect.bisect_right(of_name, span.begin)
            assert at < len(of_name), f"the log has no {span.until} that ends after {span.begin}"
            span.end = of_name[at]
    return spans
