/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread waits at, told by the kernel and the list of mounts alone: no server is asked, and the list is not read each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <sys/mman.h>
#include <sys/socket.h>

#include "shim/sample_file.c" /* the list of mounts is the test's */

#define LINE(id, point, type, options) #id " 1 8:1 / " point " rw,relatime shared:1 - " type " source " options "\n"

static char list[128], directory[64];
static unsigned asked, asked_to_sync;

long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, ...);

/* It takes six arguments, however few there are. */
__attribute__((no_sanitize("address", "undefined"))) long __wrap_syscall(long nr, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (nr == SYS_statx) {
		asked++;
		asked_to_sync += ((unsigned long)a[2] & AT_STATX_SYNC_TYPE) != AT_STATX_DONT_SYNC;
	}
	return __real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void write_list(const char *text)
{
	FILE *out = fopen(list, "w");

	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static int begin(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/gpushim-sample-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(list, sizeof(list), "%s/mountinfo", directory);
	clock_choose();
	mountinfo = list;
	asked = asked_to_sync = 0;
	return 0;
}

static int end(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

/* ---- mounts -------------------------------------------------------------------------------------------------------------- */

static const char mount_list[] = LINE(1, "/", "ext4", "rw") LINE(2, "/net", "nfs4", "rw") LINE(3, "/mem", "tmpfs", "rw")
	LINE(10, "/a", "overlay", "rw,lowerdir=/l:/net/l:/k,upperdir=/u,workdir=/w")
		LINE(11, "/b", "overlay", "rw,lowerdir=/net/l,upperdir=/mem/u,workdir=/mem/w")
			LINE(12, "/c", "overlay", "rw,lowerdir=/l:/k,upperdir=/net/u,workdir=/net/w")
				LINE(13, "/d", "overlay", "rw,lowerdir=/l,upperdir=/u,workdir=/w") LINE(
					14, "/e", "overlay", "rw,lowerdir=/mem/l,upperdir=/mem/u,workdir=/w")
					LINE(15, "/f", "overlay", "ro,lowerdir+=/l,lowerdir+=/my\\040net/x,datadir+=/y")
						LINE(16, "/g", "overlay", "ro")
							LINE(20, "/my\\040net", "fuse.sshfs", "rw");

static void layers_decide(void **state)
{
	static const struct {
		uint64_t id;
		const char *path;
		enum file_place read, written;
	} rows[] = {
		{ 1, "", FILE_PLACE_DISK, FILE_PLACE_DISK },
		{ 2, "", FILE_PLACE_NETWORK, FILE_PLACE_NETWORK },
		{ 3, "", FILE_PLACE_MEMORY, FILE_PLACE_MEMORY },
		{ 10, "", FILE_PLACE_NETWORK, FILE_PLACE_DISK },
		{ 11, "", FILE_PLACE_NETWORK, FILE_PLACE_MEMORY },
		{ 12, "", FILE_PLACE_NETWORK, FILE_PLACE_NETWORK },
		{ 13, "", FILE_PLACE_DISK, FILE_PLACE_DISK },
		{ 14, "", FILE_PLACE_MEMORY, FILE_PLACE_MEMORY },
		{ 15, "", FILE_PLACE_NETWORK, FILE_PLACE_DISK },
		{ 16, "", FILE_PLACE_DISK, FILE_PLACE_DISK },
		{ 77, "/net/x", FILE_PLACE_UNKNOWN, FILE_PLACE_UNKNOWN }, /* a number that is in no list */
		{ 0, "/net/x", FILE_PLACE_NETWORK, FILE_PLACE_NETWORK },
		{ 0, "/b/x", FILE_PLACE_NETWORK, FILE_PLACE_MEMORY },
		{ 0, "/network", FILE_PLACE_DISK, FILE_PLACE_DISK },
	};

	(void)state;
	write_list(mount_list);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct file_mount is = file_mount_find(list, rows[i].id, rows[i].path);

		if (is.read != rows[i].read || is.written != rows[i].written)
			fail_msg("row %zu: %d %d", i, is.read, is.written);
	}
	assert_int_equal(file_mount_find("/nowhere/mountinfo", 2, "/net/x").read, FILE_PLACE_UNKNOWN);
}

/* ---- descriptors --------------------------------------------------------------------------------------------------------- */

static struct sample_file look(long nr, int fd, uint64_t ticks)
{
	struct gst_sample s = {
		.tid = (uint32_t)gettid(), .ticks = ticks, .syscall = (int32_t)nr, .arg = (uint64_t)fd
	};
	struct sample_file f = { .kind = GST_FD_NONE };

	if (!sample_file_of(&f, &s))
		f.kind = GST_FD_NONE;
	return f;
}

static int make_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return open(path, O_RDWR | O_CREAT, 0600);
}

/* The list says that the descriptor's mount is this. */
static void write_mount(int fd, const char *type_and_options)
{
	uint64_t id = mount_id((uint32_t)gettid(), fd);
	char text[512];

	if (!id)
		skip(); /* a kernel that does not tell */
	snprintf(text, sizeof(text),
		 "900001 1 8:1 / / rw - ext4 s rw\n900002 1 8:1 / /net rw - nfs s rw\n%llu 1 8:1 / /x rw - %s\n",
		 (unsigned long long)id, type_and_options);
	write_list(text);
}

static void what_a_descriptor_is(void **state)
{
	char path[128];
	int pipes[2], sockets[2], fifo, file = make_file("file"), null = open("/dev/null", O_RDWR);
	int memory = memfd_create("memory", MFD_CLOEXEC);

	(void)state;
	write_mount(file, "ext4 s rw");
	snprintf(path, sizeof(path), "%s/fifo", directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	fifo = open(path, O_RDWR);
	assert_true(memory >= 0);
	assert_true(fifo >= 0 && null >= 0);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	assert_int_equal(look(SYS_read, file, 1).kind, GST_FD_FILE);
	assert_non_null(strstr(look(SYS_read, file, 1).path, "/file"));
	assert_int_equal(look(SYS_write, file, 1).kind, GST_FD_FILE);
	assert_int_equal(look(SYS_read, fifo, 1).kind, GST_FD_PIPE);
	assert_int_equal(look(SYS_read, memory, 1).kind, GST_FD_OTHER);
	assert_int_equal(look(SYS_read, pipes[0], 1).kind, GST_FD_PIPE);
	assert_int_equal(look(SYS_recvfrom, sockets[0], 1).kind, GST_FD_SOCKET);
	assert_int_equal(look(SYS_read, 9999, 1).kind, GST_FD_NONE);
	assert_int_equal(look(SYS_futex, file, 1).kind, GST_FD_NONE);
	write_mount(null, "devtmpfs s rw");
	assert_int_equal(look(SYS_read, null, 1 + 2 * clock_ticks_in(STALE_NS)).kind, GST_FD_OTHER);
	assert_true(asked > 0);
	assert_int_equal(asked_to_sync, 0);
	for (int fd = 0; fd < 2; fd++)
		close(pipes[fd]), close(sockets[fd]);
	close(fifo), close(file), close(null), close(memory);
}

/* Neither is a server asked of its own files, nor of those that an overlay has from it. */
static void a_server_is_not_asked(void **state)
{
	uint64_t later = 2 * clock_ticks_in(STALE_NS);
	int file = make_file("file");

	(void)state;
	write_mount(file, "nfs4 s rw");
	assert_int_equal(look(SYS_read, file, later).kind, GST_FD_NETWORK);
	assert_int_equal(look(SYS_fsync, file, later).kind, GST_FD_NETWORK);
	write_mount(file, "overlay s rw,lowerdir=/net/l,upperdir=/u");
	assert_int_equal(look(SYS_read, file, 2 * later).kind, GST_FD_NETWORK);
	write_list("900001 1 8:1 / / rw - ext4 s rw\n"); /* a mount that was taken away */
	assert_int_equal(look(SYS_read, file, 3 * later).kind, GST_FD_FILE);
	assert_int_equal(asked, 0);
	write_mount(file, "overlay s rw,lowerdir=/net/l,upperdir=/u");
	assert_int_equal(look(SYS_write, file, 4 * later).kind, GST_FD_FILE);
	write_mount(file, "tmpfs s rw");
	assert_int_equal(look(SYS_read, file, 5 * later).kind, GST_FD_OTHER);
	close(file);
}

/* Whatever lies between: two files in turn, as two threads read them, are of one mount or of two. */
static void the_list_is_read_now_and_then(void **state)
{
	uint64_t stale = clock_ticks_in(STALE_NS), first = 100 * stale;
	int file = make_file("file"), other = make_file("other"), proc = open("/proc/version", O_RDONLY);

	(void)state;
	write_mount(file, "nfs4 s rw");
	assert_int_equal(look(SYS_read, file, first).kind, GST_FD_NETWORK);
	assert_int_equal(look(SYS_read, proc, first).kind, GST_FD_FILE);
	write_mount(file, "ext4 s rw");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(look(SYS_read, other, first + stale / 2).kind, GST_FD_NETWORK);
		assert_int_equal(look(SYS_read, proc, first + stale / 2).kind, GST_FD_FILE);
		assert_int_equal(look(SYS_read, file, first + stale / 2).kind, GST_FD_NETWORK);
	}
	assert_int_equal(look(SYS_read, file, first + 2 * stale).kind,
			 GST_FD_FILE); /* its number may be another's by then */
	close(file), close(other), close(proc);
}

static void a_poll_says_how_long_it_waits(void **state)
{
	struct timespec half = { 0, 500000000 }, ever = { INT64_MAX, 0 };

	(void)state;
#ifdef SYS_poll
	assert_int_equal(sample_file_poll_ns(SYS_poll, 500), 500000000);
	assert_int_equal(sample_file_poll_ns(SYS_poll, (uint64_t)-1), 0);
	assert_int_equal(sample_file_poll_ns(SYS_poll, 0xffffffff),
			 0); /* an int, whatever the register's upper half has */
#endif
	assert_int_equal(sample_file_poll_ns(SYS_ppoll, (uint64_t)(uintptr_t)&half), 500000000);
	assert_int_equal(sample_file_poll_ns(SYS_ppoll, (uint64_t)(uintptr_t)&ever), 0);
	assert_int_equal(sample_file_poll_ns(SYS_ppoll, 0), 0);
	assert_int_equal(sample_file_poll_ns(SYS_ppoll, 1), 0); /* gone */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(layers_decide, begin, end),
		cmocka_unit_test_setup_teardown(what_a_descriptor_is, begin, end),
		cmocka_unit_test_setup_teardown(a_server_is_not_asked, begin, end),
		cmocka_unit_test_setup_teardown(the_list_is_read_now_and_then, begin, end),
		cmocka_unit_test(a_poll_says_how_long_it_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
