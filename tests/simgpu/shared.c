/* SPDX-License-Identifier: BSD-2-Clause */
#include "shared_file.h"

#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	ATTACH_BYTE = 0, /* locked while somebody attaches */
	SLOT_BYTE = 1,
	FILE_AT_LEAST = 500 /* the descriptor's number: out of the way of programs that expect low ones */
};

static struct shared *shared;
static int file = -1;
static unsigned my_slot;
static uint64_t my_id;
static unsigned depth;

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "simgpu: SIMGPU_SHARED=%s: ", settings()->shared);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

/* ---- who lives ------------------------------------------------------------------------------------------- */

static bool lock_byte(int how, off_t at)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };
	int result;

	do {
		result = fcntl(file, how, &range);
	} while (result && errno == EINTR);
	return result == 0;
}

static void unlock_byte(off_t at)
{
	struct flock range = { .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };

	fcntl(file, F_SETLK, &range);
}

/* Does another process hold a lock in these slots? */
static bool others_live(unsigned slot, unsigned count)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SLOT_BYTE + slot, .l_len = count };

	return fcntl(file, F_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

/* The process started nothing that ends later, or it is dead and what it started died with it. */
static void leave_gate(struct gate *gate, unsigned slot, uint64_t id, bool died)
{
	uint64_t now_ns = clock_now_ns();

	gate->wanted_ns[slot] = 0;
	if (gate->holder != id)
		return;
	if (gate->open || (died && gate->busy_until_ns > now_ns))
		gate->busy_until_ns = now_ns > gate->begin_ns ? now_ns : gate->begin_ns;
	gate->open = 0;
}

static void leave(unsigned slot, bool died)
{
	struct process *process = &shared->processes[slot];

	for (int device = 0; device < SIM_MAX_DEVICES; device++)
		for (int kind = 0; kind < GATE_KINDS; kind++)
			leave_gate(&shared->gates[device][kind], slot, process->id, died);
	*process = (struct process){ 0 };
}

void shared_reap(void)
{
	shared_lock();
	for (unsigned slot = 0; slot < SHARED_PROCESSES; slot++)
		if (slot != my_slot && shared->processes[slot].id && !others_live(slot, 1))
			leave(slot, true);
	shared_unlock();
}

/* ---- the lock -------------------------------------------------------------------------------------------- */

/* A process killed between the two leaves each word whole; what it held is found by shared_reap. */
void shared_lock(void)
{
	int error;

	if (depth++)
		return;
	error = pthread_mutex_lock(&shared->lock);
	if (error == EOWNERDEAD)
		error = pthread_mutex_consistent(&shared->lock);
	if (error || shared->processes[my_slot].id != my_id) {
		complain("%s", error ? strerror(error)
				     : "others took this process for dead: did it close the driver's file descriptor?");
		abort(); /* going on would make the truth a lie */
	}
}

void shared_unlock(void)
{
	if (--depth == 0)
		pthread_mutex_unlock(&shared->lock);
}

static void lock_init(void)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	memset(&shared->lock, 0, sizeof(shared->lock));
	pthread_mutex_init(&shared->lock, &attributes);
}

/* ---- attaching ------------------------------------------------------------------------------------------- */

static bool open_file(void)
{
	int low = open(settings()->shared, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (low < 0)
		return false;
	file = fcntl(low, F_DUPFD_CLOEXEC, FILE_AT_LEAST);
	if (file < 0)
		file = fcntl(low, F_DUPFD_CLOEXEC, 0); /* fewer are allowed */
	close(low);
	return file >= 0;
}

static void read_boot(char boot[40])
{
	int from = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = from < 0 ? 0 : read(from, boot, 39);

	memset(boot + (n > 0 ? n : 0), 0, 40 - (size_t)(n > 0 ? n : 0));
	if (from >= 0)
		close(from);
}

/* Makes the file what this version expects; a file that is something else is never touched. */
static bool prepare_file(void)
{
	struct shared found = { .magic = "" };
	struct stat status;
	ssize_t n = pread(file, &found, sizeof(found), 0);

	if (n < 0 || fstat(file, &status))
		return complain("%s", strerror(errno)), false;
	if (status.st_size && (n < 16 || memcmp(found.magic, SHARED_MAGIC, sizeof(shared->magic))))
		return complain("is not a file of simulated devices"), false;
	if (status.st_size == sizeof(found) && found.version == SHARED_VERSION && found.bytes == sizeof(found))
		return true;
	if (others_live(0, SHARED_PROCESSES))
		return complain("is in use by another version"), false;
	if (ftruncate(file, 0) || ftruncate(file, sizeof(found)))
		return complain("%s", strerror(errno)), false;
	return true;
}

static bool map_file(void)
{
	void *memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	char boot[40];

	if (memory == MAP_FAILED)
		return complain("%s", strerror(errno)), false;
	shared = memory;
	if (others_live(0, SHARED_PROCESSES))
		return true;
	read_boot(boot);
	if (memcmp(shared->magic, SHARED_MAGIC, sizeof(shared->magic)) || memcmp(shared->boot, boot, sizeof(boot))) {
		memset(shared, 0, sizeof(*shared));
		memcpy(shared->boot, boot, sizeof(boot));
		shared->version = SHARED_VERSION;
		shared->bytes = sizeof(*shared);
		memcpy(shared->magic, SHARED_MAGIC, sizeof(shared->magic));
	}
	lock_init();
	return true;
}

static bool take_slot(void)
{
	for (unsigned slot = 0; slot < SHARED_PROCESSES; slot++) {
		if (!lock_byte(F_SETLK, SLOT_BYTE + slot))
			continue;
		if (pthread_mutex_lock(&shared->lock) == EOWNERDEAD)
			pthread_mutex_consistent(&shared->lock);
		if (shared->processes[slot].id)
			leave(slot, true);
		my_slot = slot;
		my_id = shared->processes[slot].id = ++shared->last_id;
		pthread_mutex_unlock(&shared->lock);
		return true;
	}
	complain("%d processes share it already", SHARED_PROCESSES);
	return false;
}

CUresult shared_attach(void)
{
	bool attached;

	if (!settings()->shared || my_id)
		return CUDA_SUCCESS;
	if (!open_file() || !lock_byte(F_SETLKW, ATTACH_BYTE)) {
		complain("%s", strerror(errno));
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	attached = prepare_file() && map_file() && take_slot();
	unlock_byte(ATTACH_BYTE);
	return attached ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

/* After the truth log's destructor, which has none of these numbers. What has its place in time keeps it: it is in the log. */
__attribute__((destructor(101))) static void shared_detach(void)
{
	if (!my_id || sim_forked() || !sim_lock_for(NSEC_PER_SEC))
		return;
	shared_lock();
	leave(my_slot, false);
	my_id = 0;
	shared_unlock();
	sim_unlock();
	unlock_byte(SLOT_BYTE + my_slot);
}

/* ---- what is in it --------------------------------------------------------------------------------------- */

bool shared_on(void)
{
	return my_id != 0;
}

uint64_t shared_id(void)
{
	return my_id;
}

unsigned shared_slot(void)
{
	return my_slot;
}

struct gate *shared_gate(int device, enum gate_kind kind)
{
	return &shared->gates[device][kind];
}

static uint64_t sum_used(int device)
{
	uint64_t sum = 0;

	for (unsigned slot = 0; slot < SHARED_PROCESSES; slot++)
		sum += shared->processes[slot].used_bytes[device];
	return sum;
}

uint64_t shared_memory_used(int device)
{
	uint64_t used;

	shared_lock();
	shared_reap();
	used = sum_used(device);
	shared_unlock();
	return used;
}

bool shared_memory_take(int device, uint64_t bytes, uint64_t all)
{
	uint64_t used = shared_memory_used(device);
	bool fits;

	shared_lock();
	used = sum_used(device);
	fits = used <= all && bytes <= all - used;
	if (fits)
		shared->processes[my_slot].used_bytes[device] += bytes;
	shared_unlock();
	return fits;
}

void shared_memory_give(int device, uint64_t bytes)
{
	shared_lock();
	shared->processes[my_slot].used_bytes[device] -= bytes;
	shared_unlock();
}
