/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_made.h: diffs made by hand, for what prints them: a rich one, one whose every name is hostile, one of many devices, one of runs that have
 * nothing in common. */
#ifndef TESTS_DIFF_MADE_H
#define TESTS_DIFF_MADE_H

#include <stdlib.h>
#include <string.h>

#include "diff/diff.h"

#define MADE_MS 1000000
#define MADE_GAPS 3
#define MADE_KERNELS 6
#define MADE_DEVICES 64 /* at most */

/* What people have called things, so that a terminal, a page or a comment would do as they like. */
static const char made_hostile[] =
	"`</code></td></script><script>alert(1)</script><img src=x onerror=alert(2)>|a|b\\|c ``` @everyone #1 https://evil.example/ "
	"www.evil.example [x](javascript:alert(3)) ]]> <!-- \" onmouseover=alert(4) ' &lt; *x* _y_ \033[2J\r\n\x01\xff\xfe\xc3(\xe2\x80\xae\xef\xbf\xbe --> ~~z~~";

struct made { /* and all that it points to */
	struct diff diff;
	struct diff_run runs[4];
	struct diff_run_device devices[4];
	struct diff_run_device many[4][MADE_DEVICES]; /* of each run, in place of its one */
	struct diff_pair pairs[MADE_DEVICES];
	struct diff_kernel kernels[2][MADE_KERNELS], comms[2];
	struct diff_work_change comm;
	struct diff_work_change works[MADE_KERNELS];
	struct diff_site sites[2];
	struct diff_site_change site_changes[2];
	struct diff_gap gaps[2][MADE_GAPS];
	struct diff_gap_change gap_changes[MADE_GAPS];
	struct diff_memory memory[2];
	struct diff_class_change classes[2];
	struct diff_fact_change facts[4];
	struct diff_fired fired[1];
	enum cause_id appeared[1], vanished[1];
	bool hostile;
};

static inline const char *made_name(const struct made *m, const char *name)
{
	return m->hostile ? made_hostile : name;
}

static inline void made_compared(struct diff_compared *r, double base, double now, double half, enum diff_change change)
{
	*r = (struct diff_compared){ .base_ns = (int64_t)(base * MADE_MS), .new_ns = (int64_t)(now * MADE_MS), .change = change, .present = true };
	r->delta_ns = r->new_ns - r->base_ns;
	r->low_ns = r->delta_ns - (int64_t)(half * MADE_MS);
	r->high_ns = r->delta_ns + (int64_t)(half * MADE_MS);
	r->p = change == DIFF_REGRESSED ? 0.0001 : 0.4;
}

static inline void made_row(struct diff_pair *p, size_t row, double base, double now, double half, enum diff_change change)
{
	made_compared(&p->compared.row[row], base, now, half, change);
}

static inline void made_tail(struct diff_pair *p, double base, double now, double half, enum diff_change change)
{
	made_compared(&p->compared.tail, base, now, half, change);
	p->compared.base_tail_ns = p->compared.tail.base_ns;
	p->compared.new_tail_ns = p->compared.tail.new_ns;
}

#define MADE_CAUSE(cause) (ROW_LEAVES + LEAF_CAUSES + CAUSE_##cause)

static inline void made_rows(struct diff_pair *p)
{
	p->compared = (struct diff_device){ .band_ns = 2 * MADE_MS, .variance_known = true, .comparable = true };
	made_tail(p, 0.5, 3, 1.2, DIFF_UNCHANGED);
	made_row(p, ROW_STEP, 102.4, 121.9, 2.2, DIFF_REGRESSED);
	made_row(p, ROW_LEAVES + LEAF_COMPUTE, 70.25, 70.5, 0.9, DIFF_UNCHANGED);
	made_row(p, ROW_LEAVES + LEAF_COMM, 6.5, 6.25, 0.5, DIFF_UNCHANGED);
	made_row(p, ROW_LEAVES + LEAF_COPY, 5.5, 3.1, 0.2, DIFF_IMPROVED);
	made_row(p, ROW_IDLE, 20.15, 42.05, 1.75, DIFF_REGRESSED);
	made_row(p, MADE_CAUSE(input_storage), 2.15, 25.0, 1.7, DIFF_REGRESSED);
	made_row(p, MADE_CAUSE(host_compute), 8, 3.9, 0.6, DIFF_IMPROVED);
	made_row(p, MADE_CAUSE(sync_bubble), 6, 6.15, 0.4, DIFF_UNCHANGED);
	made_row(p, MADE_CAUSE(cpu_contention), 4, 5.5, 4.6, DIFF_INCONCLUSIVE);
	made_row(p, MADE_CAUSE(module_load), 0, 1.25, 0.1, DIFF_UNCHANGED);
	made_row(p, MADE_CAUSE(unexplained), 0, 0.25, 0.1, DIFF_UNCHANGED);
}

static inline void made_work(struct made *m)
{
	static const char *const names[MADE_KERNELS] = {
		"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_32x5_nn_align8>(cutlass_80_tensorop::Params)",
		"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
		"copy h2d pageable", "fused_attention", "memset", "softmax_warp_forward" };

	for (size_t i = 0; i < MADE_KERNELS; i++) {
		for (int side = 0; side < 2; side++)
			m->kernels[side][i] = (struct diff_kernel){ made_name(m, names[i]), (double)(96 >> i) + 0.25 * side * (i == 5), (int64_t)(20 - 3 * i) * MADE_MS + side * MADE_MS / 3, i != 4, i == 2 ? (double)((1 + side) << 20) : 0 };
		m->works[i] = (struct diff_work_change){ i == 3 ? NULL : &m->kernels[0][i], i == 1 ? NULL : &m->kernels[1][i] };
	}
	for (int side = 0; side < 2; side++)
		m->comms[side] = (struct diff_kernel){ .name = "collective all_reduce", .per_step = 1, .bytes_per_step = (double)(16u << 10 << 14 * side) };
	m->comm = (struct diff_work_change){ &m->comms[0], &m->comms[1] };
	for (int side = 0; side < 2; side++) {
		m->sites[side] = (struct diff_site){ .where = made_name(m, side ? "load_batch (train.py:41)" : "collate (data.py:112)"), .idle_ns = (2 + 20 * side) * MADE_MS, .gaps = 1 };
		m->sites[side].causes[CAUSE_input_storage] = m->sites[side].idle_ns;
		m->site_changes[side] = (struct diff_site_change){ side ? NULL : &m->sites[0], &m->sites[1] };
	}
	m->site_changes[1] = (struct diff_site_change){ &m->sites[0], NULL };
}

static inline void made_gap(struct made *m, int side, size_t i, enum cause_id cause, double ns, const char *const *lines, size_t n)
{
	struct diff_gap *g = &m->gaps[side][i];

	*g = (struct diff_gap){ .before = made_name(m, "adam_step"), .after = made_name(m, "copy h2d pageable"), .key = i + 1, .per_step = 1, .ns_per_step = (int64_t)(ns * MADE_MS),
				.number = 17 * (i + 1), .longest_ns = (int64_t)(ns * 3 * MADE_MS) };
	g->causes[cause] = g->ns_per_step;
	for (size_t k = 0; k < n; k++)
		g->lines[g->n_lines++] = made_name(m, lines[k]);
}

static inline void made_gaps(struct made *m)
{
	static const char *const before[] = { "input-storage, 2.1 ms, observed", "thread 12 in futex <- python3[15] in pread64 /data/train-0003.tar", "path=/data/train-0003.tar offset=1048576 bytes=524288" };
	static const char *const after[] = { "input-storage, 24.6 ms, observed", "thread 12 in futex <- python3[15] in pread64 /data/slow/train-0003.tar",
					     "path=/data/slow/train-0003.tar offset=1048576 bytes=524288", "block requests of 524,288 bytes took 24.1 ms", "held by load_batch (train.py:41)" };
	static const char *const compute[] = { "host-compute, 8.0 ms, observed", "held by collate (data.py:112)" };
	static const char *const module[] = { "module-load, 1.2 ms, observed", "cuModuleLoadData, 1.2 ms" };

	made_gap(m, 0, 0, CAUSE_input_storage, 2.15, before, 3);
	made_gap(m, 1, 0, CAUSE_input_storage, 25, after, 5);
	made_gap(m, 0, 1, CAUSE_host_compute, 8, compute, 2);
	made_gap(m, 1, 1, CAUSE_host_compute, 3.9, compute, 2);
	made_gap(m, 1, 2, CAUSE_module_load, 1.25, module, 2);
	for (size_t i = 0; i < MADE_GAPS; i++)
		m->gap_changes[i] = (struct diff_gap_change){ i == 2 ? NULL : &m->gaps[0][i], &m->gaps[1][i], m->gaps[1][i].ns_per_step - (i == 2 ? 0 : m->gaps[0][i].ns_per_step) };
}

static inline void made_runs(struct made *m)
{
	for (size_t i = 0; i < 4; i++) {
		m->devices[i] = (struct diff_run_device){ .number = 0, .rank = i / 2 ? 3 : GST_NONE, .name = made_name(m, "NVIDIA H100 80GB HBM3"), .uuid = "GPU-1", .n_steps = 48 + i, .n_warm_up = 3,
							  .step_name = made_name(m, "ProfilerStep#"), .blurred_ns = 12000, .unresolved_ns = 2100000 };
		m->runs[i] = (struct diff_run){ .path = made_name(m, i < 2 ? "runs/base" : "runs/new"), .kind = "gpushim", .timing = "edges", .probes = "ebpf", .index = (int)(i % 2), .count = 2,
						.devices = &m->devices[i], .n_devices = 1 };
	}
	m->runs[3].cut = m->hostile ? made_hostile : NULL;
}

static inline void made_pair(struct made *m)
{
	struct diff_pair *p = &m->pairs[0];

	p->base = &m->devices[0];
	p->now = &m->devices[2];
	made_rows(p);
	m->appeared[0] = CAUSE_module_load;
	m->vanished[0] = CAUSE_host_sleep;
	p->appeared = m->appeared, p->n_appeared = 1;
	p->vanished = m->vanished, p->n_vanished = 1;
	p->kernels = m->works, p->n_kernels = MADE_KERNELS;
	p->comms = &m->comm, p->n_comms = 1;
	p->sites = m->site_changes, p->n_sites = 2;
	p->gaps = m->gap_changes, p->n_gaps = MADE_GAPS;
	m->memory[0] = (struct diff_memory){ true, 41u << 20, 64u << 20, 0.041, 0, false };
	m->memory[1] = (struct diff_memory){ true, 57u << 20, 80u << 20, 0.12, 2, false };
	p->base_memory = &m->memory[0], p->new_memory = &m->memory[1], p->memory_changed = true;
	p->by_class = true;
	for (size_t i = 0; i < 2; i++) {
		m->classes[i] = (struct diff_class_change){ .key = i + 1, .words = made_name(m, i ? "455 launches, 5 copies" : "412 launches, 3 copies"), .compared = p->compared, .base_share = i ? 0.125 : 0.875, .new_share = i ? 0 : 1 };
	}
	p->classes = m->classes, p->n_classes = 2;
}

static inline void made_facts(struct made *m)
{
	m->facts[0] = (struct diff_fact_change){ "commit", made_name(m, "4ee00a8"), made_name(m, "b800001") };
	m->facts[1] = (struct diff_fact_change){ "driver", made_name(m, "550.54.15"), made_name(m, "570.86.10") };
	m->facts[2] = (struct diff_fact_change){ "torch", NULL, made_name(m, "2.6.0+cu124") };
	m->facts[3] = (struct diff_fact_change){ made_name(m, "host"), made_name(m, "gpu-node-1"), NULL };
}

static inline void made_rich(struct made *m, bool hostile)
{
	memset(m, 0, sizeof(*m));
	m->hostile = hostile;
	made_runs(m);
	made_work(m);
	made_gaps(m);
	made_facts(m);
	made_pair(m);
	m->diff = (struct diff){ .base = m->runs, .n_base = 2, .now = m->runs + 2, .n_now = 2, .pairs = m->pairs, .n_pairs = 1, .facts = m->facts, .n_facts = 4, .verdict = DIFF_REGRESSED,
				 .reason = made_name(m, "idle time is 21.9 ms a step longer (+21.4 % of the step), mainly input-storage, +22.9 ms") };
	if (hostile) {
		m->pairs[0].reason = made_hostile;
		m->fired[0] = (struct diff_fired){ made_hostile, 0, ROW_IDLE };
		m->diff.fired = m->fired, m->diff.n_fired = m->diff.n_rules = 1;
	}
}

/* Two devices of which one is not comparable. */
static inline void made_two(struct made *m)
{
	made_rich(m, false);
	m->pairs[1] = (struct diff_pair){ .base = &m->devices[1], .now = &m->devices[3], .reason = "5 steps are too few: 8 is the least" };
	m->devices[1].number = m->devices[3].number = 1;
	for (size_t row = 0; row < DIFF_ROWS; row++)
		m->pairs[1].compared.row[row].change = DIFF_NOT_COMPARABLE;
	m->diff.n_pairs = 2;
	m->diff.verdict = DIFF_NOT_COMPARABLE;
	m->diff.reason = "device 1: 5 steps are too few: 8 is the least";
}

static inline void made_all_rows(struct diff_pair *p, enum diff_change change)
{
	for (size_t row = 0; row < DIFF_ROWS; row++)
		p->compared.row[row].change = change;
	p->compared.tail.change = change;
}

/* Nothing has changed but what long steps add. */
static inline void made_long_steps(struct made *m)
{
	made_rich(m, false);
	made_all_rows(&m->pairs[0], DIFF_UNCHANGED);
	made_tail(&m->pairs[0], 0.5, 12.5, 2, DIFF_REGRESSED);
	m->diff.reason = "steps that take long add 12.0 ms more to the mean step";
}

/* n of them, a quarter each of '~', 'x', '?', and of '-' and '+' in turn: the sixth is the first '+', and of every second of these it is the tail
 * alone. Each has another number in new. */
static inline void made_many(struct made *m, size_t n)
{
	static const enum diff_change changes[] = { DIFF_UNCHANGED, DIFF_IMPROVED, DIFF_INCONCLUSIVE, DIFF_NOT_COMPARABLE, DIFF_UNCHANGED, DIFF_REGRESSED, DIFF_INCONCLUSIVE, DIFF_NOT_COMPARABLE };

	made_rich(m, false);
	for (size_t run = 0; run < 4; run++) {
		m->runs[run].devices = m->many[run];
		m->runs[run].n_devices = n;
	}
	for (size_t i = 0; i < n; i++) {
		enum diff_change change = changes[i % 8];
		struct diff_pair *p = &m->pairs[i];

		for (size_t run = 0; run < 4; run++) {
			m->many[run][i] = m->devices[run];
			m->many[run][i].number = (uint32_t)(run < 2 ? i : n - 1 - i);
		}
		*p = m->pairs[0];
		p->base = &m->many[0][i], p->now = &m->many[2][i];
		p->base_device = p->new_device = i;
		made_rows(p);
		if (change != DIFF_REGRESSED)
			made_all_rows(p, change == DIFF_NOT_COMPARABLE ? change : DIFF_UNCHANGED);
		p->compared.row[ROW_STEP].change = change;
		if (i % 16 == 13) {
			made_all_rows(p, DIFF_UNCHANGED);
			made_tail(p, 0.5, 12.5, 2, DIFF_REGRESSED);
		}
		p->compared.comparable = change != DIFF_NOT_COMPARABLE;
		p->reason = change == DIFF_NOT_COMPARABLE ? "5 steps are too few: 8 is the least" : NULL;
	}
	m->diff.n_pairs = n;
}

/* Rows of which a gap's story says something, and rows of which none does; one that is not sure, one that cannot be compared. */
static inline void made_stories(struct made *m)
{
	struct diff_pair *p;

	made_rich(m, false);
	p = &m->pairs[0];
	p->reason = "host probes are ebpf in base and none in new";
	p->compared.blurred_ns = 6 * MADE_MS;
	made_row(p, ROW_LEAVES + LEAF_COMPUTE, 70.25, 80.5, 0.9, DIFF_REGRESSED);
	made_row(p, MADE_CAUSE(host_compute), 8, 12, 0.6, DIFF_REGRESSED);
	made_row(p, MADE_CAUSE(sync_bubble), 6, 6.15, 0.4, DIFF_NOT_COMPARABLE);
	m->gaps[0][2] = m->gaps[0][0]; /* storage is more of the gap that comes first, and grew in another one */
	m->gaps[1][2].causes[CAUSE_input_storage] = MADE_MS;
	m->gap_changes[2] = m->gap_changes[0];
	m->gap_changes[0] = (struct diff_gap_change){ &m->gaps[0][2], &m->gaps[1][2], 7 * MADE_MS };
}

/* No steps were found. */
static inline void made_whole(struct made *m)
{
	made_rich(m, false);
	for (size_t i = 0; i < 4; i++)
		m->devices[i].n_steps = 0;
	m->diff.n_now = 1;
}

static inline void made_empty(struct made *m)
{
	memset(m, 0, sizeof(*m));
	made_runs(m);
	m->diff = (struct diff){ .base = m->runs, .n_base = 1, .now = m->runs + 2, .n_now = 1, .verdict = DIFF_NOT_COMPARABLE, .reason = "base has 2 devices, new has 4" };
}

#endif
