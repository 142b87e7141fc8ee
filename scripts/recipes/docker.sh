#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# docker.sh IMAGE PROGRAM [ARGUMENTS]: the program in a container of this image, recorded; ./gpushim-out and ./report.html are there afterwards.
#   GPUSHIM   where gpushim is installed on this machine (/opt/gpushim: see Dockerfile beside this)
# BPF and PERFMON are what host probes need; without them (PROBES=off) the recording tells what the device did, and less of why.
# The program in the container is root there, as images mostly have it: capabilities that are added go to no other user.
set -euo pipefail
[ $# -gt 1 ] || { sed -n 's/^# docker.sh/usage: docker.sh/p' "$0" >&2; exit 2; }

capabilities=(--cap-add BPF --cap-add PERFMON)
[ "${PROBES:-auto}" != off ] || capabilities=()
image=$1
shift
exec docker run --rm --gpus all "${capabilities[@]}" -v "${GPUSHIM:-/opt/gpushim}:/opt/gpushim:ro" -v "$PWD:/job" -w /job "$image" \
	/opt/gpushim/bin/gpushim run -o /job/gpushim-out --host "${PROBES:-auto}" --html /job/report.html -- "$@"
