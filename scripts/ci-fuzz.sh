#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ci-fuzz.sh: every fuzzer for FUZZ_SECONDS (30), from its seeds in tests/fuzz/corpus (`gst_write --compact` makes them of golden traces). What it finds stays in $BUILD/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${BUILD:-build}
seconds=${FUZZ_SECONDS:-30}
compgen -G 'tests/fuzz/fuzz_*.c' >/dev/null || { echo "no fuzzer yet"; exit 77; }
bash scripts/setup.sh fuzz || { echo "no clang with libFuzzer here"; exit 77; }
make -s -j"$(nproc)" BUILD="$build" fuzz

run_fuzzer() {
	local fuzzer=$1 seeds
	seeds=tests/fuzz/corpus/$(basename "$fuzzer" | sed 's/^fuzz_//')
	mkdir -p "$fuzzer.corpus"
	"$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 \
		-artifact_prefix="$fuzzer." "$fuzzer.corpus" "$seeds" >"$fuzzer.log" 2>&1 ||
		{ tail -40 "$fuzzer.log"; return 1; }
}
export -f run_fuzzer
export seconds

# One on each CPU.
for source in tests/fuzz/fuzz_*.c; do
	echo "$build/fuzz/$(basename "$source" .c)"
done | xargs -P"$(nproc)" -I{} bash -c 'run_fuzzer {}'
echo "fuzzed for $seconds s each"
