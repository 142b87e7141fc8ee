/* SPDX-License-Identifier: BSD-2-Clause */
/* cupti_hooks.h: the program's own calls of CUPTI. Linked programs find ours of these names first; of who asks dlsym we learn there. */
#pragma once

/* Ours of this name; NULL: it is none of those. */
const void *cupti_own(const char *name);

/* For who asked dlsym for that name and would have found this: at level `cupti` ours that calls it. Not before that is called does CUPTI
 * become the program's. */
void *cupti_bind(const char *name, void *found);
