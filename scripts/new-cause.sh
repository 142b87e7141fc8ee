#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# new-cause.sh [--above ID] ID [TITLE [ADVICE [CALL]]]: a new cause of idle time, ID in small letters with dashes, as in "host-sleep".
# Writes analyzer/cause/cause_<id>.c with a rule that works as it stands (the thread was in the driver call CALL), its row in analyzer/cause/causes.def (above
# that of ID, else the lowest in precedence) and two golden traces: one in which it fires, one in which it must not. Make the four say what is meant.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '3,5s/^# //p' "$0" >&2; exit 2; }
fail() { echo "new-cause.sh: $*" >&2; exit 1; }

above=unexplained
if [ "${1:-}" = --above ]; then
	[ $# -ge 2 ] || usage
	above=$2
	shift 2
fi
[ $# -ge 1 ] && [ $# -le 4 ] || usage
id=$1
[[ $id =~ ^[a-z][a-z0-9]*(-[a-z0-9]+)*$ ]] || fail "$id: an id is small letters, digits and single dashes"
title=${2:-"what the host was at, so that nothing was queued"}
advice=${3:-"what its owner can change about it"}
call=${4:-cuCtxResetPersistingL2Cache}
[[ $call =~ ^cu[A-Z][A-Za-z0-9_]*$ ]] || fail "$call: a driver call is named cuSomething"

name=${id//-/_}
list=analyzer/cause/causes.def
rule=analyzer/cause/cause_$name.c
fires=tests/golden/cause-$id
not=tests/golden/cause-$id-not
! grep -qE "\"$id\"|\\($name," $list || fail "$id: is in $list"
for path in "$rule" "$fires" "$not"; do
	[ ! -e "$path" ] || fail "$path: is there"
done
grep -qE "^CAUSE(_RULE)?\\([a-z0-9_]+, \"$above\"," $list || fail "$above: is not in $list"

# in a C string
quoted() { local s=${1//\\/\\\\}; printf '"%s"' "${s//\"/\\\"}"; }

row="CAUSE_RULE($name, \"$id\", $(quoted "$title"),
           $(quoted "$advice"))"
ROW=$row awk -v above="\"$above\"," '/^CAUSE/ && $2 == above { print ENVIRON["ROW"] } { print }' $list >"$list.new"
cat "$list.new" >$list # in place: it keeps its rights
rm "$list.new"

cat >"$rule" <<EOF
/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was inside $call. */
#include "cause_rules.h"

#include <string.h>

/* Says for what, not for how long: the engine cuts it to the gap and to what no better cause owns. */
void cause_$name(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_calls; i++) {
		const struct call *c = v->calls[i];
		struct finding *f;

		if (c == v->submit || strcmp(call_name(v->trace, c), "$call"))
			continue;
		f = findings_add(out, CAUSE_$name, CONFIDENCE_OBSERVED, c->begin_ns, c->end_ns);
		chain_submitter(f, v, "in %s", call_name(v->trace, c));
		evidence_call(f->words->evidence, sizeof(f->words->evidence), v->trace, c);
	}
}
EOF

# trace FOLDER CALL: two kernels 6 ms apart, and 3 ms of this call between them
trace() {
	mkdir "$1"
	cat >"$1/trace.txt" <<-EOF
		process 100 exited=1 end=30ms
		thread 100 main
		device 0
		stream 1
		launch t=1000us..1002us stream=1 seq=1 kernel=step
		edge 1 t=1003us..1004us stream=1 covers=1 fired=4000us done=4010us
		sync-stream t=1005us..4010us stream=1 seq=1
		other t=5000us..8000us hook=$2
		launch t=10000us..10002us stream=1 seq=2 kernel=step
		edge 2 base=1 t=10003us..10004us stream=1 covers=2 fired=14000us done=14010us
		sync-stream t=10005us..14010us stream=1 seq=2
	EOF
}

trace "$fires" "$call"
cat >"$fires/expected.json" <<EOF
{
 "devices": [
  {
   "causes": {
    "$id": 3000000
   },
   "gaps": [
    {
     "causes": [
      {
       "id": "sync-bubble"
      },
      {
       "id": "sync-bubble"
      },
      {
       "id": "$id",
       "begin_ns": 1005000000,
       "end_ns": 1008000000,
       "confidence": "observed",
       "evidence": [
        "$call took 3.0 ms"
       ]
      },
      {
       "id": "sync-bubble"
      }
     ]
    }
   ]
  }
 ]
}
EOF
cat >"$fires/why.md" <<EOF
Between two kernels the host is in $call for 3 ms.
Nothing else is known of that time.
Those 3 ms are $id, observed; what is left belongs to the synchronise before.
EOF

trace "$not" "${call}Other"
cat >"$not/expected.json" <<EOF
{
 "devices": [
  {
   "causes": {
    "$id": 0
   },
   "gaps": [
    {}
   ]
  }
 ]
}
EOF
cat >"$not/why.md" <<EOF
Between two kernels the host is in another call for 3 ms, of a name that begins alike.
All else is as in cause-$id.
It is no $id.
EOF

printf '%s\n' "$list: the row" "$rule" "$fires" "$not"
