/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* A system call as such: sanitizers check what libc's function is given. */
static ssize_t ask(const struct iovec *here, unsigned n_here, const struct iovec *there, unsigned n_there)
{
	return syscall(SYS_process_vm_readv, getpid(), here, (unsigned long)n_here, there, (unsigned long)n_there, 0ul);
}

bool stack_memory_works(void)
{
	static const uint32_t known = 0x600df00d;
	uint32_t read = 0;
	int saved_errno = errno;
	bool works = stack_read(&read, (uint64_t)(uintptr_t)&known, sizeof(read)) && read == known;

	errno = saved_errno;
	return works;
}

bool stack_read(void *to, uint64_t from, size_t bytes)
{
	struct iovec here = { to, bytes }, there = { (void *)(uintptr_t)from, bytes };

	return ask(&here, 1, &there, 1) == (ssize_t)bytes;
}

unsigned stack_read_each(void *to, const uint64_t *from, unsigned n, size_t bytes)
{
	struct iovec there[STACK_PIECES];
	unsigned done = 0;

	while (done < n) {
		unsigned now = n - done < STACK_PIECES ? n - done : STACK_PIECES;
		struct iovec here = { (uint8_t *)to + done * bytes, now * bytes };
		ssize_t got;

		for (unsigned i = 0; i < now; i++)
			there[i] = (struct iovec){ (void *)(uintptr_t)from[done + i], bytes };
		got = ask(&here, 1, there, now);
		if (got < (ssize_t)(now * bytes))
			return done + (got > 0 ? (unsigned)((size_t)got / bytes) : 0);
		done += now;
	}
	return done;
}

bool stack_read_pieces(void *to, const struct stack_piece *pieces, unsigned n)
{
	struct iovec there[STACK_PIECES], here = { to, 0 };

	for (unsigned i = 0; i < n; i++) {
		there[i] = (struct iovec){ (void *)(uintptr_t)pieces[i].at, pieces[i].bytes };
		here.iov_len += pieces[i].bytes;
	}
	return ask(&here, 1, there, n) == (ssize_t)here.iov_len;
}

bool stack_read_text(char *to, uint64_t from, size_t room)
{
	size_t n = 0;

	while (n < room - 1) {
		size_t some = STACK_PAGE - from % STACK_PAGE; /* it may end where its page does */

		some = some < room - 1 - n ? some : room - 1 - n;
		if (!stack_read(to + n, from, some))
			return false;
		if (memchr(to + n, 0, some))
			return true;
		n += some;
		from += some;
	}
	to[n] = 0;
	return true;
}

/* A page is there or not as a whole; those behind it are welcome. */
static void fill(struct stack_window *w, uint64_t from)
{
	struct iovec here = { w->data, (size_t)w->pages * STACK_PAGE }, there[STACK_WINDOW_PAGES];
	ssize_t got;

	w->at = from & ~(uint64_t)(STACK_PAGE - 1);
	for (unsigned i = 0; i < w->pages; i++)
		there[i] = (struct iovec){ (void *)(uintptr_t)(w->at + (uint64_t)i * STACK_PAGE), STACK_PAGE };
	got = ask(&here, 1, there, w->pages);
	w->bytes = got > 0 ? (uint32_t)got : 0;
}

static bool has(const struct stack_window *w, uint64_t from, size_t bytes)
{
	return from >= w->at && from - w->at <= w->bytes && bytes <= w->bytes - (from - w->at);
}

bool stack_window_read(struct stack_window *w, void *to, uint64_t from, size_t bytes)
{
	if (!has(w, from, bytes)) {
		if (bytes > STACK_PAGE || from + bytes < from)
			return false;
		fill(w, from);
		if (!has(w, from, bytes))
			return w->pages > 1 ? false : stack_read(to, from, bytes); /* it lies across two pages */
	}
	memcpy(to, w->data + (from - w->at), bytes);
	return true;
}
