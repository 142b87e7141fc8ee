#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# cuda-include.sh: prints the directory that holds CUDA 13's cuda.h, cudaTypedefs.h and cudaProfiler.h; exit 1 where there is none.
# CUDA_HOME first, then /usr/local/cuda, then what setup.sh put under $BUILD/deps.
# GPUSHIM_NO_SYSTEM_CUDA=1 looks only at the last (to test it).
set -euo pipefail

build=${BUILD:-build}
places=()
if [ -z "${GPUSHIM_NO_SYSTEM_CUDA:-}" ]; then
	places+=("${CUDA_HOME:+$CUDA_HOME/include}" /usr/local/cuda/include)
fi
places+=("$build/deps/cuda/include")

for dir in "${places[@]}"; do
	version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$dir/cuda.h" 2>/dev/null || true)
	if [ "${version:-0}" -ge 13000 ] && [ -e "$dir/cudaTypedefs.h" ] && [ -e "$dir/cudaProfiler.h" ]; then
		echo "$dir"
		exit 0
	fi
done
exit 1
