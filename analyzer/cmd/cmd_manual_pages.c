/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_manual_pages.c: analyzer/man/NAME.txt, taken in by the assembler as they are. MANUAL_DIR: that folder. */
#include <string.h>

#include "cmd_manual.h"

#define PAGE(name)                                           \
	__asm__(".section .rodata\n"                         \
		"manual_" #name ":\n"                        \
		".incbin \"" MANUAL_DIR "/" #name ".txt\"\n" \
		".byte 0\n"                                  \
		".previous\n");                              \
	extern const char manual_##name[] __attribute__((visibility("hidden")));

PAGE(gpushim)
PAGE(run)
PAGE(host)
PAGE(report)
PAGE(diff)
PAGE(export)
PAGE(info)
PAGE(pack)
PAGE(unpack)
PAGE(doctor)
PAGE(completion)

static const struct {
	const char *name, *text;
} pages[] = {
	{ "run", manual_run },       { "host", manual_host },
	{ "report", manual_report }, { "diff", manual_diff },
	{ "export", manual_export }, { "info", manual_info },
	{ "pack", manual_pack },     { "unpack", manual_unpack },
	{ "doctor", manual_doctor }, { "completion", manual_completion },
};

const char *manual_page(const struct command *c)
{
	for (size_t i = 0; c && i < sizeof(pages) / sizeof(pages[0]); i++)
		if (strcmp(pages[i].name, c->name) == 0)
			return pages[i].text;
	return c ? "" : manual_gpushim;
}
