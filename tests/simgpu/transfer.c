/* SPDX-License-Identifier: BSD-2-Clause */
/* transfer.c: moving the bytes. */
#include "op.h"

#include <string.h>

/* A word is written as one, as a device does: the host may be looking at it (cuStreamWriteValue32). */
static bool move_word(char *to, const char *from, size_t bytes)
{
	uint64_t wide;
	uint32_t narrow;

	if ((bytes != sizeof(wide) && bytes != sizeof(narrow)) || (uintptr_t)to % bytes)
		return false;
	if (bytes == sizeof(wide)) {
		memcpy(&wide, from, sizeof(wide));
		__atomic_store_n((uint64_t *)(void *)to, wide, __ATOMIC_RELEASE);
	} else {
		memcpy(&narrow, from, sizeof(narrow));
		__atomic_store_n((uint32_t *)(void *)to, narrow, __ATOMIC_RELEASE);
	}
	return true;
}

static void move_row(const struct transfer *transfer, char *to, const char *from, size_t bytes)
{
	if (from) {
		if (!move_word(to, from, bytes))
			memmove(to, from, bytes);
	} else if (transfer->pattern_bytes == 1) {
		memset(to, (int)transfer->pattern, bytes);
	} else if (transfer->pattern_bytes == 2) {
		uint16_t *at = (uint16_t *)(void *)to;

		for (size_t i = 0; i < bytes / 2; i++)
			at[i] = (uint16_t)transfer->pattern;
	} else {
		uint32_t *at = (uint32_t *)(void *)to;

		for (size_t i = 0; i < bytes / 4; i++)
			at[i] = transfer->pattern;
	}
}

void transfer_move(const struct transfer *transfer)
{
	char *to = transfer->to;
	const char *from = transfer->from;
	size_t width;

	if (!transfer->bytes)
		return;
	if (!transfer->rows) {
		move_row(transfer, to, from, transfer->bytes);
		return;
	}
	width = transfer->bytes / (transfer->rows * transfer->slices);
	for (size_t slice = 0; slice < transfer->slices; slice++)
		for (size_t row = 0; row < transfer->rows; row++)
			move_row(transfer, to + slice * transfer->to_slice + row * transfer->to_pitch,
				 from ? from + slice * transfer->from_slice + row * transfer->from_pitch : NULL, width);
}
