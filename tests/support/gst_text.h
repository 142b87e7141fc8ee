/* SPDX-License-Identifier: BSD-2-Clause */
/* gst_text.h: traces as text, one event a line, for tests that a reader can follow. `#` starts a comment.
 *
 *   process 100 [level=edges|host|cupti] [run=ID] [host=H] [start=0] [real=0] [pid-ns=0] [end=5ms] [drift=20] [exited=1] [command=x] [clock=tsc]
 *        begins a file <host>-<pid>.gst
 *   thread 10 [name]         what follows is of this thread: its last segment, or a new one
 *   segment                  a new segment of the same thread
 *   device 0 [uuid=7] [name=X]
 *   stream 1 [device=0] [kind=created|legacy|per-thread] [context=7] [flags=1]
 *   launch t=100us..102us stream=1 seq=1 kernel=foo            also: hostfn, graph [structure=1] [exec=9]
 *   copy t=.. stream= seq= kind=h2d-pageable bytes= [flags=blocking]      memset t=.. stream= seq= bytes=
 *   sync-stream t=.. stream= seq=      query-stream … result=600      sync-context t=.. context=7
 *   record t=.. stream= seq= event=5   sync-event / query-event t=.. event=5   wait t=.. stream= seq= event=5
 *   alloc, free, host-alloc, host-free, pool, vmm, module, context, event, memop, other   t=.. [pointer= bytes= kernel=]
 *   memop t=.. stream= [until=geq|eq|and|nor pointer=0x1000 value=5] [flags=bits64,semaphore,more]      write t=.. stream= seq= pointer= value=
 *   node 1 handle=11 [type=kernel|copy|memset|host|child|empty|wait|record|signal|semaphore|alloc|free|memop|conditional] [parent=10]
 *        [kernel=foo] [bytes=] [kind=h2d-pageable] [event=5] [device=0] [other=1]      of structure 1; then  depends 1 from=11 to=12
 *   structure 1 t=.. [exec=9] [base=] [nodes=] [work=] [described=] [edges=] [flags=open,same,no-edges]     counts: as written so far
 *   change t=.. structure=1 node=11 [kernel=foo] [bytes=] [flags=on,off]
 *   edge 3 t=.. stream=1 covers=2 fired=150us done=160us [base=1] [kind=block|start|class|before|after]
 *        [kind=burst-before|burst-after|burst-null burst=1]
 *   burst 1 t=.. [submissions=] [edges=] [passed=] [cost=3us]
 *   activity t=.. [stream=1] [seq=1] [kind=kernel|copy|memset|graph] [copy=h2d-pageable] [kernel=foo] [bytes=] [node=11] [error=500ns]
 *        [device=0]      what was measured; without seq nobody knows who asked for it
 *   level cupti t=.. [why=as-asked|no-library|held|refused|yielded|forked|ends] [result=]      where cupti was asked for: what is in force
 *   poll t=.. stream=1 covers=2 ready=0|1
 *   sample t=.. syscall=0 [tid=] [arg=] [file=/data/x] [fd=file|pipe|socket] [state=S] [holds=0]
 *   usage t=.. cpu=1ms [delay=, or unknown] [voluntary=] [involuntary=] [faults=]
 *   comm 1 hash=0x5a rank=0 size=4 [also=] [parent=] [device=0] [made=init|split|shrink|grow] [flags=nonblocking,all] [name=X]
 *        [library=/path] [version=22809]      a communicator
 *   nccl all-reduce t=.. [hook=ncclAllReduce] [comm=1] [stream=] [group=] [seq=] [count=] [type=float32] [op=sum] [peer=] [opened=1ms]
 *        [flags=inner,ours]   kinds: as in format.h, in small letters with dashes
 *   range forward t=1ms..2ms [level=1] [kind=pushed|started|mark] [number=12] [domain=X] [category=3] [payload=5] [tid=] [id=]      what
 *        the program says through NVTX; ~ stands for a space; t=1ms: not ended, but for a mark; number: last part of the name
 *        [schema=0~u64~comm;8~u64~bytes values=0xab,4096]      with a structured payload of 8 bytes a value
 *   nvtx ours|taken|off|attached|category t=.. [name=X] [number=] [domain=]      whose NVTX's slot is; what a category is called
 *   block taken|given|refused t=.. address= bytes= [allocated= reserved=] [device=]       of a framework's allocator
 *   mapping t=.. address= bytes= handle= [offset=]      pool-state t=.. pool= reserved= used= [reserved-high=] [used-high=] [device=]
 *   left t=.. free= total= [device=]        of a device, after a refusal; numbers of bytes may end in K, M or G; of pool calls pool= is the number
 *   drop 3 [first=1ms last=2ms] [disk=] [limit=] [busy=] [errno=28] [activities=]      records_dropped, when and why
 *   anchor t=1s [mono=1.0005s] [width=200]       with clock=tsc: what CLOCK_MONOTONIC said at a time of this file, 200 ticks wide; else the same
 *   untracked [names=] [streams=] [graphs=] [nccl=] [nvtx=]       what found no place in the recorder's tables
 *   recycled until=5ms [segments=] [records=] [calls=] [lost=] [limit=] [errno=]      the beginning was given up; then segments stand where others did:
 *   thread 10 main recycles=1 number=3      segment recycles=1 number=4        and copies of definitions in:  kept    kept segment=0 recycles=0
 *   busy t=.. [streams=1,2] [flags=more,left]       entry cuNew           a driver function the recorder does not know
 *   object 1 path=/x/libfoo.so [bias=0x1000] [build-id=ab12] [flags=program,vdso,gone] [bytes= mtime=]     code 2 file=/x/train.py name=load [first=30]
 *   stack 3 frames=python:2:41,return:1:0x1234 [flags=truncated,unmerged]      innermost first; kind, code or object, line or address; also exact:
 *   taken stall|silence|site|sample|look t=a..b stack=3 [tid=] [weight=]       stack-cost t=.. [took=3us] [taken=] [looks=] [passed=] [failed=] [budget=]
 *   host 100 [how=ebpf|perf|proc] [run=] [host=] [start=0] [end=5ms] [watched=0x7fff] [wait=200us] [period=] [sample=] [lost=] [tasks-lost=] [kernel=]
 *        begins a file <host>-<pid>.host.gst, of the tree of process 100; without end= it had no regular one. In such a file:
 *   task 200 t=.. [pid=200] [own=] [own-pid=] [creator=] [start=0us] [ns=] [name=X] [flags=root,there,stranger,kernel,exec]    task-end 200 t=..
 *   wait 200 t=out..in [wake=in, or unknown] [waker=] [by=unknown|task|interrupt|timer] [throttled=] and what for: [syscall=-2] [arg=] [file=/x]
 *        [fd=none|file|pipe|socket|other] [offset=, none: not known] [bytes=] [inode=] [dev=] [fs=]
 *        [flags=preempted,disk,iowait,fault,anonymous,reclaim,looked,last,write-back]      by: task where there is a waker; preempted: wake is out
 *   stalls 200 t=a..b [count=] [blocked=] [queued=] [throttled=] [last=] and what for, as of a wait
 *   request 200 t=[queued..]done [issued=] [dev=] [file-dev=] [inode=] [offset=] [bytes=] [sector=] [flags=write,flush,read-ahead,sync]
 *   reclaim 200 t=a..b [pages=] [group=1]       pipe-end 200 t=.. inode= [peer=] [fd=pipe|socket] [flags=reads,writes]
 *   written 200 t=a..b [count=1] and what for, as of a wait: bytes are those written
 *   pressure t=a..b [cpu=] [memory=] [memory-full=] [io=] [io-full=] [throttled=] [periods=]     in us      on-cpu 200 t=.. [frames=0x10,0x20]
 *   unfinished               the next record was never finished
 *
 * A time is a number with ns, us, ms or s, counted from 1 s after the clock's zero; t=a..b are a call's two ends. Calls take
 * result=, device=, tid is the thread's, hook=<name> instead of the family's usual one, flags=blocking,captured. `fired` is the
 * true host time of an edge; the device clock that its elapsed time is counted on drifts by `drift` ppm in 0.5 us steps. */
#pragma once

#include "gst_image.h"

struct gst_text_file {
	char name[128];
	struct gst_image image;
};

struct gst_text {
	struct gst_text_file *files;
	size_t n;
};

/* False: error says which line and why. */
bool gst_text_parse(struct gst_text *out, const char *text, char error[256]);
void gst_text_free(struct gst_text *t);
