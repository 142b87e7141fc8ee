/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf_rings.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "perf_parse.h"
#include "perf_rights.h"
#include "../proc_text.h"

#define MOST_PAGES 128u /* for each CPU: what an ordinary user may lock by default, kernel.perf_event_mlock_kb */
#define LEAST_PAGES 8u

struct ring {
	struct perf_event_mmap_page *head; /* data follows, a power of two of pages */
	size_t bytes;                      /* of the data */
	int cpu, fd;
};

struct perf_rings {
	struct ring *ring;
	size_t n;
	struct pollfd *polled;
	int *fd;
	size_t n_fds, cap_fds;
	uint32_t sample_hz;
	bool faults;
	struct perf_parse parse;
};

static int open_event(struct perf_event_attr *a, pid_t tid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, a, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* All events of a ring have the same form and clock, so that their records can be told apart. */
static struct perf_event_attr common(size_t ring_bytes)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_PARSE_SAMPLE_TYPE,
		.sample_id_all = 1,
		.exclude_kernel = 1, /* what an ordinary user may ask for */
		.exclude_hv = 1,
		.exclude_callchain_kernel = 1,
		.sample_max_stack = PERF_FRAMES,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark =
			(uint32_t)(ring_bytes /
				   2), /* whoever traces a wake-up for each event slows down what it watches */
	};
}

/* ---- opening -------------------------------------------------------------------------------------------- */

static void forbidden(int error, char why[256])
{
	char text[32] = "";
	uint64_t level = 0;

	proc_text_read(text, sizeof(text), "/proc/sys/kernel/perf_event_paranoid");
	level = strtoul(text, NULL, 10);
	if (*text && *text != '-' && level > 2)
		snprintf(
			why, 256,
			"kernel.perf_event_paranoid is %u: sysctl kernel.perf_event_paranoid=2, or setcap cap_perfmon+ep",
			(unsigned)level);
	else if (error == ENOSYS || !*text)
		snprintf(why, 256, "the kernel has no perf_event_open");
	else if (error == EMFILE || error == ENFILE)
		snprintf(why, 256, "too few file descriptors: one is needed for each CPU and task; raise ulimit -n");
	else
		snprintf(why, 256, "perf_event_open is refused (%s): a container's seccomp profile has to allow it",
			 strerror(error));
}

/* Room for as many as may be, at least for a few switches. The event is of ourselves and counts nothing: it holds the buffer, which must last
 * however long each of those lasts that write into it. */
static int open_ring(struct ring *r, int cpu)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = MAP_FAILED;

	r->fd = -1;
	r->cpu = cpu;
	for (size_t pages = MOST_PAGES; pages >= LEAST_PAGES && at == MAP_FAILED; pages /= 2) {
		struct perf_event_attr a = common(pages * page);
		if (r->fd >= 0)
			close(r->fd);
		r->fd = open_event(&a, 0, cpu);
		if (r->fd < 0)
			return errno;
		at = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
		r->bytes = pages * page;
	}
	if (at == MAP_FAILED) {
		int why = errno;
		close(r->fd);
		return why;
	}
	r->head = at;
	return 0;
}

static void more_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

struct perf_rings *perf_rings_open(uint32_t sample_hz, bool faults, char why[256])
{
	size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_CONF);
	struct perf_rings *r = calloc(1, sizeof(*r));
	int error = ENOMEM;

	if (r) {
		r->ring = calloc(cpus, sizeof(*r->ring));
		r->polled = calloc(cpus, sizeof(*r->polled));
		r->sample_hz = sample_hz;
		r->faults = faults;
	}
	more_descriptors();
	for (size_t cpu = 0; r && r->ring && r->polled && cpu < cpus; cpu++) {
		error = open_ring(&r->ring[r->n], (int)cpu);
		if (error == ENODEV)
			continue; /* it is offline */
		if (error)
			break;
		r->polled[r->n] = (struct pollfd){ r->ring[r->n].fd, POLLIN, 0 };
		r->n++;
	}
	if (r && r->n && (!error || error == ENODEV) && perf_parse_begin(&r->parse))
		return r;
	forbidden(error, why);
	perf_rings_close(r);
	return NULL;
}

void perf_rings_close(struct perf_rings *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_fds; i++)
		close(r->fd[i]);
	for (size_t i = 0; i < r->n; i++) {
		munmap(r->ring[i].head, r->ring[i].bytes + (size_t)sysconf(_SC_PAGESIZE));
		close(r->ring[i].fd);
	}
	perf_parse_end(&r->parse);
	free(r->fd);
	free(r->polled);
	free(r->ring);
	free(r);
}

/* ---- a task --------------------------------------------------------------------------------------------- */

static bool keep(struct perf_rings *r, int fd)
{
	if (r->n_fds == r->cap_fds) {
		size_t cap = r->cap_fds ? 2 * r->cap_fds : 256;
		int *more = realloc(r->fd, cap * sizeof(*more));
		if (!more)
			return false;
		r->fd = more;
		r->cap_fds = cap;
	}
	r->fd[r->n_fds++] = fd;
	return true;
}

static int open_into(struct perf_rings *r, struct perf_event_attr *a, pid_t tid, const struct ring *ring)
{
	int fd = open_event(a, tid, ring->cpu), why;

	if (fd < 0)
		return errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) == 0 && keep(r, fd))
		return 0;
	why = errno;
	close(fd);
	return why;
}

static int attach_to(struct perf_rings *r, pid_t tid, const struct ring *ring)
{
	struct perf_event_attr a = common(ring->bytes);
	int rc;

	a.inherit = 1;
	a.context_switch = 1;
	a.task = 1;
	a.comm = 1;
	a.comm_exec = 1;
	if (r->faults) {
		a.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ;
		a.sample_period = 1;
	}
	rc = open_into(r, &a, tid, ring);
	if (rc || !r->sample_hz)
		return rc;
	a = common(ring->bytes);
	a.inherit = 1;
	a.config = PERF_COUNT_SW_CPU_CLOCK;
	a.freq = 1;
	a.sample_freq = r->sample_hz;
	return open_into(r, &a, tid, ring);
}

static int attach(struct perf_rings *r, pid_t tid)
{
	for (size_t i = 0; i < r->n; i++) {
		int rc = attach_to(r, tid, &r->ring[i]);
		if (rc)
			return rc;
	}
	return 0;
}

int perf_rings_attach(struct perf_rings *r, pid_t tid)
{
	struct perf_rights rights;
	bool lowered = perf_rights_lower(&rights);
	int rc = attach(r, tid);

	perf_rights_restore(&rights);
	if (rc != EACCES || !lowered || !perf_rights_may_look(tid))
		return rc;
	/* Where kernel.perf_event_paranoid is above 2 nobody may without the capability, whosever task it is: then we ask. What it executed
	 * meanwhile may have given it another's rights. */
	rc = attach(r, tid);
	return rc || perf_rights_may_look(tid) ? rc : EPERM;
}

/* ---- reading -------------------------------------------------------------------------------------------- */

void perf_rings_wait(struct perf_rings *r, int timeout_ms)
{
	if (poll(r->polled, r->n, timeout_ms) <= 0)
		return;
	/* One that says more than that there is something to read would say so again at once, for ever. */
	for (size_t i = 0; i < r->n; i++)
		if (r->polled[i].revents & ~POLLIN)
			r->polled[i].fd = -1;
}

static int by_time(const void *a, const void *b)
{
	const struct perf_event *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

bool perf_rings_read(struct perf_rings *r, struct perf_batch *b)
{
	size_t before = b->n;
	bool all = true;

	for (size_t i = 0; i < r->n; i++) {
		struct ring *ring = &r->ring[i];
		const uint8_t *data = (const uint8_t *)ring->head + sysconf(_SC_PAGESIZE);
		uint64_t head = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE), tail = ring->head->data_tail;
		all &= perf_parse(&r->parse, b, data, ring->bytes, tail, head);
		__atomic_store_n(&ring->head->data_tail, head, __ATOMIC_RELEASE);
	}
	if (b->n > before)
		qsort(b->at, b->n, sizeof(*b->at), by_time);
	return all;
}

void perf_batch_drop(struct perf_batch *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(b->at[i].frames);
	if (n && n < b->n)
		memmove(b->at, b->at + n, (b->n - n) * sizeof(*b->at));
	b->n -= n;
}

void perf_batch_free(struct perf_batch *b)
{
	perf_batch_drop(b, b->n);
	free(b->at);
	*b = (struct perf_batch){ 0 };
}
