/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel.h: what the programs read of the kernel's structures, by name: the loader finds where each field is on the kernel it runs on (CO-RE).
 * Only names and kinds count here; order, sizes and all other fields do not. A field that not every kernel has is asked for with
 * bpf_core_field_exists before it is read. */
#pragma once

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct hlist_node { struct hlist_node *next; };
struct hlist_head { struct hlist_node *first; };

struct ns_common { unsigned inum; };
struct pid_namespace { struct ns_common ns; };
struct upid { int nr; struct pid_namespace *ns; };
struct pid { unsigned level; struct upid numbers[1]; };

typedef struct { unsigned val; } kuid_t;
typedef struct { unsigned val; } kgid_t;
struct user_namespace { struct user_namespace *parent; kuid_t owner; };
struct kernel_cap { unsigned long long val; }; /* two halves before 6.3; of no name */
struct cred {
	kuid_t uid, euid, suid, fsuid;
	kgid_t gid, egid, sgid, fsgid;
	struct kernel_cap cap_permitted;
	struct user_namespace *user_ns;
};

/* ---- files ---- */
struct qstr { unsigned len; const unsigned char *name; };
struct super_block { unsigned s_dev; unsigned long s_magic; };
struct inode {
	unsigned short i_mode;
	unsigned i_generation;
	unsigned long i_ino;
	struct super_block *i_sb;
	struct hlist_head i_dentry;
};
struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	union { struct hlist_node d_alias; } d_u;
};
struct path { struct dentry *dentry; };
struct file {
	struct path f_path;
	struct inode *f_inode;
	long long f_pos;
	void *private_data;
};
struct fdtable { unsigned max_fds; struct file **fd; };
struct files_struct { struct fdtable *fdt; };

/* ---- sockets ---- */
struct in6_addr { unsigned char bytes[16]; };
struct sock_common {
	unsigned skc_daddr, skc_rcv_saddr;
	unsigned short skc_dport, skc_num, skc_family;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};
struct socket { short type; struct sock *sk; struct file *file; };
struct sock { struct sock_common __sk_common; struct socket *sk_socket; };
struct unix_sock { struct sock *peer; };

/* ---- memory ---- */
struct mm_flags { unsigned long __mm_flags[1]; };
struct mm_struct { struct mm_flags flags; };
struct mm_struct___word { unsigned long flags; }; /* before 6.18 */
struct address_space { struct inode *host; };
struct page { struct address_space *mapping; unsigned long compound_head; };
struct page___index { unsigned long index; }; /* before 6.16 */
struct folio { struct address_space *mapping; unsigned long index; };

/* ---- block requests ---- */
struct bio_vec { struct page *bv_page; unsigned bv_len; };
struct bvec_iter { unsigned bi_idx; };
struct bio { struct bio_vec *bi_io_vec; struct bvec_iter bi_iter; };
struct gendisk { int major, first_minor; };
struct block_device { struct gendisk *bd_disk; unsigned bd_dev; };
struct request_queue { struct gendisk *disk; };
struct request {
	struct request_queue *q;
	unsigned cmd_flags;
	unsigned __data_len;
	unsigned long long __sector;
	struct bio *bio;
	struct block_device *part;
};

/* ---- tasks ---- */
struct rq { unsigned nr_running; };
struct cfs_rq { struct rq *rq; int throttle_count; unsigned long long throttled_clock_self_time; };
struct sched_entity { struct cfs_rq *cfs_rq; unsigned long long sum_exec_runtime; };
/* Not on x86. Elsewhere an int, or (aarch64) 64 bits of which these are the lower: the loader widens a load for no signed type. */
struct thread_info { unsigned preempt_count; };

struct task_io_accounting { unsigned long long write_bytes; }; /* pages made dirty */

struct task_struct {
	struct thread_info thread_info;
	unsigned __state;
	unsigned flags;
	int on_cpu;
	unsigned in_iowait : 1;
	unsigned sched_contributes_to_load : 1; /* it slept uninterruptibly, the last time */
	unsigned long nvcsw;
	struct bpf_local_storage *bpf_storage;
	int pid, tgid;
	struct task_struct *real_parent, *group_leader;
	struct pid *thread_pid;
	unsigned long long start_time;
	const struct cred *real_cred; /* its own: the other one is at times another's, for whom it works */
	struct files_struct *files;
	struct mm_struct *mm;
	struct sched_entity se;
	struct task_io_accounting ioac;
	char comm[16];
};
struct task_struct___throttled { char throttled; }; /* from 6.18 on, a task by itself; before that its whole queue */

/* As the processor saved them on entry to the kernel. */
struct pt_regs___on_x86 { unsigned long di, si, dx, r10, r8, orig_ax, ip; };
struct pt_regs___on_arm64 { unsigned long long regs[31], pc; int syscallno; unsigned long long orig_x0; };
struct pt_regs;

struct bpf_local_storage;
struct seq_file;
struct linux_binprm;
struct bpf_iter_meta { struct seq_file *seq; };
struct bpf_iter__task { struct bpf_iter_meta *meta; struct task_struct *task; };
struct bpf_perf_event_data;

#pragma clang attribute pop
