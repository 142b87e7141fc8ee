/* SPDX-License-Identifier: BSD-2-Clause */
/* Random graphs against the rule: a node starts when the last of its dependencies ended, and the gap later. */
#include "test_simgpu_graphs.h"

enum { RANDOM_NODES = 60, RANDOM_GRAPHS = 20 };

static unsigned random_state;

static unsigned random_below(unsigned bound)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) % bound;
}

/* Node i may depend on nodes before it. Parent and child draw the same numbers. */
static bool random_edge(unsigned edges[RANDOM_NODES][RANDOM_NODES])
{
	bool any = false;

	memset(edges, 0, sizeof(unsigned[RANDOM_NODES][RANDOM_NODES]));
	for (unsigned i = 1; i < RANDOM_NODES; i++)
		for (unsigned n = random_below(4); n > 0; n--) {
			edges[i][random_below(i)] = 1;
			any = true;
		}
	return any;
}

static void random_name(char *name, size_t room, unsigned graph, unsigned node)
{
	snprintf(name, room, "g%u_n%u__%uus", graph, node, 1 + (graph * 31 + node * 17) % 90);
}

static void random_graphs(void)
{
	static unsigned edges[RANDOM_NODES][RANDOM_NODES];
	CUgraphNode nodes[RANDOM_NODES], before[RANDOM_NODES];
	CUDA_KERNEL_NODE_PARAMS params;
	char name[32];
	CUgraph graph;

	start();
	random_state = 7;
	for (unsigned g = 0; g < RANDOM_GRAPHS; g++) {
		random_edge(edges);
		graph = new_graph();
		for (unsigned i = 0; i < RANDOM_NODES; i++) {
			size_t count = 0;

			for (unsigned k = 0; k < i; k++)
				if (edges[i][k])
					before[count++] = nodes[k];
			random_name(name, sizeof(name), g, i);
			params = kernel_params(name);
			OK(cuGraphAddKernelNode(&nodes[i], graph, before, count, &params));
		}
		run_once(graph);
		OK(cuGraphDestroy(graph));
	}
}

static void random_graphs_run_as_their_edges_say(void **state)
{
	static unsigned edges[RANDOM_NODES][RANDOM_NODES];
	const struct truth_op *ops[RANDOM_NODES];
	char name[32];

	(void)state;
	run_in_child(random_graphs, &truth);
	assert_int_equal(truth.count, RANDOM_GRAPHS * RANDOM_NODES);
	random_state = 7;
	for (unsigned g = 0; g < RANDOM_GRAPHS; g++) {
		assert_true(random_edge(edges));
		for (unsigned i = 0; i < RANDOM_NODES; i++) {
			long long expected_ns = 0;

			random_name(name, sizeof(name), g, i);
			ops[i] = truth_find(&truth, name);
			assert_int_equal(ops[i]->graph, g + 1);
			for (unsigned k = 0; k < i; k++)
				if (edges[i][k] && ops[k]->end_ns + GAP_NS > expected_ns)
					expected_ns = ops[k]->end_ns + GAP_NS;
			assert_int_equal(ops[i]->start_ns, expected_ns ? expected_ns : ops[0]->start_ns);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_graphs_run_as_their_edges_say),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
