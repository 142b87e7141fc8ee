/* SPDX-License-Identifier: BSD-2-Clause */
#include "clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "once.h"

enum gst_clock clock_kind = GST_CLOCK_MONOTONIC;
static double ticks_per_ns = 1.0;

void clock_choose(void)
{
	char name[32] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);
	struct clock_anchor a, b;

	if (fd >= 0)
		close(fd);
	if (n <= 0 || strncmp(name, ARCH_TICK_CLOCKSOURCE "\n", (size_t)n) != 0)
		return;
	clock_kind = ARCH_TICK_CLOCK;
	a = clock_anchor_now();
	do
		b = clock_anchor_now();
	while (b.mono_ns - a.mono_ns < 20000);
	ticks_per_ns = (double)(b.ticks - a.ticks) / (double)(b.mono_ns - a.mono_ns);
}

static struct once choosing;

void clock_choose_once(void)
{
	if (!once_begin(&choosing))
		return;
	clock_choose();
	once_end(&choosing, true);
}

bool clock_is_chosen(void)
{
	return once_is_done(&choosing);
}

struct clock_anchor clock_anchor_now(void)
{
	struct clock_anchor best = { .width_ticks = UINT32_MAX };

	for (int i = 0; i < 8; i++) {
		uint64_t before = clock_ticks(), mono_ns = clock_mono_ns(), width = clock_ticks() - before;

		if (width < best.width_ticks)
			best = (struct clock_anchor){ before + width / 2, mono_ns, (uint32_t)width };
	}
	return best;
}

uint64_t clock_ticks_in(uint64_t ns)
{
	return (uint64_t)((double)ns * ticks_per_ns);
}

uint64_t clock_grain(uint64_t ns)
{
	uint64_t ticks = clock_ticks_in(ns);

	return ticks ? 1ull << (63 - __builtin_clzll(ticks)) : 1;
}
