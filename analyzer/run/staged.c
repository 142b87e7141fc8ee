/* SPDX-License-Identifier: BSD-2-Clause */
#include "staged.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTE_BYTES (PATH_MAX + 512)

static ssize_t read_note(const char *note, char text[NOTE_BYTES], uid_t *owner)
{
	int fd = open(note, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < NOTE_BYTES)
		n = read(fd, text, NOTE_BYTES - 1);
	close(fd);
	if (n <= 0 || text[n - 1] != '\n' || memchr(text, 0, (size_t)n))
		return -1;
	text[n - 1] = 0;
	*owner = st.st_uid;
	return n;
}

bool staged_read(const char *note, struct staged *out)
{
	char text[NOTE_BYTES], *run, *path;
	int at = 0;

	*out = (struct staged){ 0 };
	if (read_note(note, text, &out->owner) < 0 ||
	    sscanf(text,
		   "gpushim elsewhere 1\nhost %63s\npid %" SCNu32 "\nbegin %" SCNd64 "\nticks %" SCNu64
		   "\ninode %" SCNu64 "\n%n",
		   out->host, &out->pid, &out->begin_real_ns, &out->start_ticks, &out->inode, &at) != 5 ||
	    !at)
		return false;
	run = text + at;
	path = strstr(run, "\npath ");
	if (strncmp(run, "run ", 4) != 0 || !path)
		return false;
	*path = 0;
	path += strlen("\npath ");
	snprintf(out->run_id, sizeof(out->run_id), "%s", run + 4);
	snprintf(out->path, sizeof(out->path), "%s", path);
	return path[0] == '/';
}

int staged_open(const struct staged *s, struct gst_file_header *h)
{
	int fd = open(s->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	/* A server may give the note another owner (root_squash); the trace is on a disk of this machine. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_uid == s->owner || st.st_uid == geteuid()) &&
	    pread(fd, h, sizeof(*h), 0) == sizeof(*h) && memcmp(h->magic, GST_MAGIC, sizeof(h->magic)) == 0 &&
	    h->pid == s->pid && h->start_real_ns == (uint64_t)s->begin_real_ns && h->start_ticks == s->start_ticks)
		return fd;
	close(fd);
	return -1;
}

bool staged_is_ours(const struct staged *s)
{
	char name[sizeof(s->host)] = "";

	gethostname(name, sizeof(name) - 1);
	return strcmp(name, s->host) == 0;
}
