#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ci-aarch64.sh: everything built for aarch64, its unit tests and recorded clients run under qemu-user. The clients run in the emulator's
# default pages and in pages of 64 KiB; a report on their traces by this machine's analyzer is the aarch64 analyzer's, byte by byte, and
# counts what the simulated driver counted. Exit 77 where the compiler, the emulator or the libraries cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

native=${BUILD:-build}
build=$native/aarch64
prefix=aarch64-linux-gnu-
[ -z "${SAN:-}" ] || { echo "not with sanitizers"; exit 77; }
[ "$(uname -m)" != aarch64 ] || { echo "this is aarch64"; exit 77; }

# The headers that the native build found serve both.
CUDA_HOME=$(dirname "$(sed -n 's/^CUDA_INC = //p' "$native/setup.mk")")
export CUDA_HOME
make -s BUILD="$build" CROSS=$prefix "$build/setup.mk" || { echo "no aarch64 compiler, emulator or libraries here"; exit 77; }
make -s -j"$(nproc)" BUILD="$build" CROSS=$prefix WERROR=1 OPT="-O2 -g1" CFLAGS=-DFEWER_BY=10 all unit "$build/workloads/client_linked" "$build/workloads/client_getproc"
BUILD=$build CROSS=$prefix bash scripts/check-needed.sh

build=$(cd "$build" && pwd)
export QEMU_LD_PREFIX=$build/sysroot
# The emulator keeps a note of each page there is room for, so there is less of it.
export SIMGPU_MEM_BYTES=1000000000 SIMGPU_ADDRESS_BYTES=250000000
logs=$build/check
rm -rf "$logs"
mkdir -p "$logs"

# ---- unit tests --------------------------------------------------------------------------------------------------------
# None may fail. A case may skip itself where a probe of its own finds that the emulator lacks what it is about.
run_unit() {
	local program=$1 log status=0 failed skipped
	log=$logs/$(basename "$program")
	timeout 400 qemu-aarch64 "$program" >"$log" 2>&1 || status=$?
	failed=$(sed -nE 's/^\[  FAILED  \] ([A-Za-z].*)/\1/p' "$log" | sort -u)
	skipped=$(sed -nE 's/^\[  SKIPPED \] ([A-Za-z].*)/\1/p' "$log" | sort -u)
	if [ $status -ne 0 ] || [ -n "$failed" ] || ! grep -q '^\[==========\] [0-9]* test(s) run' "$log"; then
		echo "FAILED $(basename "$program"): exit status $status ${failed//$'\n'/ }"
		tail -20 "$log"
		# Neither a hang nor a crash, nor a wrong claim: once more, alone, when the others are over.
		if [ $status -eq 0 ] || [ $status -ge 100 ] || [ -z "$failed" ] || grep -qi '^unsound' "$log"; then
			return 1
		fi
		echo "$program ${failed//$'\n'/ }: $(grep -m1 -A1 'ERROR' "$log" | tr '\n' ' ')" >>"$logs/again"
		return 0
	fi
	[ -z "$skipped" ] || echo "$(basename "$program"): skipped $skipped: $(sed -n 's/^skip: //p' "$log" | head -1)"
	echo "$(basename "$program"): $(grep -c '^\[       OK \]' "$log") passed" >>"$logs/summary"
}
export -f run_unit
export logs
find "$build/unit" -name 'test_*' -type f -perm -u+x | sort | xargs -P"$(nproc)" -I{} bash -c 'run_unit {}'
if [ -e "$logs/again" ]; then
	mv "$logs/again" "$logs/repeat"
	[ "$(wc -l <"$logs/repeat")" -le 2 ] || { echo "more than 2 programs failed: none is repeated"; exit 1; }
	while read -r program why; do
		run_unit "$program" </dev/null
		[ ! -e "$logs/again" ] || exit 1
		echo "passed only when repeated, alone: $(basename "$program"): $why" # check.py lists it
	done <"$logs/repeat"
fi
echo "unit tests: $(wc -l <"$logs/summary") programs, $(awk '{ n += $2 } END { print n }' "$logs/summary") cases passed"

# ---- clients -----------------------------------------------------------------------------------------------------------
record() {
	local page=$2 client=$3 out=$logs/$1
	mkdir -p "$out"
	qemu-aarch64 -p "$page" -E LD_LIBRARY_PATH="$build/simgpu" "$client" --seed 3 --threads 2 >"$out/plain"
	qemu-aarch64 -p "$page" -E LD_LIBRARY_PATH="$build/simgpu" -E LD_PRELOAD="$build/libgpushim.so" -E GPUSHIM_OUT="$out/run" \
		-E SIMGPU_LOG="$out/truth.json" "$client" --seed 3 --threads 2 >"$out/recorded" 2>"$out/stderr"
	cmp "$out/plain" "$out/recorded"
	[ ! -s "$out/stderr" ] || { cat "$out/stderr"; return 1; }
	"$native/gpushim" report "$out/run" --json >"$out/report.json"
	qemu-aarch64 "$build/gpushim" report "$out/run" --json >"$out/report-aarch64.json"
	cmp "$out/report.json" "$out/report-aarch64.json"
	"$native/gpushim" info "$out/run" >"$out/info"
	grep -q 'clock CLOCK_MONOTONIC' "$out/info" # the counter is not what this machine's kernel keeps time by
	python3 - "$out" shim/hooks.def <<-'CHECK'
		import json, re, sys
		from pathlib import Path
		out, hooks = Path(sys.argv[1]), set(re.findall(r"^HOOKX?\((\w+)", Path(sys.argv[2]).read_text(), re.M))
		report = json.loads((out / "report.json").read_text())
		truth = json.loads((out / "truth.json").read_text().splitlines()[-1])["calls"]
		seen = {name: report["calls"].get(name, 0) + report["injected"].get(name, 0) for name in hooks}
		wrong = {name: (n, truth.get(name, 0)) for name, n in seen.items() if n != truth.get(name, 0)}
		assert not wrong, f"recorded, true: {wrong}"
		assert not any(report["losses"].values()), report["losses"]
		assert report["calls"]["cuLaunchKernel"] > 100
		print(f"{out.name}: {sum(report['calls'].values())} calls, all as the driver counted them")
	CHECK
}
record linked 4096 "$build/workloads/client_linked"
record getproc 4096 "$build/workloads/client_getproc"
record pages-of-64k 65536 "$build/workloads/client_linked"
