#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# page.sh OUT: makes OUT/head.html and OUT/tail.html of analyzer/html/page/: the page of `report --html` before and behind its data;
# and OUT/diff_head.html, what `diff --html` begins with.
# A page may run its own script and use its own style, named by their hashes, and nothing else: no network, no other code.
set -euo pipefail
cd "$(dirname "$0")/../analyzer/html/page"
out=$1

# In this order. A panel's file only adds to what data.js and bus.js define; boot.js begins when all are there.
scripts=(
	data.js
	bus.js
	canvas.js
	model.js
	head.js
	causes.js
	timeline.js
	steps.js
	ranks.js
	gaps.js
	memory.js
	flame.js
	sites.js
	trust.js
	story.js
	boot.js
	# end
)

# Others' files beside a listed one go right behind it: timeline.js, then timeline_*.js. Of styles base.css is the first.
files() { # pattern of what goes with $1
	local f
	for f in "${1}" "${1%.js}"_*.js; do
		[ -e "$f" ] && cat "$f"
	done
	return 0
}

# None is forgotten.
for name in *.js; do
	for listed in "${scripts[@]}"; do
		case $name in "$listed" | "${listed%.js}"_*.js) continue 2 ;; esac
	done
	echo "page.sh: analyzer/html/page/$name is not in the list of scripts" >&2
	exit 1
done

hash_of() { # as a Content-Security-Policy names it
	local hex
	hex=$(sha256sum "$1")
	# shellcheck disable=SC2059
	printf "$(sed 's/../\\x&/g' <<<"${hex%% *}")" | base64
}

mkdir -p "$out"
{
	cat base.css
	for name in *.css; do
		[ "$name" = base.css ] || cat "$name"
	done
} >"$out/style.new"
for name in "${scripts[@]}"; do
	files "$name"
done >"$out/script.new"

policy="default-src 'none'; script-src 'sha256-$(hash_of "$out/script.new")'; style-src 'sha256-$(hash_of "$out/style.new")'; base-uri 'none'; form-action 'none'"
while IFS= read -r line; do
	case $line in
	@POLICY@) printf '<meta http-equiv="Content-Security-Policy" content="%s">\n' "$policy" ;;
	@STYLE@) printf '<style>' && cat "$out/style.new" && printf '</style>\n' ;;
	@DATA@) printf '<script type="application/json" id="data">' && break ;;
	*) printf '%s\n' "$line" ;;
	esac
done <page.html >"$out/head.new"
{
	printf '</script>\n'
	sed '1,/^@DATA@$/d' page.html | while IFS= read -r line; do
		case $line in
		@SCRIPT@) printf '<script>' && cat "$out/script.new" && printf '</script>\n' ;;
		*) printf '%s\n' "$line" ;;
		esac
	done
} >"$out/tail.new"
mv "$out/head.new" "$out/head.html"
mv "$out/tail.new" "$out/tail.html"

# ---- the page of a diff: no script at all, so its colours are classes, and a reader who likes it dark is served by the style ----

colours() { # light|dark: "c-input-storage" and the like, of html_classes.def
	local colour='"(#[0-9a-f]{6})"' name rest
	sed -En "s/^CLASS\(\w+, *\"([^\"]+)\", *\"[^\"]*\", *\"\w+\", *$colour, $colour.*/\1 \2 \3/p; s/^CAUSE_CLASS\((\w+), *$colour, $colour.*/\1 \2 \3/p" ../html_classes.def |
		while read -r name rest; do
			[ "$1" = light ] && rest=${rest% *} || rest=${rest#* }
			printf '.c-%s { fill: %s; }\n' "${name//_/-}" "$rest"
		done
}

{
	cat base.css diff/diff.css
	colours light
	printf '@media (prefers-color-scheme: dark) {\n:root {\n'
	sed -n '/^:root\[data-theme="dark"\] {$/,/^}$/p' base.css | sed 1d
	printf ':root { --worse: #f08a3c; --better: #6cb4f5; --unsure: #d8b44a; }\n.ink-light { stroke: #000000; opacity: 0.4; }\n'
	colours dark
	printf '}\n'
} >"$out/style.new"
policy="default-src 'none'; style-src 'sha256-$(hash_of "$out/style.new")'; base-uri 'none'; form-action 'none'"
while IFS= read -r line; do
	case $line in
	@POLICY@) printf '<meta http-equiv="Content-Security-Policy" content="%s">\n' "$policy" ;;
	@STYLE@) printf '<style>' && cat "$out/style.new" && printf '</style>\n' ;;
	*) printf '%s\n' "$line" ;;
	esac
done <diff/diff.html >"$out/diff_head.new"
mv "$out/diff_head.new" "$out/diff_head.html"
rm -f "$out/style.new" "$out/script.new"
