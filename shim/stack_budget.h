/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_budget.h: what stacks may cost: a share of the time of the thread that takes them (GPUSHIM_STACKS, in millionths), which it may save up to
 * some milliseconds.
 *
 * What a thread begins with comes out of one account of the process, which is filled by the same share of the process's time, and what it has or owes
 * at its end goes back there: a program with a thread for each request pays no more than one with a few. */
#pragma once

#include <stdint.h>

#define STACK_CREDIT_NS 5000000ull /* what a thread, or the account, may save up; the account begins with it */

struct thread_stacks;

/* The account, full. */
void stack_budget_begin(uint64_t ticks);

/* Half of what is there. */
void stack_budget_thread_begins(struct thread_stacks *s, uint64_t ticks, uint64_t ppm);
void stack_budget_thread_ended(struct thread_stacks *s, uint64_t ticks, uint64_t ppm);

/* What it has saved up to then. */
void stack_budget_update(struct thread_stacks *s, uint64_t ticks, uint64_t ppm);
