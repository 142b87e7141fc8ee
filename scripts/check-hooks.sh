#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check-hooks.sh: the rows of shim/hooks.def are what scripts/new_hook.py prints for their names.
# Otherwise the next person to add a call gets a row from rules that the others no longer follow.
# The rows of REAL, at the end, are not printed by it.
set -euo pipefail
cd "$(dirname "$0")/.."

include=$(scripts/cuda-include.sh) || { echo "no CUDA 13 headers"; exit 77; }

# The comment before the first row ends in a blank line.
kept=$(sed -e '1,/^$/d' -e '/^\/\* called by us alone \*\//,$d' shim/hooks.def | grep -v -e '^$' -e '^/\*.*\*/$')
mapfile -t names < <(sed -n 's/^HOOKX\{0,1\}(\([A-Za-z0-9_]*\),.*/\1/p' <<<"$kept")
[ "${#names[@]}" -gt 0 ] || { echo "shim/hooks.def: no rows found"; exit 1; }
printed=$(python3 scripts/new_hook.py "$include" "${names[@]}")

# Every other line of this part, too, must be a row's: new_hook.py would not have printed it.
if ! diff -u --label shim/hooks.def --label scripts/new_hook.py <(echo "$kept") <(echo "$printed"); then
	echo "shim/hooks.def and scripts/new_hook.py differ"
	exit 1
fi
echo "${#names[@]} rows are as printed"
