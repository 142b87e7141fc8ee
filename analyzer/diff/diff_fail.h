/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_fail.h: --fail-on: "idle>+2%, input-storage>+5ms": a row, and how much more of it is too much. */
#pragma once

#include "diff.h"

struct diff_rule {
	const char *text; /* in the diff's arena, without blanks around it */
	size_t row;
	bool percent;
	double amount; /* percent of base's typical step, or ns */
};

/* Rules of one option, commas between them. ERR_USAGE: it says what a rule is. The list is the caller's, also after a failure. */
enum err_kind diff_rules_parse(struct diff_rule **rules, size_t *n, size_t *cap, struct arena *texts, const char *option, struct error *e);

/* Are all of these rules? ERR_USAGE as above: before anything is read. */
enum err_kind diff_rules_check(const char *const *fail_on, size_t n, struct error *e);

/* Has the row got worse, for sure, and by more than that? */
bool diff_rule_fires(const struct diff_rule *rule, const struct diff_device *compared);
