#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check-hooks.sh: the rows of shim/hooks.def are what scripts/hook_rows.py prints for their names.
# Otherwise the next person to add a call gets a row from rules that the others no longer follow.
# The rows of REAL, at the end, are not printed by it.
set -euo pipefail
cd "$(dirname "$0")/.."

include=$(scripts/cuda-include.sh) || { echo "no CUDA 13 headers"; exit 77; }

# The comment before the first row ends in a blank line.
kept=$(sed -e '1,/^$/d' -e '/^\/\* called by us alone \*\//,$d' shim/hooks.def | grep -v -e '^$' -e '^/\*.*\*/$')
mapfile -t names < <(sed -n 's/^HOOKX\{0,1\}(\([A-Za-z0-9_]*\),.*/\1/p' <<<"$kept")
[ "${#names[@]}" -gt 0 ] || { echo "shim/hooks.def: no rows found"; exit 1; }
printed=$(python3 scripts/hook_rows.py "$include" "${names[@]}")

# Every other line of this part, too, must be a row's: hook_rows.py would not have printed it.
if ! diff -u --label shim/hooks.def --label scripts/hook_rows.py <(echo "$kept") <(echo "$printed"); then
	echo "shim/hooks.def and scripts/hook_rows.py differ"
	exit 1
fi
echo "${#names[@]} rows are as printed"
