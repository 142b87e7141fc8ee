/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_path.h: names of files and sockets, told once in a while, before the first event that speaks of them. In the kernel. */
#pragma once

#include "ebpf_task.h"

#define TELL_AGAIN_NS 10000000000ull /* a file may be renamed, its number be another's by then */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct event_key);
	__type(value, uint64_t);
} named SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct event_path_room { struct event_path path; char more[256]; });
} rooms SEC(".maps");

/* Is it time to tell this file's name? Then it counts as told. */
static __always_inline bool path_due(struct tracked *t, const struct event_key *key, uint64_t now)
{
	uint64_t *until, next = now + TELL_AGAIN_NS;

	if (t->named.inode == key->inode && t->named.dev == key->dev && t->named.generation == key->generation && now < t->named_until)
		return 0;
	until = bpf_map_lookup_elem(&named, key);
	t->named = *key;
	t->named_until = until && now < *until ? *until : next;
	if (until && now < *until)
		return 0;
	bpf_map_update_elem(&named, key, &next, BPF_ANY);
	return 1;
}

static __always_inline void path_write(struct dentry *dentry, const struct event_key *key, const struct gst_wait_for *w, uint32_t pid, int32_t fd)
{
	struct event_path_room *room;
	struct event_path *p;
	uint32_t zero = 0, at = 0;

	room = bpf_map_lookup_elem(&rooms, &zero);
	if (!room)
		return;
	p = &room->path;
	p->kind = EVENT_PATH;
	p->key = *key;
	p->fs = w->fs;
	p->pid = pid;
	p->fd = fd;
	p->fd_kind = w->fd_kind;
	p->whole = 0;
	p->zero = 0;
	for (int i = 0; i < EVENT_DEPTH && dentry; i++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
		long n;

		if (parent == dentry) {
			p->whole = 1;
			break;
		}
		if (at >= EVENT_TEXT - 256)
			break;
		n = bpf_probe_read_kernel_str(p->text + (at & (EVENT_TEXT - 1)), 256, BPF_CORE_READ(dentry, d_name.name));
		if (n <= 0)
			break;
		at += n & 511;
		dentry = parent;
	}
	p->length = at;
	event_output(p, offsetof(struct event_path, text) + (at & (EVENT_TEXT - 1)));
}

static __always_inline void socket_write(struct file *file, const struct event_key *key)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sock = BPF_CORE_READ(socket, sk);
	struct event_socket *e;

	if (!sock || !(e = event_reserve(sizeof(*e))))
		return;
	__builtin_memset(e, 0, sizeof(*e));
	e->kind = EVENT_SOCKET;
	e->key = *key;
	e->type = BPF_CORE_READ(socket, type);
	e->family = BPF_CORE_READ(sock, __sk_common.skc_family);
	if (e->family == 1) { /* AF_UNIX */
		struct sock *peer = BPF_CORE_READ((struct unix_sock *)sock, peer);

		e->peer = BPF_CORE_READ(peer, sk_socket, file, f_inode, i_ino);
	} else if (e->family == 2) {
		bpf_probe_read_kernel(e->from, 4, &sock->__sk_common.skc_rcv_saddr);
		bpf_probe_read_kernel(e->to, 4, &sock->__sk_common.skc_daddr);
	} else if (e->family == 10) {
		bpf_probe_read_kernel(e->from, 16, &sock->__sk_common.skc_v6_rcv_saddr);
		bpf_probe_read_kernel(e->to, 16, &sock->__sk_common.skc_v6_daddr);
	}
	e->from_port = BPF_CORE_READ(sock, __sk_common.skc_num);
	e->to_port = bpf_ntohs(BPF_CORE_READ(sock, __sk_common.skc_dport));
	event_submit(e);
}

static __always_inline void path_tell_file(struct tracked *t, struct file *file, const struct gst_wait_for *w, uint32_t generation, int32_t fd)
{
	struct event_key key = { w->inode, w->dev, generation };

	if ((w->fd_kind != GST_FD_FILE && w->fd_kind != GST_FD_SOCKET) || !path_due(t, &key, t->in))
		return;
	if (w->fd_kind == GST_FD_SOCKET)
		socket_write(file, &key);
	else
		path_write(BPF_CORE_READ(file, f_path.dentry), &key, w, t->tid, fd);
}

/* By the first of the file's names: which of them it was opened by is not known. */
static __always_inline void path_tell_inode(struct tracked *t, struct inode *inode, const struct gst_wait_for *w, uint32_t generation)
{
	struct event_key key = { w->inode, w->dev, generation };
	char *first;

	if (!path_due(t, &key, t->in))
		return;
	first = (char *)BPF_CORE_READ(inode, i_dentry.first);
	if (first)
		path_write((struct dentry *)(first - bpf_core_field_offset(struct dentry, d_u.d_alias)), &key, w, t->tid, -1);
}
