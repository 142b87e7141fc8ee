#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# torchrun.sh SCRIPT [ARGUMENTS]: a PyTorch script on every GPU of this node, recorded as one run with host probes; a report and a page at the end.
#   OUT      where the recording goes (./gpushim-out); of several nodes a directory that all of them see, each has a folder of its own in it
#   GPUS     processes on this node (gpu: one for each device)
#   NODES    nodes (1). Of several, call this on each with the same OUT, RUN and MASTER
#   RUN      what makes the nodes' parts one run (the job's name or number)
#   MASTER   HOST:PORT where the nodes meet
# Then, for all ranks on one clock: gpushim report OUT/* --html ranks.html
set -euo pipefail
[ $# -gt 0 ] || { sed -n 's/^# torchrun.sh/usage: torchrun.sh/p' "$0" >&2; exit 2; }

out=${OUT:-$PWD/gpushim-out}
if [ "${NODES:-1}" = 1 ]; then
	mkdir -p "$out"
	exec gpushim run -o "$out" --html "$out/report.html" -- torchrun --standalone --nproc-per-node "${GPUS:-gpu}" "$@"
fi

export GPUSHIM_RUN=${RUN:?is the same word on every node}
out=$out/$(uname -n)
mkdir -p "$out"
exec gpushim run -o "$out" -- torchrun --nnodes "$NODES" --nproc-per-node "${GPUS:-gpu}" \
	--rdzv-backend c10d --rdzv-id "$GPUSHIM_RUN" --rdzv-endpoint "${MASTER:?is HOST:PORT}" "$@"
