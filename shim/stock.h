/* SPDX-License-Identifier: BSD-2-Clause */
/* stock.h: segments made ready before they are needed. The first store into each fresh page of a file is a page fault that costs
 * as much as recording a hundred calls; a thread of ours takes these faults, and a thread whose segment is full goes on in the next
 * one without asking the kernel for anything. Where the stock is empty (nobody has the CPU for it) the thread makes its own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "segment.h"

/* A segment of the stock; it is the caller's to sign. It may lie before the caller's last one in the file. False: none. */
bool stock_take(struct segment *out);

/* The helper's: a thread's segment is nearly full. The first time, one is to be made ready: nobody need wait for it to be made when it is
 * wanted. A program of a few calls, which never comes so far, has none in its file that it does not use. */
void stock_begin(void);

/* Leaves a full segment to be unmapped, or unmaps it. */
void stock_unmap(uint8_t *base);

/* The helper's, at every look it takes: has the thread fill up the stock, best while the program is quiet, at half stock in any
 * case. The thread is started when there is something to be made. */
void stock_keep(bool quiet);

/* The thread's work: a piece of what is to be done, some 20 us. False: there is nothing. */
bool stock_work(void);

/* After fork, in the child: what the parent had in stock is the parent's. */
void stock_forget(void);
