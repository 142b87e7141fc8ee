#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# gpu-check.sh BIN_DIR OUT.json: what only a machine with an NVIDIA GPU can tell, in under 9 minutes.
#   BIN_DIR holds libgpushim.so and gpushim-static, built elsewhere (make all static), and may hold a file "commit".
#   Parts: environment, pointers (cuGetProcAddress against dlsym), events (what an edge costs), conformance (does the driver answer as
#   tests/conformance says; what differs is a finding, not a failure), slowdown and idle (PyTorch).
# gpu-check.sh --dry-run BUILD_DIR OUT.json: the same on the simulated driver in BUILD_DIR/simgpu; what needs PyTorch is skipped.
# Exit 0, or 1 where a part failed; OUT.json then holds what was measured all the same. PYTHON names another interpreter.
set -euo pipefail

usage() { sed -n '3,8s/^# //p' "$0" >&2; exit 2; }

dry=
if [ "${1:-}" = --dry-run ]; then
	dry=--dry-run
	shift
fi
[ $# = 2 ] || usage
bin=$(realpath "$1")
out=$(realpath -m "$2")

[ -e "$bin/libgpushim.so" ] || { echo "gpu-check: $bin/libgpushim.so is missing" >&2; exit 2; }
mkdir -p "$(dirname "$out")"
if [ -n "$dry" ]; then
	export LD_LIBRARY_PATH=$bin/simgpu
fi
exec "${PYTHON:-python3}" "$(dirname "$0")/gpu_check/run.py" --bin "$bin" --out "$out" $dry
