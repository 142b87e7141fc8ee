#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check-layers.sh [tree]: data flows one way, and the analyzer's library neither prints nor exits.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# The stages, in the order data takes: "folder: what it may include of the others". Later stages see earlier ones only.
stages='
shim/probes:        shim/format.h
shim:
analyzer:           shim/format.h
analyzer/cmd_run:   shim/format.h shim/probes/
analyzer/cmd_host:  shim/format.h shim/probes/
tests/simgpu:
tests/workloads:
'
# The analyzer's library: every .c but main.c and cmd_*.c. Writing to a FILE it was handed is fine.
no_print_no_exit='(printf|puts|putchar|perror|vprintf|exit|_exit|abort|err|errx|warn|warnx) *\(|\b(stdout|stderr)\b'

bad=0
complain() { echo "$*"; bad=1; }

# allowed FILE: its row (the most specific one), or "-" where the file is in no stage
allowed() {
	local best=- length=0 stage may
	while IFS=: read -r stage may; do
		[ -n "$stage" ] || continue
		case $1 in
		"$stage"/* | "$stage".[ch])
			[ ${#stage} -gt $length ] && best=$may length=${#stage}
			;;
		esac
	done <<<"$stages"
	echo "$best"
}

# includes FILE: the quoted includes, as "line path-from-the-top"
includes() {
	local line name
	while IFS=: read -r line name; do
		name=$(sed 's/.*"\(.*\)".*/\1/' <<<"$name")
		if [ -e "$name" ]; then
			echo "$line $name"
		elif [ -e "$(dirname "$1")/$name" ]; then
			echo "$line $(realpath -m --relative-to=. "$(dirname "$1")/$name")"
		else
			echo "$line $(find shim analyzer tests -name "$(basename "$name")" 2>/dev/null | head -1)"
		fi
	done < <(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$1" || true)
}

for file in $(find shim analyzer tests/simgpu tests/workloads -name '*.[chS]' -o -name '*.def' 2>/dev/null | sort); do
	may=$(allowed "$file")
	[ "$may" != - ] || continue
	while read -r line target; do
		# its own folder (the shim and its probes are two), or something generated
		[ -n "$target" ] && [ "$(dirname "$target")" != "$(dirname "$file")" ] || continue
		case $file:$target in shim/arch/*:shim/* | shim/*:shim/arch/*) continue ;; esac
		ok=
		for prefix in $may; do
			case $target in "$prefix" | "$prefix"*) ok=1 ;; esac
		done
		[ -n "$ok" ] || complain "$file:$line: may not include $target"
	done < <(includes "$file")
done

for file in $(find analyzer -maxdepth 1 -name '*.c' ! -name main.c ! -name 'cmd_*.c' 2>/dev/null | sort); do
	# comments and strings aside; a word before the name (fprintf, snprintf, row->exit) makes it another function
	found=$(gcc -fpreprocessed -dD -E -P "$file" 2>/dev/null | sed -E 's/"([^"\\]|\\.)*"/""/g' |
		grep -nE "(^|[^A-Za-z0-9_>.])($no_print_no_exit)" || true)
	[ -z "$found" ] || complain "$file: library code prints or exits: $(head -3 <<<"$found")"
done

[ $bad = 0 ] && echo "layers: fine"
exit $bad
