#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check-clean.sh: nothing committed names a path or host of one machine, carries an open mark or lacks its licence line.
set -euo pipefail
cd "$(dirname "$0")/.."
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "not a git checkout"; exit 77; }

bad=0
# never WHY PATTERN: no committed text file matches. This file holds the patterns itself.
never() {
	local found
	found=$(git grep -nIE -e "$2" -- . ':!scripts/check-clean.sh' | cut -c1-160 || true)
	if [ -n "$found" ]; then
		printf '%s:\n%s\n' "$1" "$found"
		bad=1
	fi
}

never "a path of one machine" '(^|[^A-Za-z0-9_.])/(work|root|home/[a-z]+|mnt|workspace)/[A-Za-z0-9]'
never "a package registry's host" '(pypi|pythonhosted|registry|proxy|mirror)[a-z.-]*\.(org|io|com|internal|local)\b|--(extra-)?index-url'
never "an address of a private network" '\b(10|192\.168|172\.(1[6-9]|2[0-9]|3[01]))\.[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?\b.*\b(http|host|proxy)'
never "a mark of something left open" '\b(TODO|FIXME|XXX|HACK)\b'
never "a conflict mark" '^(<<<<<<<|>>>>>>>) '

for file in $(git ls-files '*.c' '*.cc' '*.h' '*.hh' '*.S' '*.def' '*.sh' '*.py' Makefile .ci/run); do
	[ ! -s "$file" ] || head -5 "$file" | grep -q 'SPDX-License-Identifier: ' || { echo "$file: no SPDX line"; bad=1; }
done

large=$(git ls-files -z | xargs -0 -r du -k 2>/dev/null | awk '$1 > 1024 { print $2 ": " $1 " KiB" }')
[ -z "$large" ] || { printf 'larger than a repository should carry:\n%s\n' "$large"; bad=1; }

[ $bad = 0 ] && echo "clean"
exit $bad
