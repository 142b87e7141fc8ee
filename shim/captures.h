/* SPDX-License-Identifier: BSD-2-Clause */
/* captures.h: the streams in which the program began a capture that has not ended. While there is one the gate stays shut.
 *
 * A capture belongs to the stream it began in and ends there alone, with success or an error, or goes with that stream or its
 * context. So it is looked for by its stream, not counted: an end asked for in another stream ends nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stream.h"

/* The gate is closed. */
void captures_add(const struct stream_key *stream);
bool captures_has(const struct stream_key *stream);
void captures_remove(const struct stream_key *stream);
void captures_context_gone(uint64_t context);
void captures_forget(void);
