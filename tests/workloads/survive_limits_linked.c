/* SPDX-License-Identifier: BSD-2-Clause */
/* survive_limits_linked CASE: programs that are short of something, or that leave the place in which they began: resource limits, another
 * root, other namespaces, system calls that are forbidden from some moment on. */
#include "survive.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void begin(void)
{
	start("kernel__2us");
	work(40);
}

/* Enough for several segments: more of everything that a recorder has to make as it goes. */
static void go_on(void)
{
	for (int i = 0; i < 3; i++) {
		work(2000);
		usleep(2000);
	}
}

static void limit(int resource, rlim_t most)
{
	struct rlimit r = { most, most };

	REQUIRE(setrlimit(resource, &r) == 0);
}

/* ---- limits: from the start, and from now on ---------------------------------------------------------------------------- */

/* Of a user who may have no thread but this one. The driver has begun; the recorder's threads have not. */
static void no_threads(void)
{
	limit(RLIMIT_NPROC, 0);
	if (geteuid() == 0)
		REQUIRE(setresuid(65533, 65533, 65533) == 0);
	begin();
	go_on();
}

/* … and later may have some. */
static void threads_later(void)
{
	struct rlimit r;

	if (geteuid() == 0)
		REQUIRE(setresuid(65533, 65533, 65533) == 0);
	REQUIRE(getrlimit(RLIMIT_NPROC, &r) == 0);
	r.rlim_cur = 0;
	REQUIRE(setrlimit(RLIMIT_NPROC, &r) == 0);
	begin();
	r.rlim_cur = r.rlim_max;
	REQUIRE(setrlimit(RLIMIT_NPROC, &r) == 0);
	usleep(1100000);
	go_on();
}

static void no_more_memory(void)
{
	unsigned long pages = 0;
	FILE *file;

	begin();
	file = fopen("/proc/self/statm", "r");
	REQUIRE(file && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	limit(RLIMIT_AS, pages * 4096 + (64 << 10));
	go_on();
}

static void no_locked_memory(void)
{
	limit(RLIMIT_MEMLOCK, 0);
	begin();
	go_on();
}

static void no_descriptors(void)
{
	begin();
	limit(RLIMIT_NOFILE, 0);
	go_on();
}

static void small_files(void)
{
	begin();
	limit(RLIMIT_FSIZE, 4096);
	go_on();
}

/* ---- elsewhere ---------------------------------------------------------------------------------------------------------- */

static void other_root(void)
{
	REQUIRE(mkdir("root", 0755) == 0 || errno == EEXIST);
	begin();
	REQUIRE(chroot("root") == 0 && chdir("/") == 0);
	go_on();
}

static void other_directory(void)
{
	begin();
	REQUIRE(chdir("/") == 0);
	go_on();
}

static void no_permissions(void)
{
	umask(0777);
	begin();
	go_on();
}

static void other_namespaces(void)
{
	begin();
	REQUIRE(unshare(CLONE_NEWNS) == 0);
	go_on();
	REQUIRE(unshare(CLONE_NEWPID) == 0); /* its children's */
	go_on();
}

/* A child's, which has some of its own. The first must be joined before the process has threads: the recorder's come later. */
static void joined_namespaces(void)
{
	static const struct {
		const char *name;
		int type;
	} rows[] = {
		{ "mnt", CLONE_NEWNS }, { "uts", CLONE_NEWUTS }, { "ipc", CLONE_NEWIPC }, { "net", CLONE_NEWNET }
	};
	int ready[2], files[4];
	char byte, path[64];
	pid_t child;

	REQUIRE(pipe(ready) == 0 && (child = fork()) >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		byte = unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET) == 0;
		_exit(write(ready[1], &byte, 1) == 1 ? pause() : 1);
	}
	REQUIRE(read(ready[0], &byte, 1) == 1 && byte);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)child, rows[i].name);
		REQUIRE((files[i] = open(path, O_RDONLY | O_CLOEXEC)) >= 0);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	REQUIRE(setns(files[0], rows[0].type) == 0);
	begin();
	for (unsigned i = 1; i < 4; i++) {
		REQUIRE(setns(files[i], rows[i].type) == 0);
		go_on();
	}
}

static void *closes_all(void *arg)
{
	REQUIRE(syscall(SYS_close_range, 3, ~0u, 0) == 0);
	return arg;
}

static void closed(void)
{
	pthread_t thread;

	begin();
	closes_all(NULL);
	go_on();
	REQUIRE(pthread_create(&thread, NULL, closes_all, NULL) == 0);
	pthread_join(thread, NULL);
	go_on();
}

/* ---- a sandbox ---------------------------------------------------------------------------------------------------------- */

/* What the program itself and the simulated driver need from then on; a recorder's own are not among them. */
static const int allowed[] = {
	SYS_futex,       SYS_exit, SYS_exit_group, SYS_write,           SYS_clock_nanosleep, SYS_nanosleep,
	SYS_sched_yield, SYS_brk,  SYS_newfstatat, SYS_restart_syscall, SYS_rt_sigreturn,
};

static void forbid(unsigned action, const int *only, size_t n)
{
	struct sock_filter filter[256];
	struct sock_fprog program = { 0, filter };
	unsigned short k = 0;

	filter[k++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < n; i++) {
		filter[k++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)only[i], 0, 1);
		filter[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	program.len = k;
	REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	REQUIRE(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

/* What is not allowed fails. */
static void sandbox(void)
{
	begin();
	forbid(SECCOMP_RET_ERRNO | EPERM, allowed, sizeof(allowed) / sizeof(*allowed));
	go_on();
}

/* What the README names as the recorder's own besides. */
static void sandbox_that_kills(void)
{
	static const int with_recorder[] = {
		SYS_futex,
		SYS_getpid,
		SYS_gettid,
		SYS_getrusage,
		SYS_clock_gettime,
		SYS_get_robust_list,
		SYS_membarrier,
		SYS_process_vm_readv, /* stacks */
		SYS_readlinkat,
		SYS_getcwd,
		SYS_rt_sigprocmask,
		SYS_sigaltstack,
		SYS_openat,
		SYS_close,
		SYS_read,
		SYS_write,
		SYS_fstat,
		SYS_newfstatat,
		SYS_fallocate,
		SYS_ftruncate,
		SYS_mmap,
		SYS_munmap,
		SYS_mprotect,
		SYS_madvise,
		SYS_clone,
		SYS_clone3,
		SYS_exit,
		SYS_set_robust_list,
		SYS_rseq,
		SYS_close_range,
		SYS_prctl,
		SYS_prlimit64,
		SYS_getpriority,
		SYS_setpriority,
		SYS_sched_getscheduler,
		SYS_sched_setscheduler,
		SYS_sched_setaffinity,
		SYS_sched_getattr,
		SYS_sched_setattr,
		SYS_set_mempolicy,
		SYS_clock_nanosleep,
		SYS_exit_group,
		SYS_nanosleep,
		SYS_sched_yield,
		SYS_rt_sigreturn,
		SYS_brk,
	};

	begin();
	forbid(SECCOMP_RET_KILL_PROCESS, with_recorder, sizeof(with_recorder) / sizeof(*with_recorder));
	go_on();
}

int main(int argc, char **argv)
{
	static const struct survive_case cases[] = {
		{ "no-threads", no_threads },
		{ "threads-later", threads_later },
		{ "no-more-memory", no_more_memory },
		{ "no-locked-memory", no_locked_memory },
		{ "no-descriptors", no_descriptors },
		{ "small-files", small_files },
		{ "other-root", other_root },
		{ "other-directory", other_directory },
		{ "no-permissions", no_permissions },
		{ "other-namespaces", other_namespaces },
		{ "joined-namespaces", joined_namespaces },
		{ "closed", closed },
		{ "sandbox", sandbox },
		{ "sandbox-that-kills", sandbox_that_kills },
	};

	return survive_main(cases, sizeof(cases) / sizeof(*cases), argc, argv);
}
