/* SPDX-License-Identifier: BSD-2-Clause */
#include "ebpf_names.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "proc_mount_paths.h"
#include "../proc_text.h"

#define SLOTS 32768 /* a power of two, well above what the kernel's own table holds */
#define LOOKS 8

struct name {
	struct event_key key;
	char *text; /* NULL: free */
	bool local;
};

struct ebpf_names {
	struct host_file *file;
	struct mount_paths mounts;
	struct name at[SLOTS];
};

struct ebpf_names *ebpf_names_new(struct host_file *f, uint32_t root)
{
	struct ebpf_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->file = f;
	mount_paths_open(&n->mounts, root);
	return n;
}

void ebpf_names_free(struct ebpf_names *n)
{
	if (!n)
		return;
	mount_paths_close(&n->mounts);
	for (unsigned i = 0; i < SLOTS; i++)
		free(n->at[i].text);
	free(n);
}

/* Where this key stands, or is to stand: one that has no place among a few takes the first one's. */
static struct name *find(struct ebpf_names *n, const struct event_key *key, bool make)
{
	uint64_t hash = (key->inode * 0x9e3779b97f4a7c15ull) ^ key->dev * 0x85ebca6bull ^ key->generation;
	struct name *first = &n->at[hash >> 20 & (SLOTS - 1)], *s = first;

	for (unsigned i = 0; i < LOOKS; i++, s = s + 1 == n->at + SLOTS ? n->at : s + 1) {
		if (s->text && memcmp(&s->key, key, sizeof(*key)) == 0)
			return s;
		if (!s->text)
			return make ? s : NULL;
	}
	return make ? first : NULL;
}

static struct name *put(struct ebpf_names *n, const struct event_key *key, const char *text)
{
	struct name *s = find(n, key, true);
	char *copy;

	if (s->text && memcmp(&s->key, key, sizeof(*key)) == 0 && strcmp(s->text, text) == 0)
		return s;
	copy = strdup(text);
	if (!copy)
		return NULL;
	free(s->text);
	*s = (struct name){ .key = *key, .text = copy };
	return s;
}

/* name\0folder\0…\0 → /…/folder/name, from the first folder that is known. False: it does not fit. */
static bool join(char out[PATH_MAX], const struct event_path *p)
{
	char *at = out + PATH_MAX - 1;
	const char *part = p->text, *end = p->text + p->length;

	*at = 0;
	for (size_t length; part < end; part += length + 1) {
		length = strnlen(part, (size_t)(end - part));
		if ((size_t)(at - out) < length + 5)
			return false;
		at -= length;
		memcpy(at, part, length);
		*--at = '/';
	}
	if (!*at)
		*--at = '/';
	memmove(out, at, strlen(at) + 1);
	return true;
}

/* The kernel says where in the file system it is; the list of mounts, where that is for the program. Of several mounts the descriptor in
 * /proc knows by which one it was opened; but it may be another file's by now, so it must say the same. */
void ebpf_names_path(struct ebpf_names *n, const struct event_path *p)
{
	char inside[PATH_MAX], path[PATH_MAX], link[PATH_MAX];

	if (p->length > EVENT_TEXT || !join(inside, p))
		return;
	if (p->fd >= 0 && proc_text_link(link, sizeof(link), "/proc/%u/fd/%d", p->pid, p->fd) && link[0] == '/' &&
	    mount_paths_agree(&n->mounts, p->pid, p->key.dev, inside, p->whole, link)) {
		put(n, &p->key, link);
	} else if (!p->whole) { /* it lies deeper than the kernel was asked to look */
		snprintf(path, sizeof(path), "/...%.*s", PATH_MAX - 5, inside);
		put(n, &p->key, path);
	} else {
		put(n, &p->key, mount_paths_find(&n->mounts, path, p->pid, p->key.dev, inside) ? path : inside);
	}
}

static bool is_local(const struct event_socket *s, size_t bytes)
{
	static const uint8_t loop6[16] = { [15] = 1 };

	return memcmp(s->from, s->to, bytes) == 0 || (bytes == 4 && s->to[0] == 127) ||
	       (bytes == 16 && memcmp(s->to, loop6, 16) == 0);
}

void ebpf_names_socket(struct ebpf_names *n, const struct event_socket *s)
{
	char address[INET6_ADDRSTRLEN], text[128];
	const char *kind = s->type == SOCK_STREAM ? "tcp" : "udp";
	bool local = s->family == AF_UNIX || is_local(s, s->family == AF_INET6 ? 16 : 4);
	struct name *put_here;

	if (s->family == AF_UNIX && s->peer)
		snprintf(text, sizeof(text), "unix:[%llu]:[%llu]", (unsigned long long)s->key.inode,
			 (unsigned long long)s->peer);
	else if (s->family == AF_UNIX)
		snprintf(text, sizeof(text), "unix:[%llu]", (unsigned long long)s->key.inode);
	else if ((s->family == AF_INET || s->family == AF_INET6) &&
		 inet_ntop(s->family, s->to, address, sizeof(address)))
		snprintf(text, sizeof(text), s->family == AF_INET ? "%s:%s:%u" : "%s:[%s]:%u", kind, address,
			 s->to_port);
	else
		snprintf(text, sizeof(text), "socket:[%llu]", (unsigned long long)s->key.inode);
	put_here = put(n, &s->key, text);
	if (put_here)
		put_here->local = local;
}

static struct event_key key_of(const struct gst_wait_for *what, uint32_t generation)
{
	return (struct event_key){ .inode = what->inode, .dev = what->dev, .generation = generation };
}

uint32_t ebpf_names_find(struct ebpf_names *n, const struct gst_wait_for *what, uint32_t generation)
{
	struct event_key key = key_of(what, generation);
	struct name *s = what->inode ? find(n, &key, false) : NULL;
	char text[40];

	if (!s && what->inode && what->fd_kind == GST_FD_PIPE) {
		snprintf(text, sizeof(text), "pipe:[%llu]", (unsigned long long)what->inode);
		s = put(n, &key, text);
	}
	return s ? host_file_name(n->file, s->text) : 0;
}

bool ebpf_names_local(struct ebpf_names *n, const struct gst_wait_for *what, uint32_t generation)
{
	struct event_key key = key_of(what, generation);
	struct name *s = what->fd_kind == GST_FD_SOCKET ? find(n, &key, false) : NULL;

	return s && s->local;
}
