#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# lint.sh [--fix]: the house style (clang-format 14), the layers, likely mistakes (cppcheck, shellcheck). --fix rewrites the sources.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t sources < <(git ls-files 'shim/*.[ch]' 'analyzer/*.[ch]' 'tests/*.[ch]')
mapfile -t formatted < <(git ls-files 'shim/*.c' 'analyzer/*.c' 'tests/*.c') # headers are laid out by hand
mapfile -t scripts < <(git ls-files 'scripts/*.sh' scripts/bench-hooks .ci/run)
format=clang-format
command -v clang-format-14 >/dev/null 2>&1 && format=clang-format-14

if [ "${1:-}" = --fix ]; then
	[ ${#formatted[@]} = 0 ] || $format -i "${formatted[@]}"
	exit 0
fi

bad=0
if [ ${#formatted[@]} -gt 0 ]; then
	# Another version formats differently: it would only make noise.
	if $format --version | grep -q 'version 14\.'; then
		printf '%s\0' "${formatted[@]}" | xargs -0 -n16 -P"$(nproc)" "$format" --dry-run --Werror || { echo "not in the house style; make format"; bad=1; }
	else
		echo "lint: no clang-format 14 here; format not checked"
	fi
fi
if [ ${#sources[@]} -gt 0 ]; then
	# unknownEvaluationOrder: cppcheck 2.10 takes `.member = ++variable` of one name for one object.
	# CAUSE, CAUSE_RULE: causes.def asks which of them is defined, and cppcheck would try all four ways everywhere.
	cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,portability --inline-suppr -j2 -UCAUSE -UCAUSE_RULE \
		--suppress=missingIncludeSystem --suppress=unknownMacro --suppress=unknownEvaluationOrder --suppress=normalCheckLevelMaxBranches \
		--template='{file}:{line}: {severity}: {message} [{id}]' -I . -I analyzer -I shim "${sources[@]}" || bad=1
fi
bash scripts/check-layers.sh || bad=1
shellcheck -S warning "${scripts[@]}" || bad=1
[ $bad = 0 ] && echo "lint: fine"
exit $bad
