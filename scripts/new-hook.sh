#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# new-hook.sh cuFoo [cuBar …]: prints the rows of these driver calls for shim/hooks.def, from the prototypes in CUDA's headers.
# The rules are in hook_rows.py. Review the row; where its arguments matter it needs a capture of its own (shim/capture.h).
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
include=$(scripts/cuda-include.sh) || { echo "new-hook.sh: no CUDA 13 headers; make installs them" >&2; exit 1; }
exec python3 scripts/hook_rows.py "$include" "$@"
