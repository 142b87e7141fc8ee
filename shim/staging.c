/* SPDX-License-Identifier: BSD-2-Clause */
#include "staging.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "beside.h"
#include "clock.h"
#include "elsewhere.h"
#include "file_system.h"
#include "local_dir.h"
#include "own_thread.h"
#include "settings.h"

#define MOUNTS "/proc/self/mountinfo"
/* In the program's first driver call, which starts the driver and takes longer than that. */
#define NOTE_WAIT_NS 20000000ull

enum note { NOTE_NONE, NOTE_BEING_WRITTEN, NOTE_THERE, NOTE_IMPOSSIBLE };

static struct {
	bool on;
	struct elsewhere trace; /* the note's name in it is written by the process beside us, */
	uint32_t note;          /* … enum note, too */
	int32_t note_pid;
} staging;

bool staging_is_wanted(void)
{
	return settings.local[0] || file_system_stalls_at(MOUNTS, settings.out);
}

/* ---- the local directory -------------------------------------------------------------------------------------------- */

int staging_open(char *path, size_t size)
{
	const char *const places[] = { settings.local, settings.tmpdir, "/tmp", "/var/tmp", "/dev/shm" };
	uint64_t bytes;
	int dir = local_dir_open(places, sizeof(places) / sizeof(places[0]), path, size, &bytes);

	if (dir >= 0 && settings.limit_bytes > bytes)
		settings.limit_bytes = bytes;
	return dir;
}

/* ---- the note in the run directory ---------------------------------------------------------------------------------- */

static int leave_note(void *arg)
{
	bool ok = elsewhere_leave_note(&staging.trace, settings.out);

	(void)arg;
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

	staging.trace = (struct elsewhere){ .end = ".gst",
					    .pid = header->pid,
					    .inode = inode,
					    .start_ticks = header->start_ticks,
					    .begin_real_ns = header->start_real_ns,
					    .run_id = settings.run_id };
	snprintf(staging.trace.local, sizeof(staging.trace.local), "%s", path);
	staging.on = true;
	staging.note = NOTE_BEING_WRITTEN;
	settings_log("recording in %.200s; it is moved to %.200s when the program ends", staging.trace.local,
		     settings.out);
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

/* In a process beside us. */
static int move(void *arg)
{
	char name[128];

	(void)arg;
	return elsewhere_move(&staging.trace, settings.out, name);
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
		settings_log("not moved: %.200s does not answer; the trace is %.200s", settings.out,
			     staging.trace.local);
		return;
	}
	pid = beside_fork(move, NULL);
	rc = pid < 0 ? errno : beside_wait(pid, deadline);
	if (rc)
		settings_log("not moved to %.200s: %s; the trace is %.200s", settings.out,
			     rc < 0 ? "it does not answer" : strerror(rc), staging.trace.local);
}
