/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_names.h: names of files, sockets and pipes by (inode, device), from what the kernel tells once in a while. */
#pragma once

#include <stdbool.h>

#include "ebpf_event.h"
#include "host_file.h"

struct ebpf_names;

struct ebpf_names *ebpf_names_new(struct host_file *f, uint32_t root); /* NULL: no memory */
void ebpf_names_free(struct ebpf_names *n);

void ebpf_names_path(struct ebpf_names *n, const struct event_path *p);
void ebpf_names_socket(struct ebpf_names *n, const struct event_socket *s);

/* Id of its name, 0 not known. */
uint32_t ebpf_names_find(struct ebpf_names *n, const struct gst_wait_for *what, uint32_t generation);
/* Is it a connection whose other end is on this machine? Then its wakes come from the sender itself, though in an interrupt's guise. */
bool ebpf_names_local(struct ebpf_names *n, const struct gst_wait_for *what, uint32_t generation);
