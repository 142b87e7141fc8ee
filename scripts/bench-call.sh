#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# bench-call.sh: what recording one driver call costs, as a ratio to what it cannot do without (two clock reads and 64 bytes
# into a file mapping, measured in the same runs). Runs with and without the shim alternate; medians. usage: bench-call.sh [PAIRS]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build} pairs=${1:-7}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export LD_LIBRARY_PATH=$PWD/$build/simgpu GPUSHIM_OUT=$out/run
case $build in /*) LD_LIBRARY_PATH=$build/simgpu ;; *) build=$PWD/$build ;; esac
for ((i = 0; i < pairs; i++)); do
	plain=$("$build/workloads/call_cost")
	shimmed=$(LD_PRELOAD=$build/libgpushim.so "$build/workloads/call_cost")
	rm -rf "$out/run"
	echo "$plain $shimmed"
done | awk '{ d[NR] = $3 - $1; f[NR] = ($2 + $4) / 2; r[NR] = d[NR] / f[NR] }
	function med(a, n,   i, j, t) { for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (a[j] < a[i]) { t = a[i]; a[i] = a[j]; a[j] = t } return a[int((n + 1) / 2)] }
	END { n = NR; m = med(r, n); printf "recording a call: %.1f ns; floor (two clock reads, 64 bytes to a file): %.1f ns; ratio %.2f (%.2f to %.2f, %d pairs)\n", med(d, n), med(f, n), m, r[1], r[n], n }'
