#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# demo.sh: records tests/workloads/train.py under the shim, prints the report, writes its page and a timeline. Run by `make demo`.
# It runs on the simulated driver. GPU=1 takes the machine's own libcuda. STEPS=N (30) sets the length.
# As root, on the simulated driver, it also shows a loader that waits for a slow disk, by host probes.
# The script is given a slow loader, some host work, a value read back after each layer and checkpoints: what real ones suffer from.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$(realpath "${BUILD:-build}")
demo=$build/demo
out=$demo/gpushim-out
trace=$demo/trace.json
page=$demo/report.html
train=tests/workloads/train.py

for file in "$build/libgpushim.so" "$build/gpushim" "$build/simgpu/libcuda.so.1" "$train"; do
	[ -e "$file" ] || { echo "demo: $file is missing; run make" >&2; exit 1; }
done

# A real device only where it is asked for and there.
libraries=$build/simgpu
device="simulated driver"
if [ -n "${GPU:-}" ]; then
	if ! ldconfig -p | grep -q 'libcuda\.so\.1' || [ ! -e /dev/nvidiactl ]; then
		echo "demo: GPU=1, but there is no libcuda.so.1 with a device here" >&2
		exit 1
	fi
	libraries=
	device="this machine's GPU"
fi

# Only what an earlier demo left.
mkdir -p "$demo"
rm -rf "$out" "$trace" "$page"

echo "demo: recording $train on the $device"
LD_PRELOAD=$build/libgpushim.so LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+${libraries:+:}$LD_LIBRARY_PATH} \
	GPUSHIM_OUT=$out python3 "$train" --steps "${STEPS:-30}" --workers 1 --slow-loader 150 \
	--compute-ms 8 --item-each-layer --checkpoint-every 10 --allocs 2

echo
"$build/gpushim" report "$out"
"$build/gpushim" report "$out" --html "$page"
"$build/gpushim" export "$out" --chrome "$trace"

cat <<END

demo: the trace     $out
demo: the page      $page (open it in a browser)
demo: the timeline  $trace
demo: open the timeline in https://ui.perfetto.dev or chrome://tracing; the report again: $build/gpushim report $out
END

[ -n "$libraries" ] || exit 0
if [ "$(id -u)" != 0 ]; then
	echo "demo: as root it also shows what a loader's worker waits for (host probes)"
elif ! "$build/gpushim" run --host ebpf --out "$demo/probes" -- true >"$demo/why" 2>&1; then
	echo "demo: no host probes: $(head -n 1 "$demo/why")"
else
	echo "demo: a loader whose worker reads a slow disk, with host probes: of its longest wait the whole chain"
	rm -rf "$demo/storage" "$demo/probes"
	python3 tests/scenarios/host/lab.py --steps 12 --show --keep "$demo/storage" python-read || echo "demo: see $demo/storage"
fi
