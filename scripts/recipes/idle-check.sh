#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# idle-check.sh PROGRAM [ARGUMENTS]: did idle time get worse? Records the program here several times and compares it with what it was.
#   BASE       a checkout of what to compare with: the program is recorded there as well, by turns with this one, on this machine
#   BASELINE   else a file that is kept in the repository (gpushim-baseline.json); where it is not there, it is made and nothing is compared
#   RUNS       of each side (5): fewer are less sure
#   FAIL_ON    what is too much ('idle>+2%'); several with commas
#   OUT        where it all goes (./idle-check): comment.md, idle.xml (JUnit), idle.html, the recordings, gpushim-baseline.json of this run
# Exit: 0 no worse, 1 worse, 5 not sure or not comparable (what a job makes of that is its own affair), else what went wrong.
set -euo pipefail
[ $# -gt 0 ] || { sed -n 's/^# idle-check.sh/usage: idle-check.sh/p' "$0" >&2; exit 2; }

out=$(realpath -m "${OUT:-idle-check}")
baseline=${BASELINE:-gpushim-baseline.json}
runs=${RUNS:-5}
rm -rf "$out"
mkdir -p "$out/base" "$out/new" "$out/log"

record() { # side, number, where the program is, its command
	local side=$1 number=$2 where=$3
	shift 3
	(cd "$where" && exec gpushim run -o "$out/$side/$number" -- "$@") >"$out/log/$side-$number" 2>&1 || { cat "$out/log/$side-$number" >&2; exit 4; }
}

commit() {
	git -C "$1" rev-parse --short HEAD 2>/dev/null || echo unknown
}

for ((i = 1; i <= runs; i++)); do
	[ -z "${BASE:-}" ] || record base "$i" "$BASE" "$@"
	record new "$i" . "$@"
done
gpushim report "$out/new/1" --save-baseline "$out/gpushim-baseline.json" >/dev/null

options=(--md --junit "$out/idle.xml" --html "$out/idle.html" --fail-on "${FAIL_ON:-idle>+2%}" --new-commit "$(commit .)")
if [ -n "${BASE:-}" ]; then
	sides=("$out"/base/* -- "$out"/new/*)
	options+=(--base-commit "$(commit "$BASE")")
elif [ -e "$baseline" ]; then
	sides=(--baseline "$baseline" "$out"/new/*)
else
	cp "$out/gpushim-baseline.json" "$baseline"
	echo "idle-check: there was no $baseline; this run is the one from now on" | tee "$out/comment.md" >&2
	exit 0
fi

status=0
gpushim diff "${options[@]}" "${sides[@]}" >"$out/comment.md" || status=$?
head -1 "$out/comment.md" >&2
exit $status
