/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_run_adopt.h: traces of a run that its processes did not move to the run directory themselves: killed, gone through _exit or exec,
 * or out of time. */
#pragma once

/* Moves those of this run whose processes have ended. What cannot be moved stays where it is, and is said. */
void adopt_traces(const char *dir, const char *run_id);
