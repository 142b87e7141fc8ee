/* SPDX-License-Identifier: BSD-2-Clause */
/* For unit programs whose threads make segments: threads with tables of descriptors of their own (shim/apart.h) have files of one number
 * open at the same time, which ThreadSanitizer takes for one file. */
#pragma once

#if defined(__SANITIZE_THREAD__)
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:map_apart\n";
}
#endif
