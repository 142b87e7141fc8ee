/* SPDX-License-Identifier: BSD-2-Clause */
/* A collector that is killed leaves a sound file, whatever it was at: killed at any moment, and looked at behind each single instruction. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "host_file_seen.h"
#include "probes/host_keep.h"

#define PLACES 8u /* of a file, for segments */
#define LIMIT (GST_SEGMENTS_OFFSET + PLACES * GST_SEGMENT_BYTES)

#define NO_DEBUGGER 77 /* exit status of a child */
/* Elsewhere a step breaks an exclusive store, which is then tried again for ever. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define STEPS 1
#else
#define STEPS 0
#endif

static char dir[64];

/* What stands in a file that ended somewhere in a run of probes(), task(5), pipe_end(5), write_much(). */
static void check_killed(const char *path)
{
	read_back(path);
	assert_int_equal(seen.counters.exited, 0);
	assert_int_equal(seen.nameless, 0);
	assert_int_equal(seen.probes, 1);
	assert_int_equal(seen.births[5], 1);
	assert_int_equal(seen.pipes[5], 1);
	if (seen.counters.segments_recycled)
		assert_int_equal(seen.header.version, 2);
	if (seen.waits) /* what is missing is older than all that is there */
		assert_int_equal(seen.waits, seen.last_out - seen.first_out + 1);
}

static struct host_file *begin_file(uint64_t limit)
{
	struct host_file *f;

	if (host_file_create(&f, dir, getpid(), limit))
		_exit(1);
	probes(f, 0);
	task(f, 5);
	pipe_end(f, 5);
	return f;
}

static void skip_without_debugger(void)
{
	printf("skip: nobody may be traced here (ptrace), or single steps are too slow (sanitizers) or no good (not x86-64)\n");
	skip();
}

/* ---- at any moment --------------------------------------------------------------------------------------------------- */

static void killed_at_any_moment_it_is_sound(void **state)
{
	char path[256];

	(void)state;
	for (unsigned i = 0; i < 25; i++) {
		int fds[2], status;
		pid_t child;

		assert_int_equal(pipe(fds), 0);
		child = fork();
		if (child == 0) {
			struct host_file *f = begin_file(LIMIT);

			write_much(f, 0, 1000);
			if (write(fds[1], host_file_path(f), strlen(host_file_path(f)) + 1) < 0)
				_exit(1);
			for (uint64_t n = 1000;; n += 1000)
				write_much(f, n, 1000);
		}
		assert_true(read(fds[0], path, sizeof(path)) > 0);
		usleep(3000 + i * 4000);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		close(fds[0]);
		close(fds[1]);
		check_killed(path);
		unlink(path);
	}
}

/* ---- behind each instruction ----------------------------------------------------------------------------------------- */

#define LOOKED_AT 16384u /* of each segment: its header, its first records */

static struct shared {
	char path[256];
	uint32_t stepped; /* the child is at what is looked at behind each instruction */
	uint32_t over;
} * shared;

static bool traced; /* this is the child */

static bool is_stepped(void)
{
	return traced && shared->stepped;
}

static void step(void)
{
	__atomic_store_n(&shared->stepped, 1, __ATOMIC_RELEASE);
	raise(SIGSTOP);
}

static void run_free(void)
{
	__atomic_store_n(&shared->stepped, 0, __ATOMIC_RELEASE);
}

/* What is to be kept is looked for in a million instructions, which write nothing: but where something is put down they are free. */
struct put_down {
	bool (*put)(const struct gst_record *r, void *arg);
	void *arg;
};

static bool put_down(const struct gst_record *r, void *arg)
{
	struct put_down *down = arg;
	bool done;

	step();
	done = down->put(r, down->arg);
	run_free();
	return done;
}

struct host_given_up __real_host_keep_copy(struct host_keep *k, const uint8_t *segment, uint64_t seq,
					   bool (*put)(const struct gst_record *r, void *arg), void *arg);
struct host_given_up __wrap_host_keep_copy(struct host_keep *k, const uint8_t *segment, uint64_t seq,
					   bool (*put)(const struct gst_record *r, void *arg), void *arg);

struct host_given_up __wrap_host_keep_copy(struct host_keep *k, const uint8_t *segment, uint64_t seq,
					   bool (*put)(const struct gst_record *r, void *arg), void *arg)
{
	struct put_down down = { put, arg };
	struct host_given_up gone;

	if (!is_stepped())
		return __real_host_keep_copy(k, segment, seq, put, arg);
	run_free();
	gone = __real_host_keep_copy(k, segment, seq, put_down, &down);
	step();
	return gone;
}

/* … and so are those in which a whole segment becomes blank, but for the one in the middle. */
void *__real_memset(void *to, int byte, size_t bytes);
void *__wrap_memset(void *to, int byte, size_t bytes);

void *__wrap_memset(void *to, int byte, size_t bytes)
{
	if (bytes < GST_SEGMENT_BYTES / 2 || !is_stepped())
		return __real_memset(to, byte, bytes);
	run_free();
	__real_memset(to, byte, bytes / 2);
	step();
	run_free();
	__real_memset((char *)to + bytes / 2, byte, bytes - bytes / 2);
	step();
	return to;
}

/* As it was when it was last looked at: bytes that have changed since say that it is to be read. */
struct glance {
	uint64_t size;
	uint8_t version[8], counters[256], directory[4 * PLACES], segment[PLACES][LOOKED_AT];
};

static bool has_changed(void *known, const void *now, size_t bytes)
{
	if (!memcmp(known, now, bytes))
		return false;
	memcpy(known, now, bytes);
	return true;
}

static bool glance(struct glance *g, const uint8_t *file, uint64_t size)
{
	bool changed = has_changed(&g->size, &size, sizeof(size));

	changed |= has_changed(g->version, file + offsetof(struct gst_file_header, version), sizeof(g->version));
	changed |= has_changed(g->counters, file + GST_COUNTERS_OFFSET, sizeof(g->counters));
	changed |= has_changed(g->directory, file + GST_DIRECTORY_OFFSET, sizeof(g->directory));
	for (uint64_t i = 0, at = GST_SEGMENTS_OFFSET; i < PLACES && at + LOOKED_AT <= size;
	     i++, at += GST_SEGMENT_BYTES)
		changed |= has_changed(g->segment[i], file + at, LOOKED_AT);
	return changed;
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

/* False: no debugger is allowed here. */
static bool wait_for_stop(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == NO_DEBUGGER));
	return WIFSTOPPED(status);
}

/* How often the file was read, as something in it had changed. */
static unsigned follow(pid_t child)
{
	struct glance *g = calloc(1, sizeof(*g));
	int fd = open(shared->path, O_RDONLY);
	uint8_t *file = mmap(NULL, LIMIT, PROT_READ, MAP_SHARED, fd, 0);
	uint64_t size = size_of(shared->path);
	unsigned looks = 0;

	assert_non_null(g);
	assert_true(file != MAP_FAILED);
	while (!__atomic_load_n(&shared->over, __ATOMIC_ACQUIRE)) {
		bool stepped = __atomic_load_n(&shared->stepped, __ATOMIC_ACQUIRE);

		assert_int_equal(ptrace(stepped ? PTRACE_SINGLESTEP : PTRACE_CONT, child, NULL, NULL), 0);
		assert_true(wait_for_stop(child));
		size = size < LIMIT ? size_of(shared->path) : size;
		if (glance(g, file, size)) {
			check_killed(shared->path);
			looks++;
		}
	}
	munmap(file, LIMIT);
	close(fd);
	free(g);
	return looks;
}

/* The child of look_behind_each. */
static void write_and_stay(void (*prepare)(struct host_file *f), void (*write)(struct host_file *f))
{
	struct host_file *f;

	if (!STEPS || ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(NO_DEBUGGER);
	traced = true;
	f = begin_file(LIMIT);
	prepare(f);
	snprintf(shared->path, sizeof(shared->path), "%s", host_file_path(f));
	step();
	write(f);
	__atomic_store_n(&shared->over, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

/* Reads the file behind each instruction of write that changed it. How often; 0: no debugger is allowed here. */
static unsigned look_behind_each(void (*prepare)(struct host_file *f), void (*write)(struct host_file *f))
{
	unsigned looks = 0;
	pid_t child;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	child = fork();
	if (child == 0)
		write_and_stay(prepare, write);
	if (wait_for_stop(child)) {
		assert_int_equal(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_EXITKILL), 0);
		looks = follow(child);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
	munmap(shared, sizeof(*shared));
	shared = NULL;
	return looks;
}

static void nothing(struct host_file *f)
{
	(void)f;
}

static void some_of_each(struct host_file *f)
{
	task(f, 7);
	wait_of(f, 7, 0, "/data/a");
	wait_of(f, 7, 1, "/data/a");
	task_end(f, 7);
	host_file_beat(f);
	host_file_count_dropped(f, 3);
	wait_of(f, 7, 2, NULL);
}

static void each_record_is_there_or_not(void **state)
{
	unsigned looks = look_behind_each(nothing, some_of_each);

	(void)state;
	if (!looks)
		skip_without_debugger();
	assert_true(looks >= 6 * 2); /* a record's header and its end, at least */
	assert_int_equal(seen.waits, 3);
	assert_int_equal(seen.births[7], 1);
	assert_int_equal(seen.ends[7], 1);
	assert_int_equal(seen.names[1], 1);
	assert_int_equal(seen.counters.records_dropped, 3);
}

static uint64_t next;

/* Until it goes on in another segment. */
static void change_segments(struct host_file *f)
{
	uint64_t before = host_file_counters(f)->segments_recycled;

	while (host_file_counters(f)->segments_recycled == before)
		wait_of(f, 5, next++, "/always");
}

/* All but two records' room of a segment, others having been given up before. */
static void fill(struct host_file *f)
{
	for (next = 0; !host_file_counters(f)->segments_recycled; next++) {
		if (next % 50 == 0)
			task(f, 1000 + (uint32_t)next / 50); /* goes on, and is kept */
		wait_of(f, 5, next, "/always");
	}
	change_segments(f);
	for (uint64_t i = 3; i < (GST_SEGMENT_BYTES - sizeof(struct gst_segment_header)) / sizeof(struct gst_wait); i++)
		wait_of(f, 5, next++, "/always");
}

static void each_step_of_a_change_leaves_it_whole(void **state)
{
	unsigned looks = look_behind_each(fill, change_segments);

	(void)state;
	if (!looks)
		skip_without_debugger();
	assert_true(seen.counters.segments_recycled >= 2);
	assert_true(looks >= 3 * 40); /* so many definitions are kept, at least: each is begun, filled and ended */
}

static int set_up(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/host-file-XXXXXX");
	return mkdtemp(dir) ? 0 : 1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(killed_at_any_moment_it_is_sound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_record_is_there_or_not, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_step_of_a_change_leaves_it_whole, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
