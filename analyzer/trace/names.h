/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h: GST_NAME and GST_THREAD records -> the name tables of a trace. First pass over a file: a name may stand in
 * another thread's segment than its use. */
#pragma once

#include "read/reader.h"
#include "trace.h"

struct names;

enum err_kind names_new(struct names **out, struct error *e);
void names_free(struct names *n);

/* Copies the text of a GST_NAME; false when there is no memory. */
bool names_add(struct names *n, const struct gst_name *record);

/* Fills t->hooks, nccl_hooks, kernels, entries and text, which then live without n. */
enum err_kind names_publish(struct names *n, struct trace *t, struct error *e);

/* The names by themselves, for who has no struct trace: their text, the caller's from now on (NULL: there are none), in which names_in looks. */
char *names_take(struct names *n);
const char *names_in(const struct names *n, const char *text, uint16_t space, uint32_t id);

/* Index into t->kernels of a kernel's id, 0 if its name was lost. */
uint32_t names_kernel(const struct names *n, uint32_t id);
/* Text in t->text of any space, NULL if lost. */
const char *names_of(const struct names *n, const struct trace *t, uint16_t space, uint32_t id);
const char *names_file(const struct names *n, const struct trace *t, uint32_t id);
