/* SPDX-License-Identifier: BSD-2-Clause */
#include "staging.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "beside.h"
#include "clock.h"
#include "file_copy.h"
#include "file_system.h"
#include "glibc.h"
#include "own_thread.h"
#include "process_info.h"
#include "run_dir.h"
#include "settings.h"

#define MOUNTS "/proc/self/mountinfo"
#define ROOM_MIN_BYTES (16ull << 20)
#define MEMORY_MAX_BYTES (256ull << 20) /* of a file system in memory: it is the program's memory */
/* In the program's first driver call, which starts the driver and takes longer than that. */
#define NOTE_WAIT_NS 20000000ull
#define NOTE_END ".elsewhere"

enum note { NOTE_NONE, NOTE_BEING_WRITTEN, NOTE_THERE, NOTE_IMPOSSIBLE };

static struct {
	bool on;
	uint32_t pid;
	char local[PATH_MAX + 128];
	uint64_t inode;
	uint64_t start_ticks;
	uint64_t begin_real_ns;
	uint32_t note; /* enum note; written by the process beside us */
	int32_t note_pid;
	char note_name[128];
} staging;

bool staging_is_wanted(void)
{
	return settings.local[0] || file_system_stalls_at(MOUNTS, settings.out);
}

/* ---- the local directory -------------------------------------------------------------------------------------------- */

/* Somebody else's directory of that name, or a link, is none. */
static int open_own(int place, const char *name)
{
	bool made = mkdirat(place, name, 0700) == 0;
	struct stat st;
	int dir;

	if (made)
		fchmodat(place, name, 0700, 0); /* whatever the umask */
	dir = openat(place, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -1;
	if (glibc_fstat(dir, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022))
		return dir;
	close(dir);
	errno = EPERM;
	return -1;
}

/* 0: no good; else how many bytes may be used there. */
static uint64_t usable(int place)
{
	struct statfs fs;
	struct stat st;
	uint64_t room, share;

	if (glibc_fstat(place, &st) != 0 || fstatfs(place, &fs) != 0 || file_system_stalls((uint64_t)fs.f_type))
		return 0;
	if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
		return 0; /* anybody may put another directory in the place of ours */
	room = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	if (room < ROOM_MIN_BYTES)
		return 0;
	if (!file_system_is_memory((uint64_t)fs.f_type))
		return room / 2;
	share = room / 4;
	return share < MEMORY_MAX_BYTES ? share : MEMORY_MAX_BYTES;
}

static int open_in(const char *place, char *path, size_t size)
{
	char name[32];
	uint64_t bytes;
	int at, dir = -1;

	if (place[0] != '/' || file_system_stalls_at(MOUNTS, place))
		return -1;
	at = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -1;
	snprintf(name, sizeof(name), "gpushim-%u", (unsigned)geteuid());
	bytes = usable(at);
	if (bytes && (size_t)snprintf(path, size, "%s/%s", place, name) < size)
		dir = open_own(at, name);
	close(at);
	if (dir >= 0 && settings.limit_bytes > bytes)
		settings.limit_bytes = bytes;
	return dir;
}

int staging_open(char *path, size_t size)
{
	const char *const places[] = { settings.local, settings.tmpdir, "/tmp", "/var/tmp", "/dev/shm" };

	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int dir;

		errno = 0;
		dir = open_in(places[i], path, size);

		if (dir >= 0 || errno == EMFILE || errno == ENFILE)
			return dir;
	}
	errno = ENODEV;
	return -1;
}

/* ---- the note in the run directory ---------------------------------------------------------------------------------- */

static bool write_note(int fd)
{
	static char text[PATH_MAX + 512];
	char host[64];
	int n;

	process_info_host(host, sizeof(host));
	/* The path is last, and ends where the file does: it may hold anything. */
	n = snprintf(text, sizeof(text),
		     "gpushim elsewhere 1\nhost %s\npid %" PRIu32 "\nbegin %" PRIu64 "\nticks %" PRIu64
		     "\ninode %" PRIu64 "\nrun %s\npath %s\n",
		     host, staging.pid, staging.begin_real_ns, staging.start_ticks, staging.inode, settings.run_id,
		     staging.local);
	return write(fd, text, (size_t)n) == n;
}

static int leave_note(void *arg)
{
	char temporary[128];
	int dir = run_dir_open(settings.out), fd;
	bool ok = false;

	(void)arg;
	snprintf(temporary, sizeof(temporary), ".%" PRIu32 "-%" PRIx64 ".tmp", staging.pid, clock_mono_ns());
	if (dir >= 0 && (fd = run_dir_create(dir, temporary)) >= 0) {
		ok = write_note(fd);
		ok = close(fd) == 0 && ok;
		ok = ok && run_dir_publish(dir, temporary, staging.pid, ".gst" NOTE_END, staging.note_name,
					   sizeof(staging.note_name));
		if (!ok)
			unlinkat(dir, temporary, 0);
	}
	__atomic_store_n(&staging.note, ok ? NOTE_THERE : NOTE_IMPOSSIBLE, __ATOMIC_RELEASE);
	return 0;
}

static void note_main(void)
{
	uint32_t unfinished = NOTE_BEING_WRITTEN;

	beside_share(leave_note, NULL, &staging.note_pid);
	/* There was no such process, or it was ended from outside: nobody is to wait for it, nor to end it by a pid that is another's. */
	__atomic_compare_exchange_n(&staging.note, &unfinished, NOTE_IMPOSSIBLE, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
}

/* False: not within that time. */
static bool note_is_settled(uint64_t deadline_ns)
{
	const struct timespec pause = { 0, 200000 };

	while (__atomic_load_n(&staging.note, __ATOMIC_ACQUIRE) == NOTE_BEING_WRITTEN) {
		if (clock_mono_ns() >= deadline_ns)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

void staging_begin(const char *path, uint64_t inode, const struct gst_file_header *header)
{
	static const struct own_thread thread = { "gpushim-note", note_main };

	snprintf(staging.local, sizeof(staging.local), "%s", path);
	staging.on = true;
	staging.pid = header->pid;
	staging.inode = inode;
	staging.begin_real_ns = header->start_real_ns;
	staging.start_ticks = header->start_ticks;
	staging.note = NOTE_BEING_WRITTEN;
	settings_log("recording in %.200s; it is moved to %.200s when the program ends", staging.local, settings.out);
	if (!own_thread_start(&thread))
		staging.note = NOTE_IMPOSSIBLE;
	/* A program that is killed, or leaves through _exit, right after this call has its note all the same if the server is well. */
	note_is_settled(clock_mono_ns() + NOTE_WAIT_NS);
}

void staging_forget(void)
{
	memset(&staging, 0, sizeof(staging));
}

/* ---- the end -------------------------------------------------------------------------------------------------------- */

/* 0, or an errno. */
static int copy_into(int dir, int from, const char *temporary)
{
	char name[128];
	int to = run_dir_create(dir, temporary), rc;

	if (to < 0)
		return errno;
	rc = file_copy(from, to);
	if (close(to) != 0 && !rc)
		rc = errno;
	if (!rc && !run_dir_publish(dir, temporary, staging.pid, ".gst", name, sizeof(name)))
		rc = errno;
	if (rc)
		unlinkat(dir, temporary, 0);
	return rc;
}

/* Named after the note, or what that would be called: whoever comes to move the trace after an attempt that was ended (gpushim run) finds
 * the rest of that as well. */
static void name_temporary(char *out, size_t size)
{
	const char *trace = strrchr(staging.local, '/') + 1;

	if (staging.note_name[0])
		snprintf(out, size, ".%s.moving", staging.note_name);
	else
		snprintf(out, size, ".%s" NOTE_END ".moving", trace);
}

/* In a process beside us. The lock tells whoever finds the note that the trace is being moved. */
static int move(void *arg)
{
	char temporary[160];
	int from = open(staging.local, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), dir, rc;

	(void)arg;
	if (from < 0 || flock(from, LOCK_EX | LOCK_NB) != 0)
		return errno;
	dir = run_dir_open(settings.out);
	if (dir < 0)
		return errno;
	name_temporary(temporary, sizeof(temporary));
	rc = copy_into(dir, from, temporary);
	if (rc)
		return rc;
	if (staging.note_name[0])
		unlinkat(dir, staging.note_name, 0);
	unlink(staging.local);
	return 0;
}

void staging_end(void)
{
	uint64_t deadline = clock_mono_ns() + STAGING_END_NS;
	int32_t pid;
	int rc;

	if (!staging.on)
		return;
	staging.on = false;
	/* A note that comes after the move would speak of a trace that is no longer there. */
	if (!note_is_settled(deadline)) {
		if (staging.note_pid > 0)
			kill(staging.note_pid, SIGKILL);
		settings_log("not moved: %.200s does not answer; the trace is %.200s", settings.out, staging.local);
		return;
	}
	pid = beside_fork(move, NULL);
	rc = pid < 0 ? errno : beside_wait(pid, deadline);
	if (rc)
		settings_log("not moved to %.200s: %s; the trace is %.200s", settings.out,
			     rc < 0 ? "it does not answer" : strerror(rc), staging.local);
}
