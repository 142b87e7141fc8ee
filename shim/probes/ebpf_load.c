/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_load.c: open, leave out what this kernel has not, load, attach. */
#include "ebpf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup_memory.h"
#include "ebpf_syscalls.h"
#include "../proc_text.h"
#include <host.skel.h>

#define STALL_NS 200000
#define MAX_STRANGERS 128
#define EVENTS_LEAST (8u << 20) /* bytes of the kernel's buffer */
#define EVENTS_MOST (32u << 20)
#define EVENTS_SHARE 256 /* of the memory there is for us, one part in so many at most */

/* The programs, what they hook, and what the collector is less able to without. The first one there is no doing without. */
static const struct program {
	size_t program, link; /* where in struct host_bpf */
	const char *tracepoint;
	enum gst_probe probe;
} programs[] = {
#define PROGRAM(name) offsetof(struct host_bpf, progs.name), offsetof(struct host_bpf, links.name)
	{ PROGRAM(on_switch), "sched_switch", GST_PROBE_SWITCH },
	{ PROGRAM(on_waking), "sched_waking", GST_PROBE_WAKING },
	{ PROGRAM(on_fork), "sched_process_fork", GST_PROBE_TASKS },
	{ PROGRAM(on_exec), "sched_process_exec", GST_PROBE_TASKS },
	{ PROGRAM(on_rename), "task_rename", GST_PROBE_TASKS },
	{ PROGRAM(on_io_start), "block_io_start", GST_PROBE_BLOCK },
	{ PROGRAM(on_issue), "block_rq_issue", GST_PROBE_BLOCK },
	{ PROGRAM(on_complete), "block_rq_complete", GST_PROBE_BLOCK },
	{ PROGRAM(on_fault), "mm_filemap_fault", GST_PROBE_FAULT },
	{ PROGRAM(on_reclaim), "mm_vmscan_direct_reclaim_begin", GST_PROBE_RECLAIM },
	{ PROGRAM(on_reclaimed), "mm_vmscan_direct_reclaim_end", GST_PROBE_RECLAIM },
	{ PROGRAM(on_group_reclaim), "mm_vmscan_memcg_reclaim_begin", GST_PROBE_MEMCG_RECLAIM },
	{ PROGRAM(on_group_reclaimed), "mm_vmscan_memcg_reclaim_end", GST_PROBE_MEMCG_RECLAIM },
	{ PROGRAM(on_held), "balance_dirty_pages", GST_PROBE_WRITE_BACK },
	{ PROGRAM(on_written), "writeback_dirty_folio", GST_PROBE_WRITTEN },
	{ PROGRAM(on_room), "mm_filemap_add_to_page_cache", GST_PROBE_WRITTEN },
#undef PROGRAM
};
#define PROGRAMS (sizeof(programs) / sizeof(*programs))

static struct bpf_program *program_of(const struct ebpf *e, const struct program *p)
{
	return *(struct bpf_program **)((char *)e->programs + p->program);
}

/* ---- what libbpf says, for the one line that is told of a failure ---------------------------------------------------- */

static char said[160];

static int keep_words(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN && !said[0])
		vsnprintf(said, sizeof(said), format, args);
	return 0;
}

static bool refuse(char why[256], int error, const char *doing)
{
	said[strcspn(said, "\n")] = 0;
	if (error == EPERM) /* EACCES is what the kernel says of a program that it finds fault with */
		snprintf(
			why, 256,
			"%s: not permitted: this program needs CAP_BPF and CAP_PERFMON (setcap cap_bpf,cap_perfmon+ep), or root",
			doing);
	else
		snprintf(why, 256, "%s: %s%s%s", doing, strerror(error), said[0] ? ": " : "", said);
	return false;
}

/* ---- what this kernel is like, by its BTF ---------------------------------------------------------------------------- */

static bool has_tracepoint(const struct btf *btf, const char *name)
{
	char type[64];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;
}

/* Arguments of a tracepoint, the programs' own first one included. */
static unsigned tracepoint_args(const struct btf *btf, const char *name)
{
	char type[64];
	const struct btf_type *t;
	int id;

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
	if (id <= 0)
		return 0;
	t = btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type);
	t = t ? btf__type_by_id(btf, t->type) : NULL;
	return t && btf_is_func_proto(t) ? btf_vlen(t) : 0;
}

/* Where a variable lies among those of each CPU; -1: nowhere. */
static long percpu_offset(const struct btf *btf, const char *name, int *type)
{
	int section = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *t = section > 0 ? btf__type_by_id(btf, (uint32_t)section) : NULL;
	const struct btf_var_secinfo *info = t ? btf_var_secinfos(t) : NULL;

	for (unsigned i = 0; t && i < btf_vlen(t); i++) {
		const struct btf_type *v = btf__type_by_id(btf, info[i].type);

		if (strcmp(btf__name_by_offset(btf, v->name_off), name) != 0)
			continue;
		*type = (int)v->type;
		return info[i].offset;
	}
	return -1;
}

static long member_offset(const struct btf *btf, int type, const char *name)
{
	const struct btf_type *t = btf__type_by_id(btf, (uint32_t)type);

	for (unsigned i = 0; t && btf_is_composite(t) && i < btf_vlen(t); i++) {
		const struct btf_member *m = btf_members(t) + i;
		long below;

		if (strcmp(btf__name_by_offset(btf, m->name_off), name) == 0)
			return btf_member_bit_offset(t, i) / 8;
		below = m->name_off && btf__name_by_offset(btf, m->name_off)[0]
				? -1
				: member_offset(btf, (int)m->type, name);
		if (below >= 0)
			return btf_member_bit_offset(t, i) / 8 + below;
	}
	return -1;
}

/* From a CPU's run queue to its preemption count, which was in a struct of its own from 6.1 to 6.14; 0: not found. */
static int preempt_offset(const struct btf *btf)
{
	int type = 0, unused;
	long queue = percpu_offset(btf, "runqueues", &unused), count = percpu_offset(btf, "__preempt_count", &type);

	if (count < 0) {
		long member;

		count = percpu_offset(btf, "pcpu_hot", &type);
		member = count >= 0 ? member_offset(btf, type, "preempt_count") : -1;
		count = member >= 0 ? count + member : -1;
	}
	return queue >= 0 && count >= 0 ? (int)(count - queue) : 0;
}

static bool has_member(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);

	return id > 0 && member_offset(btf, id, member) >= 0;
}

/* ---- load ------------------------------------------------------------------------------------------------------------ */

/* Leaves out what the kernel has not and what is not wanted. */
static uint32_t choose(struct ebpf *e, const struct btf *btf, uint32_t off)
{
	uint32_t watched = 0;

	if (!has_tracepoint(btf, "writeback_dirty_folio")) /* it had another name before 5.17 */
		off |= 1u << GST_PROBE_WRITTEN;
	for (const struct program *p = programs; p < programs + PROGRAMS; p++) {
		bool use = !(off & 1u << p->probe) && has_tracepoint(btf, p->tracepoint);

		bpf_program__set_autoload(program_of(e, p), use);
		if (use)
			watched |= 1u << p->probe;
	}
	return watched;
}

/* A disk that others keep busy holds the collector up for a second and more, in a store to its file: where there is memory for it, the kernel
 * keeps the events of two seconds meanwhile, of 100,000 a second. It is charged to our control group, which is the program's too. */
static uint32_t room_for_events(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	uint64_t memory = pages > 0 ? (uint64_t)pages * (uint64_t)page : 0;
	uint64_t limit = cgroup_memory_limit((uint32_t)getpid());
	uint32_t bytes = EVENTS_LEAST;

	memory = limit < memory ? limit : memory;
	while (bytes < EVENTS_MOST && memory / EVENTS_SHARE >= 2ull * bytes)
		bytes *= 2;
	return bytes;
}

/* What this process may do, all told. */
static uint64_t capabilities(void)
{
	char status[4096];
	uint64_t permitted = 0;

	if (proc_text_read(status, sizeof(status), "/proc/self/status") > 0)
		proc_text_field(status, "CapPrm:", 16, &permitted);
	return permitted;
}

static void set_up(struct ebpf *e, const struct probes_settings *s, uint32_t off, const struct btf *btf)
{
	struct ebpf_settings *set = &e->programs->rodata->set;
	uint32_t *watched = &e->probes.watched;

	*watched = choose(e, btf, off);
	bpf_program__set_autoload(e->programs->progs.on_sample, s->sample_hz && !(off & 1u << GST_PROBE_ON_CPU));
	*set = (struct ebpf_settings){
		.capabilities = capabilities(),
		.root = (uint32_t)s->root,
		.uid = geteuid() == 0 ? UINT32_MAX : getuid(),
		.wait_ns = s->wait_ns,
		.stall_ns = STALL_NS,
		.max_strangers = MAX_STRANGERS,
		.page_shift = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE)),
		.preempt_offset = preempt_offset(btf),
		.interrupts = !(off & 1u << GST_PROBE_INTERRUPT),
		.old_switch = tracepoint_args(btf, "sched_switch") < 5,
		.faults = *watched >> GST_PROBE_FAULT & 1,
		.throttle = !(off & 1u << GST_PROBE_THROTTLE),
	};
	if (set->interrupts && (set->preempt_offset || has_member(btf, "thread_info", "preempt_count")))
		*watched |= 1u << GST_PROBE_INTERRUPT;
	if (set->throttle &&
	    (has_member(btf, "task_struct", "throttled") || has_member(btf, "cfs_rq", "throttle_count")))
		*watched |= 1u << GST_PROBE_THROTTLE;
	ebpf_syscalls_fill(e->programs->rodata->shapes);
}

#define OPTIONAL                                                                                                   \
	(1u << GST_PROBE_BLOCK | 1u << GST_PROBE_FAULT | 1u << GST_PROBE_RECLAIM | 1u << GST_PROBE_MEMCG_RECLAIM | \
	 1u << GST_PROBE_WRITE_BACK | 1u << GST_PROBE_WRITTEN | 1u << GST_PROBE_ON_CPU)

static bool load(struct ebpf *e, const struct probes_settings *s, uint32_t off, uint32_t room, const struct btf *btf,
		 char why[256])
{
	int rc;

	said[0] = 0;
	e->programs = host_bpf__open();
	if (!e->programs)
		return refuse(why, errno, "eBPF programs cannot be opened");
	set_up(e, s, off, btf);
	if (!(e->probes.watched & 1u << GST_PROBE_SWITCH)) {
		snprintf(why, 256, "sched_switch cannot be watched by eBPF: %s",
			 off & 1u << GST_PROBE_SWITCH ? "it is switched off" : "this kernel has no such tracepoint");
		return false;
	}
	bpf_map__set_max_entries(e->programs->maps.events, room);
	rc = host_bpf__load(e->programs);
	if (!rc)
		return true;
	refuse(why, -rc, "eBPF programs cannot be loaded");
	if (rc == -EPERM || (off & OPTIONAL) == OPTIONAL)
		return false;
	host_bpf__destroy(e->programs);
	if (rc == -ENOMEM && room > EVENTS_LEAST) /* of its control group */
		return load(e, s, off, EVENTS_LEAST, btf, why);
	/* A kernel that has changed under one of them: the others tell most of it. */
	return load(e, s, off | OPTIONAL, room, btf, why);
}

bool ebpf_load(struct ebpf *e, const struct probes_settings *s, char why[256])
{
	struct btf *btf;
	bool loaded;

	libbpf_set_print(keep_words);
	btf = btf__load_vmlinux_btf();
	if (!btf) {
		snprintf(
			why, 256,
			"the kernel does not describe itself (/sys/kernel/btf/vmlinux: %s): it needs CONFIG_DEBUG_INFO_BTF",
			strerror(errno));
		return false;
	}
	loaded = load(e, s, s->off, room_for_events(), btf, why);
	btf__free(btf);
	return loaded;
}

/* ---- attach ---------------------------------------------------------------------------------------------------------- */

static bool sample(struct ebpf *e, uint32_t hz)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.freq = 1,
					.sample_freq = hz };
	int cpus = libbpf_num_possible_cpus();

	for (int cpu = 0; cpu < cpus; cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd < 0)
			continue; /* a CPU that is off */
		if (e->n_samples == EBPF_CPUS ||
		    !(e->samples[e->n_samples] = bpf_program__attach_perf_event(e->programs->progs.on_sample, fd)))
			close(fd);
		else
			e->n_samples++;
	}
	return e->n_samples > 0;
}

int ebpf_iterator(const struct ebpf *e)
{
	return bpf_iter_create(bpf_link__fd(e->programs->links.each_task));
}

bool ebpf_attach(struct ebpf *e, const struct probes_settings *s, char why[256])
{
	int rc;

	for (const struct program *p = programs; p < programs + PROGRAMS; p++) {
		struct bpf_link **link = (struct bpf_link **)((char *)e->programs + p->link);

		if (bpf_program__fd(program_of(e, p)) < 0)
			continue;
		*link = bpf_program__attach(program_of(e, p));
		if (*link)
			continue;
		if (p == programs)
			return refuse(why, errno, "eBPF programs cannot be attached");
		e->probes.watched &= ~(1u << p->probe);
	}
	e->programs->links.each_task = bpf_program__attach_iter(e->programs->progs.each_task, NULL);
	if (!e->programs->links.each_task)
		return refuse(why, errno, "the tasks that run already cannot be listed");
	if (bpf_program__fd(e->programs->progs.on_sample) >= 0 && sample(e, s->sample_hz)) {
		e->probes.watched |= 1u << GST_PROBE_ON_CPU;
		e->probes.sample_ns = 1000000000u / s->sample_hz;
	}
	rc = ebpf_tree_find(e);
	return rc ? refuse(why, rc, "the tasks that run already cannot be listed") : true;
}

void ebpf_unload(struct ebpf *e)
{
	for (unsigned i = 0; i < e->n_samples; i++)
		bpf_link__destroy(e->samples[i]);
	while (e->n_spare)
		close(e->spare[--e->n_spare]);
	host_bpf__destroy(e->programs);
	e->programs = NULL;
}

struct ebpf_state *ebpf_state(const struct ebpf *e)
{
	return &e->programs->bss->state;
}

int ebpf_events_fd(const struct ebpf *e)
{
	return bpf_map__fd(e->programs->maps.events);
}

uint64_t ebpf_kernel_ns(const struct ebpf *e)
{
	struct bpf_program *p;
	uint64_t sum = 0;

	bpf_object__for_each_program(p, e->programs->obj)
	{
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);

		if (bpf_program__fd(p) >= 0 && bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size) == 0)
			sum += info.run_time_ns;
	}
	return sum;
}
