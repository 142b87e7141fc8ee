#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# debian-files.sh SUITE ARCH DIR PACKAGE…: unpacks these packages of a Debian suite, and what they depend on, into DIR, from the mirror
# of Debian's that this system uses itself (else DEBIAN_MIRROR). apt runs in a folder of its own: nothing is installed, and this system's package manager does not hear of it.
# DIR is made whole or not at all; one that is there is left as it is.
set -euo pipefail

[ $# -ge 4 ] || { echo "usage: debian-files.sh SUITE ARCH DIR PACKAGE…" >&2; exit 2; }
suite=$1 arch=$2 dir=$3
shift 3
[ ! -e "$dir" ] || exit 0
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || { echo "no apt-get here" >&2; exit 1; }

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keyring" ] || { echo "no $keyring (package debian-archive-keyring)" >&2; exit 1; }

mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(ORIGIN)/$(LABEL) $(REPO_URI)' | sed -n 's,^Debian/Debian ,,p' | sort -u | head -1)}
[ -n "$mirror" ] || { echo "no mirror of Debian's in this system's sources; set DEBIAN_MIRROR" >&2; exit 1; }

mkdir -p "$(dirname "$dir")"
work=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$work"' EXIT
work=$(cd "$work" && pwd)
mkdir -p "$work"/apt/lists/partial "$work"/apt/cache/archives/partial "$work/root"
touch "$work/apt/status"
echo "deb [signed-by=$keyring] $mirror $suite main" >"$work/apt/sources.list"

apt() {
	apt-get -q -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Dir::Etc::SourceList="$work/apt/sources.list" \
		-o Dir::Etc::SourceParts=- -o Dir::Etc::Preferences=- -o Dir::Etc::PreferencesParts=- -o Dir::State="$work/apt" \
		-o Dir::State::lists="$work/apt/lists" -o Dir::State::status="$work/apt/status" -o Dir::Cache="$work/apt/cache" \
		-o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=2 -o DPkg::Post-Invoke= -o APT::Update::Post-Invoke= \
		-o Acquire::Check-Valid-Until=false -o APT::Update::Error-Mode=any "$@" >"$work/log" 2>&1 ||
		{ grep -m1 '^E:' "$work/log" >&2 || tail -1 "$work/log" >&2; exit 1; }
}
apt update
apt install --download-only -y --no-install-recommends "$@"
for package in "$work"/apt/cache/archives/*.deb; do
	dpkg-deb -x "$package" "$work/root"
done
# Packages have links such as libm.so -> /lib/…/libm.so.6, which a linker would follow out of DIR.
find "$work/root" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
	ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$work/root$(readlink "$link")")" "$link"
done
mv -T "$work/root" "$dir"
