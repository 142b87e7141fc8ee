/* SPDX-License-Identifier: BSD-2-Clause */
#include "host_trace_decode.h"

#include "tools/alloc.h"
#include "tools/ns.h"

#include <stdlib.h>
#include <string.h>

/* As trace.c's: now_ns: a moment ago; 0 for what is no file. */
static void set_life(struct host_decoder *d, int64_t now_ns)
{
	struct host_trace *t = d->t;
	int64_t last_ns = clock_clamp(t->counters.last_ticks);

	t->life = t->counters.exited ? LIFE_ENDED : LIFE_UNKNOWN;
	if (!now_ns)
		return;
	t->life = life_of(t->path, &t->header, &t->counters, last_ns);
	if (t->life == LIFE_RUNNING || (last_ns > now_ns && last_ns <= life_now_ns()))
		d->until_ns = now_ns;
}

/* What is on record behind the cut proves nothing of what was lost before it: a task may have waited since. */
static void until_damage(struct host_decoder *d)
{
	const struct damage *damage = reader_damage(d->reader);

	if (damage)
		d->until_ns = min64(d->until_ns, clock_clamp(damage->cut_ticks));
}

/* Events that the kernel's buffer had no room for stand among the dropped records as they are lost, and in GST_PROBES at the end: here
 * they are events, and records are those that the file had no room for. */
static void count_once(struct host_trace *t)
{
	uint64_t busy = t->counters.dropped_busy;

	if (t->probes.how != GST_PROBES_EBPF)
		return;
	if (t->probes.events_lost < busy)
		t->probes.events_lost = busy;
	t->counters.records_dropped -= busy < t->counters.records_dropped ? busy : t->counters.records_dropped;
	t->counters.dropped_busy = 0;
}

static enum err_kind take_counts(struct host_decoder *d, struct error *e)
{
	struct host_trace *t = d->t;
	struct reader_counts counts = reader_counts(d->reader);
	const struct damage *damage = reader_damage(d->reader);
	enum err_kind kind = reader_settle(d->reader, e);

	if (kind)
		return kind;
	t->counters = *reader_counters(d->reader);
	count_once(t);
	t->records = counts.records;
	t->unfinished = counts.unfinished;
	t->unknown_records = counts.unknown;
	t->cut_ns = INT64_MAX;
	if (damage) {
		t->damage = damage->error;
		t->cut_ns = clock_clamp(damage->cut_ticks);
	}
	d->ended = t->probes.end && !damage && d->until_ns == INT64_MAX;
	return ERR_NONE;
}

/* The last instant at which a task is known to have run. */
static int64_t last_run(const struct host_trace *t)
{
	int64_t last = t->begin_ns;

	for (size_t i = 0; i < t->n_tasks; i++)
		last = max64(last, t->tasks[i].end_ns);
	return last;
}

static void set_lifetime(struct host_decoder *d)
{
	struct host_trace *t = d->t;

	t->begin_ns = clock_clamp(t->probes.how ? t->probes.begin : t->header.start_mono_ns);
	t->begin_ns = max64(t->begin_ns, clock_clamp(t->counters.recycled_until));
	t->end_ns = d->ended ? clock_clamp(t->probes.end) : max64(last_run(t), clock_clamp(t->counters.last_ticks));
	t->end_ns = max64(t->begin_ns, min64(t->end_ns, min64(t->cut_ns, d->until_ns)));
	for (size_t i = 0; i < t->n_tasks; i++) {
		struct host_task *task = &t->tasks[i];

		if (d->ended && !task->ended)
			task->end_ns = t->end_ns;
		task->ended = task->ended && task->end_ns <= t->end_ns;
		task->end_ns = max64(task->begin_ns, min64(task->end_ns, t->end_ns));
	}
}

/* ---- by the numbers that tasks have for themselves, and by process ------------------------------------- */

struct numbered {
	uint32_t number, task;
};

/* Of one number, tasks stand in the order of their own list: by number, then time. */
static int by_number(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->task > y->task) - (x->task < y->task);
}

static uint32_t pid_of(const struct host_task *task)
{
	return task->pid;
}

/* NULL: no memory. */
static uint32_t *index_by(const struct host_trace *t, uint32_t (*number)(const struct host_task *task))
{
	struct numbered *all = array_new(t->n_tasks, sizeof(*all));
	uint32_t *index = array_new(t->n_tasks, sizeof(*index));

	if (!all || !index) {
		free(all);
		free(index);
		return NULL;
	}
	for (size_t i = 0; i < t->n_tasks; i++)
		all[i] = (struct numbered){ number(&t->tasks[i]), (uint32_t)i };
	array_sort(all, t->n_tasks, sizeof(*all), by_number);
	for (size_t i = 0; i < t->n_tasks; i++)
		index[i] = all[i].task;
	free(all);
	return index;
}

struct pid_key {
	const struct host_trace *t;
	uint64_t pid;
};

static bool pid_before(const void *element, const void *key)
{
	const struct pid_key *k = key;

	return k->t->tasks[*(const uint32_t *)element].pid < k->pid;
}

const uint32_t *host_trace_process(const struct host_trace *t, uint32_t pid, size_t *n)
{
	const struct pid_key key = { t, pid }, next = { t, pid + 1ull };
	size_t first, end;

	*n = t->n_tasks;
	if (!t->by_pid)
		return NULL;
	first = array_first(t->by_pid, t->n_tasks, sizeof(*t->by_pid), pid_before, &key);
	end = array_first(t->by_pid, t->n_tasks, sizeof(*t->by_pid), pid_before, &next);
	*n = end - first;
	return t->by_pid + first;
}

/* ---- opening ---------------------------------------------------------------------------------------- */

static enum err_kind decode(struct host_decoder *d, int64_t now_ns, struct error *e)
{
	struct host_trace *t = d->t;
	enum err_kind kind;

	if (t->header.kind != GST_FILE_HOST)
		return err_set(e, ERR_FORMAT, t->path, offsetof(struct gst_file_header, kind),
			       "no file of host probes (kind %u)", t->header.kind);
	if (t->header.clock != GST_CLOCK_MONOTONIC)
		return err_set(e, ERR_FORMAT, t->path, offsetof(struct gst_file_header, clock),
			       "host probes with clock %u, not CLOCK_MONOTONIC", t->header.clock);
	set_life(d, now_ns);
	if ((kind = names_new(&d->names, e)) || (kind = host_trace_describe(d, e)))
		return kind;
	until_damage(d);
	if ((kind = host_trace_events(d, e)) || (kind = take_counts(d, e)))
		return kind;
	set_lifetime(d);
	host_trace_settle(t);
	t->by_own = index_by(t, host_own_tid);
	t->by_pid = index_by(t, pid_of);
	return t->by_own && t->by_pid ? ERR_NONE : host_no_memory(t, e);
}

/* Takes the reader over. */
static enum err_kind host_trace_read(struct host_trace **out, struct reader *reader, const char *name, int64_t now_ns,
				     struct error *e)
{
	struct host_decoder d = { .reader = reader, .t = calloc(1, sizeof(struct host_trace)), .until_ns = INT64_MAX };
	enum err_kind kind = ERR_SYSTEM;

	if (d.t)
		d.t->path = strdup(name);
	if (d.t && d.t->path) {
		d.t->header = *reader_header(reader);
		d.t->counters = *reader_counters(reader);
		kind = decode(&d, now_ns, e);
	} else {
		err_set(e, ERR_SYSTEM, name, ERR_NO_BYTE, "out of memory");
	}
	names_free(d.names);
	free(d.ends);
	reader_free(reader);
	if (kind) {
		host_trace_free(d.t);
		return kind;
	}
	*out = d.t;
	return ERR_NONE;
}

enum err_kind host_trace_open(struct host_trace **out, const char *path, int64_t now_ns, struct error *e)
{
	struct reader *reader;
	enum err_kind kind = reader_open(&reader, path, e);

	*out = NULL;
	return kind ? kind : host_trace_read(out, reader, path, now_ns, e);
}

enum err_kind host_trace_open_mem(struct host_trace **out, const void *buf, size_t len, const char *name,
				  struct error *e)
{
	struct reader *reader;
	enum err_kind kind = reader_open_mem(&reader, buf, len, name, e);

	*out = NULL;
	return kind ? kind : host_trace_read(out, reader, name, 0, e);
}

void host_trace_free(struct host_trace *t)
{
	if (!t)
		return;
	free(t->path);
	free(t->tasks);
	free(t->by_own);
	free(t->by_pid);
	free(t->requests);
	free(t->pipe_ends);
	free(t->pressure);
	free(t->waits);
	free(t->stalls);
	free(t->reclaims);
	free(t->written);
	free(t->on_cpu);
	arena_free(&t->frames);
	free(t->text);
	free(t);
}
