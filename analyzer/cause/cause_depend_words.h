/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_depend_words.h: what work stood behind, in words: of a cause's evidence and of `report --why`. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct call;
struct dependency;
struct trace;

/* The program's number for it; 0 not known. */
uint32_t depend_stream_id(const struct trace *t, uint32_t stream);

/* What a call that waits in a stream waits for: "event 0x5", "the value at 0x1000 to be 3 or more". */
void depend_wait_words(char *buf, size_t size, const struct call *wait);

/* What was waited for: the kernel's name, the call's, "a host function"; of a graph its node: "a host node". */
void depend_producer_words(char *buf, size_t size, const struct dependency *d);
