/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_emulated.h: process_vm_readv for where it is not (qemu-user): a pipe takes what can be read and refuses the rest; and refused, where a test wants
 * that. The programs that include this are linked with --wrap=syscall. One thread at a time. */
#pragma once

#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int refuse_reads;     /* the errno with which it is refused, 0 not */
static unsigned asked_reads; /* how often it was asked */

long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, ...);

static void (*behind_read)(void); /* what happens behind each, or NULL */

static inline ssize_t through_a_pipe(const struct iovec *here, const struct iovec *there, unsigned long n)
{
	static int ends[2] = { -1, -1 };
	ssize_t done = 0;

	if (ends[0] < 0 && pipe(ends) != 0)
		return -1;
	for (unsigned long i = 0; i < n; i++) {
		ssize_t some = write(ends[1], there[i].iov_base, there[i].iov_len);

		if (some > 0 && read(ends[0], (char *)here->iov_base + done, (size_t)some) == some)
			done += some;
		if (some != (ssize_t)there[i].iov_len)
			break;
	}
	return done ? done : -1;
}

/* It takes six arguments, however few there are: what else is there is passed on unused. */
__attribute__((no_sanitize("address", "undefined"))) long __wrap_syscall(long nr, ...)
{
	long a[6], rc;
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (nr == SYS_process_vm_readv)
		__atomic_fetch_add(&asked_reads, 1, __ATOMIC_RELAXED);
	if (nr == SYS_process_vm_readv && refuse_reads) {
		errno = refuse_reads;
		return -1;
	}
	rc = __real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (nr == SYS_process_vm_readv && rc < 0 && errno == ENOSYS)
		rc = through_a_pipe((const struct iovec *)a[1], (const struct iovec *)a[3], (unsigned long)a[4]);
	if (nr == SYS_process_vm_readv && behind_read)
		behind_read();
	return rc;
}
