// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* host.bpf.c: the programs of the eBPF probes: switches, wakes, tasks (part one of two, the other is ebpf_io.h). */
#include "ebpf_wait.h"
#include "ebpf_io.h"

#define TASK_DEAD 0x80
#define TASK_NEW 0x800

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline void write_end(uint32_t tid, uint64_t now)
{
	struct event_end *e = event_reserve(sizeof(*e));

	if (!e)
		return;
	e->kind = EVENT_END;
	e->tid = tid;
	e->at = now;
	event_submit(e);
}

static __always_inline void forget(struct tracked *t, struct task_struct *task, uint64_t now)
{
	for (int i = 0; i < KINDS; i++)
		if (t->stalls[i].count)
			write_stalls(t, &t->stalls[i]);
	if (t->written.count)
		write_written(t, task);
	disk_wait(t, 0);
	__sync_fetch_and_add(t->kind == TRACKED_TREE ? &state.live : &state.strangers, -1);
	t->kind = TRACKED_GONE;
	write_end(t->tid, now);
}

/* prev_state is an argument from 5.18 on; before that it is the task's own, which a wake on another CPU may change meanwhile. */
SEC("tp_btf/sched_switch")
int on_switch(unsigned long long *ctx)
{
	bool preempt = ctx[0];
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct tracked *t;
	uint64_t now = 0;

	t = prev->pid ? tracked_of(prev) : 0; /* most often a CPU goes to sleep, or wakes from it */
	if (t) {
		uint32_t task_state = set.old_switch ? prev->__state : (uint32_t)ctx[3];

		now = bpf_ktime_get_ns();
		if (task_state & TASK_DEAD && !preempt)
			forget(t, prev,
			       now); /* not sooner: a task that ends waits, and wakes others, long after it said so */
		else
			task_leaves(t, prev, preempt || !task_state, task_state, now);
	}
	t = next->pid ? tracked_of(next) : 0;
	if (t)
		task_enters(t, next, now ? now : bpf_ktime_get_ns());
	return 0;
}

/* Those that woke the tree when as many were followed as may be, by when they were born: each is counted once. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, uint64_t);
	__type(value, uint32_t);
} turned_away SEC(".maps");

static __always_inline void turn_away(struct task_struct *task)
{
	uint64_t born = task->start_time;
	uint32_t one = 1;

	/* First: an update takes a place, from another if need be, before it looks. */
	if (bpf_map_lookup_elem(&turned_away, &born))
		return;
	if (!bpf_map_update_elem(&turned_away, &born, &one, BPF_NOEXIST))
		__sync_fetch_and_add(&state.tasks_lost, 1);
}

/* A task that is not of the tree woke one that is: from now on it is followed too, for what it waits for is what that one waits for. Not
 * while the tree is being found: it may be of it. */
static __always_inline void adopt(struct task_struct *task, uint32_t tid, uint64_t now)
{
	struct tracked *t = 0;

	if (!state.found || !may_follow(task))
		return;
	if (state.strangers < set.max_strangers)
		t = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		turn_away(task);
		return;
	}
	t->tid = tid;
	task_is_in(t, task, now);
	__sync_fetch_and_add(&state.strangers, 1);
	t->kind = TRACKED_STRANGER;
	write_task(task, now, 0, GST_TASK_STRANGER | GST_TASK_THERE, 0);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct tracked *t = tracked_of(task), *mine;
	struct task_struct *me;
	uint32_t waker = 0;
	uint64_t now;
	uint8_t context;

	if (!t)
		return 0;
	me = bpf_get_current_task_btf();
	if (me == task)
		return 0;
	now = bpf_ktime_get_ns();
	context = context_now(me);
	if (me->pid && (context == WAKE_TASK || (context == WAKE_SOFT && sends(me)))) {
		mine = bpf_task_storage_get(&tasks, me, 0, 0);
		waker = mine && mine->tid ? mine->tid : tid_of(me);
		if (!mine && waker && t->kind == TRACKED_TREE)
			adopt(me, waker, now);
	}
	task_woken(t, task, waker, context, now);
	return 0;
}

static __always_inline struct tracked *plant(struct task_struct *task)
{
	struct tracked *t = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t) {
		__sync_fetch_and_add(&state.tasks_lost, 1);
		return 0;
	}
	t->tid = tid_of(task);
	__sync_fetch_and_add(&state.live, 1);
	t->kind = TRACKED_TREE; /* from now on it can be forgotten */
	return t;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct tracked *t = tracked_of(parent);
	uint64_t now;

	if (!t || t->kind != TRACKED_TREE || !may_follow(child))
		return 0;
	now = bpf_ktime_get_ns();
	t = plant(child);
	if (!t)
		return 0;
	t->out = now; /* until it has its first CPU it waits for one */
	t->flags = GST_WAIT_PREEMPTED;
	write_task(child, now, tid_of(parent), 0, 0);
	return 0;
}

/* A thread that is not its process's first takes that one's number over; one that gets another user's rights is no longer ours to follow. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct tracked *t = tracked_of(task);
	uint32_t tid;
	uint64_t now;

	if (!t)
		return 0;
	now = bpf_ktime_get_ns();
	if (!may_follow(task)) {
		forget(t, task, now);
		return 0;
	}
	tid = tid_of(task);
	if (tid != t->tid)
		write_end(t->tid, now);
	t->tid = tid;
	write_task(task, now, 0, GST_TASK_EXEC | (t->kind == TRACKED_STRANGER ? GST_TASK_STRANGER : 0), 0);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *name)
{
	struct tracked *t = tracked_of(task);

	if (t)
		write_task(task, bpf_ktime_get_ns(), 0,
			   GST_TASK_EXEC | (t->kind == TRACKED_STRANGER ? GST_TASK_STRANGER : 0), name);
	return 0;
}

/* Is it a thread of the root's process, or of one that came of it? */
static __always_inline bool of_tree(struct task_struct *task)
{
	struct task_struct *p = task;

	for (int i = 0; i < 64 && p && BPF_CORE_READ(p, pid) > 0; i++) {
		if (pid_of(p) == set.root)
			return 1;
		p = BPF_CORE_READ(p, group_leader, real_parent);
	}
	return 0;
}

/* One that ended is forgotten as it leaves its CPU for good: where that was not told of it is now. Whether it has left comes first: by then
 * on_switch is through with it. False: it lives. */
static __always_inline bool is_dead(struct tracked *t, struct task_struct *task)
{
	if (!(BPF_CORE_READ(task, __state) & TASK_DEAD))
		return 0;
	if (!BPF_CORE_READ(task, on_cpu) && *(volatile uint8_t *)&t->kind == TRACKED_TREE)
		forget(t, task, bpf_ktime_get_ns());
	return 1;
}

/* Those that run already. A thread's creator is taken to be its process's first thread. One whose fork goes on is on_fork's, or the next
 * look's: both at once would count it twice. Its state is read first: once it is born, on_fork is through with it. */
static __always_inline void find(struct task_struct *task)
{
	struct task_struct *me = bpf_get_current_task_btf(), *creator;
	uint32_t task_state = *(volatile uint32_t *)&task->__state, leader = pid_of(task), tid = tid_of(task);
	struct tracked *t = bpf_task_storage_get(&tasks, task, 0, 0);
	uint64_t now = bpf_ktime_get_ns();
	uint16_t flags = GST_TASK_THERE;

	if (t || task->flags & PF_EXITING || !may_follow(task) || !of_tree(task))
		return;
	if (task_state & TASK_NEW) {
		state.unborn++;
		return;
	}
	t = plant(task);
	if (!t)
		return;
	if (task != me && !BPF_CORE_READ(task, on_cpu))
		task_leaves(t, task, !task_state, task_state, now);
	else
		task_is_in(t, task, now);
	if (leader == tid) {
		creator = BPF_CORE_READ(task, real_parent, group_leader);
		leader = tid_of(creator);
	}
	if (tid == set.root)
		flags |= GST_TASK_ROOT;
	write_task(task, now, leader, flags, 0);
	is_dead(t, task); /* by now: it left while we looked */
}

/* The collector itself reads the iterator: its namespace is the one whose numbers are written. */
static __always_inline void find_namespaces(struct task_struct *me)
{
	struct pid *pid = BPF_CORE_READ(me, thread_pid);
	struct upid up = {};
	uint32_t level = BPF_CORE_READ(pid, level) & 31;

	bpf_probe_read_kernel(&up, sizeof(up), &pid->numbers[level]);
	state.space = (uint64_t)up.ns;
	state.user_space = (uint64_t)BPF_CORE_READ(me, real_cred, user_ns);
	state.level = level;
}

SEC("iter/task")
int each_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct tracked *t;

	if (!task)
		return 0;
	if (!state.space)
		find_namespaces(bpf_get_current_task_btf());
	if (state.look == LOOK_FIND) {
		find(task);
		return 0;
	}
	t = tracked_of(task);
	if (!t)
		return 0;
	if (state.look == LOOK_COUNT && t->kind == TRACKED_TREE)
		state.counted += !is_dead(t, task);
	else if (state.look == LOOK_FLUSH)
		task_flush(t, task, bpf_ktime_get_ns());
	return 0;
}
