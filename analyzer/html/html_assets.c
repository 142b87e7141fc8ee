/* SPDX-License-Identifier: BSD-2-Clause */
/* html_assets.c: the page's head and tail, and the head of a diff's, as scripts/page.sh made them. PAGE_DIR: the folder they are in. */
#include "html.h"

/* By the assembler: no tool but the compiler's own, and no time for it. */
#define ASSET(name, file)                                                                                             \
	__asm__(".section .rodata\n"                                                                                  \
		"page_" #name "_begin:\n"                                                                             \
		".incbin \"" PAGE_DIR "/" file "\"\n"                                                                 \
		"page_" #name "_end:\n"                                                                               \
		".byte 0\n"                                                                                           \
		".previous\n");                                                                                       \
	extern const char page_##name##_begin[] __attribute__((visibility("hidden")));                                \
	extern const char page_##name##_end[] __attribute__((visibility("hidden")));                                  \
	struct html_asset html_##name(void)                                                                           \
	{                                                                                                             \
		return (struct html_asset){ page_##name##_begin, (size_t)(page_##name##_end - page_##name##_begin) }; \
	}

ASSET(head, "head.html")
ASSET(tail, "tail.html")
ASSET(diff_head, "diff_head.html")
