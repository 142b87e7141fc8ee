/* SPDX-License-Identifier: BSD-2-Clause */
/* own_thread.h: threads of ours in the program's process. */
#pragma once

#include <stdbool.h>

/* Starts a detached thread with every signal blocked, as the program's signals are for its own threads. False: none to be had. */
bool own_thread_start(void *(*main)(void *));
