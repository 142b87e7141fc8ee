/* SPDX-License-Identifier: BSD-2-Clause */
/* What a launch runs: structures, their order and longest way, and changes of single nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gst_text.h"
#include "trace/graph_order.h"
#include "trace/trace.h"

static struct trace *decode(const char *text)
{
	struct gst_text made;
	struct trace *t;
	char error[256];
	struct error e;

	if (!gst_text_parse(&made, text, error))
		fail_msg("%s", error);
	assert_int_equal(trace_open_mem(&t, made.files[0].image.bytes, made.files[0].image.len, "x", &e), ERR_NONE);
	gst_text_free(&made); /* a trace keeps nothing of the file */
	return t;
}

/* The structure that the n-th launch ran. */
static const struct graph *launched(const struct trace *t, int n)
{
	for (size_t i = 0; i < t->n_calls; i++)
		if (t->calls[i].family == GST_FAMILY_GRAPH_LAUNCH && n-- == 0)
			return &t->graphs[t->calls[i].graph];
	fail_msg("no such launch");
	return NULL;
}

/* The kernels of a graph in its order, one letter each; '-' for one that is switched off. */
static const char *kernels(const struct trace *t, const struct graph *g)
{
	static char text[64];
	size_t n = 0;

	for (size_t i = 0; i < g->n && n < sizeof(text) - 1; i++)
		if (g->nodes[i].type == NODE_KERNEL)
			text[n++] = g->nodes[i].off ? '-' : t->kernels[g->nodes[i].name][0];
	text[n] = '\0';
	return text;
}

#define HEAD "process 1 end=9ms\nthread 1\nstream 1\n"

static void the_order_respects_dependencies(void **state)
{
	struct trace *t = decode(HEAD "node 1 handle=5 kernel=e\nnode 1 handle=4 kernel=d\nnode 1 handle=3 kernel=c\n"
				      "node 1 handle=2 kernel=b\nnode 1 handle=1 kernel=a\n"
				      "depends 1 from=1 to=2\ndepends 1 from=1 to=3\ndepends 1 from=2 to=4\n"
				      "depends 1 from=3 to=4\ndepends 1 from=4 to=5\n"
				      "structure 1 t=1us\ngraph t=2us..3us stream=1 seq=1 structure=1\n");
	const struct graph *g = launched(t, 0);

	(void)state;
	assert_string_equal(kernels(t, g), "acbde");
	assert_int_equal(g->levels, 4);
	assert_int_equal(g->work, 5);
	assert_true(g->whole && g->counted && !g->stalls && !g->open);
	trace_free(t);
}

static void side_by_side_is_one_level(void **state)
{
	struct trace *t = decode(HEAD "node 1 handle=1 kernel=a\nnode 1 handle=2 kernel=b\nnode 1 handle=3 kernel=c\n"
				      "structure 1 t=1us\ngraph t=2us..3us stream=1 seq=1 structure=1\n");

	(void)state;
	assert_int_equal(launched(t, 0)->levels, 1);
	trace_free(t);
}

static void what_a_child_graph_waits_for_holds_inside(void **state)
{
	struct trace *t = decode(
		HEAD "node 1 handle=10 type=child\nnode 1 handle=11 parent=10 kernel=y\n"
		     "node 1 handle=12 parent=10 kernel=x\nnode 1 handle=20 kernel=a\nnode 1 handle=30 kernel=z\n"
		     "depends 1 from=20 to=10\ndepends 1 from=12 to=11\ndepends 1 from=10 to=30\n"
		     "structure 1 t=1us\ngraph t=2us..3us stream=1 seq=1 structure=1\n");
	const struct graph *g = launched(t, 0);

	(void)state;
	assert_string_equal(kernels(t, g), "axyz");
	assert_int_equal(g->levels, 4);
	assert_int_equal(g->work, 4);
	trace_free(t);
}

/* No driver makes these; a damaged payload may. Any node may then stand behind any other. */
static void contradictions_keep_the_order_listed(void **state)
{
	struct trace *t = decode(
		HEAD "node 1 handle=1 kernel=a\nnode 1 handle=2 kernel=b\ndepends 1 from=1 to=2\n"
		     "depends 1 from=2 to=1\nstructure 1 t=1us\n"
		     "node 2 handle=1 kernel=a parent=1\nnode 2 handle=2 kernel=b parent=3\n"
		     "node 2 handle=2 kernel=c\ndepends 2 from=7 to=8\nstructure 2 t=1us\n"
		     "graph t=2us..3us stream=1 seq=1 structure=1\ngraph t=4us..5us stream=1 seq=2 structure=2\n");

	(void)state;
	assert_string_equal(kernels(t, launched(t, 0)), "ab");
	assert_int_equal(launched(t, 0)->levels, 2);
	assert_int_equal(launched(t, 1)->n, 3);
	assert_int_equal(launched(t, 1)->levels, 3);
	trace_free(t);
}

static void an_incomplete_structure_is_not_known(void **state)
{
	struct trace *t = decode(
		HEAD "node 1 handle=1 kernel=a\nstructure 1 t=1us nodes=2 described=2\n"
		     "node 2 handle=1 kernel=a\nstructure 2 t=1us edges=1\n"
		     "structure 3 t=1us nodes=9 work=8\n"
		     "graph t=2us..3us stream=1 seq=1 structure=1\ngraph t=4us..5us stream=1 seq=2 structure=2\n"
		     "graph t=6us..7us stream=1 seq=3 structure=3\ngraph t=8us..9us stream=1 seq=4 structure=77\n");

	(void)state;
	for (int i = 0; i < 4; i++) {
		const struct graph *g = launched(t, i);

		assert_int_equal(g->counted, i == 2); /* counted, and not described */
		assert_int_equal(g->work, i == 2 ? 8 : 1);
		assert_true(g->stalls && !g->whole);
	}
	trace_free(t);
}

static void what_may_stand_still(void **state)
{
	static const char *const types[] = { "host", "wait", "semaphore", "memop", "conditional" };
	static const char *const others[] = { "child", "empty", "record", "signal", "alloc", "free" };
	char text[512];

	(void)state;
	for (size_t i = 0; i < 11; i++) {
		struct trace *t;

		snprintf(text, sizeof(text),
			 HEAD "node 1 handle=1 kernel=a\nnode 1 handle=2 type=%s\nstructure 1 t=1us\n"
			      "graph t=2us..3us stream=1 seq=1 structure=1\n",
			 i < 5 ? types[i] : others[i - 5]);
		t = decode(text);
		if (launched(t, 0)->stalls != (i < 5))
			fail_msg("%s", text);
		assert_int_equal(launched(t, 0)->work, 1);
		trace_free(t);
	}
}

static void changes_hold_from_then_on(void **state)
{
	struct trace *t = decode(HEAD "node 1 handle=1 kernel=a\nnode 1 handle=2 kernel=b\nstructure 1 t=1us\n"
				      "graph t=10us..11us stream=1 seq=1 structure=1\n"
				      "change t=12us..13us structure=1 node=1 kernel=x\n"
				      "graph t=14us..15us stream=1 seq=2 structure=1\n"
				      "change t=16us..17us structure=1 node=2 flags=off\n"
				      "change t=18us..19us structure=1 node=1 kernel=y result=1\n"
				      "graph t=20us..21us stream=1 seq=3 structure=1\n"
				      "node 2 handle=7 kernel=p\nnode 2 handle=8 kernel=q\nstructure 2 t=22us base=1\n"
				      "graph t=24us..25us stream=1 seq=4 structure=2\n"
				      "change t=26us..27us structure=2 node=2 flags=on\n"
				      "graph t=28us..29us stream=1 seq=5 structure=2\n");
	static const char *const expected[] = { "ab", "xb", "x-", "p-", "pq" };

	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_string_equal(kernels(t, launched(t, i)), expected[i]);
		assert_int_equal(launched(t, i)->work, i == 2 || i == 3 ? 1 : 2);
	}
	trace_free(t);
}

/* A program that sets the same parameters before each launch makes no new versions. */
static void a_change_of_nothing_is_none(void **state)
{
	struct trace *t = decode(HEAD "node 1 handle=1 kernel=a\nstructure 1 t=1us\n"
				      "graph t=10us..11us stream=1 seq=1 structure=1\n"
				      "change t=12us..13us structure=1 node=1 kernel=a\n"
				      "graph t=14us..15us stream=1 seq=2 structure=1\n");

	(void)state;
	assert_ptr_equal(launched(t, 0), launched(t, 1));
	assert_int_equal(t->n_graphs, 2);
	trace_free(t);
}

/* A program may update in each step: the nodes are kept once, until a change makes a difference. */
static void an_update_that_changes_nothing_shares_the_nodes(void **state)
{
	struct trace *t = decode(HEAD "node 1 handle=1 kernel=a\nnode 1 handle=2 kernel=b\nstructure 1 t=1us\n"
				      "structure 2 t=4us base=1 flags=same\n"
				      "graph t=10us..11us stream=1 seq=1 structure=2\n"
				      "structure 3 t=12us base=2 flags=same\n"
				      "change t=14us..15us structure=3 node=1 kernel=x\n"
				      "graph t=16us..17us stream=1 seq=2 structure=3\n");

	(void)state;
	assert_ptr_equal(t->graphs[1].nodes, t->graphs[2].nodes);
	assert_ptr_equal(t->graphs[1].nodes, t->graphs[3].nodes);
	assert_string_equal(kernels(t, launched(t, 0)), "ab");
	assert_string_equal(kernels(t, launched(t, 1)), "xb");
	trace_free(t);
}

static void switched_off_stays_so_through_updates_that_nothing_launched(void **state)
{
	struct trace *t = decode(HEAD "node 1 handle=1 kernel=a\nnode 1 handle=2 kernel=b\nstructure 1 t=1us\n"
				      "change t=2us..3us structure=1 node=1 flags=off\n"
				      "structure 2 t=4us base=1 flags=same\n"
				      "node 3 handle=7 kernel=p\nnode 3 handle=8 kernel=q\nstructure 3 t=5us base=2\n"
				      "structure 4 t=6us base=3 flags=same\n"
				      "graph t=10us..11us stream=1 seq=1 structure=4\n"
				      "change t=12us..13us structure=4 node=1 flags=on\n"
				      "graph t=14us..15us stream=1 seq=2 structure=4\n");

	(void)state;
	assert_string_equal(kernels(t, launched(t, 0)), "-q");
	assert_int_equal(launched(t, 0)->work, 1);
	assert_string_equal(kernels(t, launched(t, 1)), "pq");
	assert_int_equal(launched(t, 1)->work, 2);
	trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_respects_dependencies),
		cmocka_unit_test(side_by_side_is_one_level),
		cmocka_unit_test(what_a_child_graph_waits_for_holds_inside),
		cmocka_unit_test(contradictions_keep_the_order_listed),
		cmocka_unit_test(an_incomplete_structure_is_not_known),
		cmocka_unit_test(what_may_stand_still),
		cmocka_unit_test(changes_hold_from_then_on),
		cmocka_unit_test(a_change_of_nothing_is_none),
		cmocka_unit_test(an_update_that_changes_nothing_shares_the_nodes),
		cmocka_unit_test(switched_off_stays_so_through_updates_that_nothing_launched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
