#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# gpu-check.sh [--only PART,…] [--quick] [--seconds N] BIN_DIR OUT.json: what only a machine with an NVIDIA GPU can tell, in under 9 minutes.
#   BIN_DIR is a build directory, or what `make gpu-kit` put together elsewhere. tests/gpu/README.md tells what each part is, and
#   step by step how to get from a checkout to figures in the README.
#   Parts: environment, pointers, pointers_under_shim, costs, host_probes, allocator, nccl, idle, slowdown, conformance.
#   --quick: as little of each as runs through. --seconds: for everything together (525).
# gpu-check.sh --dry-run … BUILD_DIR OUT.json: the same on the simulated driver in BUILD_DIR/simgpu: driver programs of the same shapes
#   stand for PyTorch's, the driver's log for CUPTI's; level cupti has the tests' libcupti, in BUILD_DIR/cupti. The file says that it was simulated.
# Exit 0, or 1 where a part failed; OUT.json then holds what was measured all the same. PYTHON names another interpreter.
set -euo pipefail

usage() { sed -n '3,10s/^# //p' "$0" >&2; exit 2; }

options=()
dry=
while [ $# -gt 2 ]; do
	case $1 in
	--dry-run) dry=1; options+=("$1"); shift ;;
	--quick) options+=("$1"); shift ;;
	--only|--seconds) options+=("$1" "$2"); shift 2 ;;
	*) usage ;;
	esac
done
[ $# = 2 ] || usage
bin=$(realpath "$1")
out=$(realpath -m "$2")

[ -e "$bin/libgpushim.so" ] || { echo "gpu-check: $bin/libgpushim.so is missing" >&2; exit 2; }
[ -x "$bin/gpushim-static" ] || { echo "gpu-check: $bin/gpushim-static is missing: make static" >&2; exit 2; }
mkdir -p "$(dirname "$out")"
if [ -n "$dry" ]; then
	# Without it level cupti would be `auto`, and its figures another level's.
	[ -e "$bin/cupti/libcupti.so.13" ] || { echo "gpu-check: $bin/cupti/libcupti.so.13 is missing: make $bin/cupti/libcupti.so.13" >&2; exit 2; }
	export LD_LIBRARY_PATH=$bin/simgpu:$bin/cupti
fi
exec "${PYTHON:-python3}" "$(dirname "$0")/gpu_check/run.py" --bin "$bin" --out "$out" "${options[@]}"
