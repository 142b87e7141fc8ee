/* SPDX-License-Identifier: BSD-2-Clause */
/* reader_sound.h: for unit programs, behind cmocka.h: a file that must be sound; where it is not, the failure says what is damaged. */
#pragma once

#include "read/reader.h"

static inline void assert_sound(const struct reader *r)
{
	const struct damage *d = reader_damage(r);

	if (d)
		fail_msg("%s: byte %llu: %s; sound up to %llu", d->error.file, (unsigned long long)d->error.byte, d->error.text,
			 (unsigned long long)d->cut_ticks);
}
