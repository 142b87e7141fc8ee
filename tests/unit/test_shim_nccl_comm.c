/* SPDX-License-Identifier: BSD-2-Clause */
/* NCCL's communicators: by what value they go in all processes, what is asked about them and when, how they end. */
#include "nccl_library.h"

/* ---- hashes --------------------------------------------------------------------------------------------------------- */

/* Two processes are played by two communicators of one id: every rank derives by itself, and all must come to the same. */
static void ranks_of_one_id_have_one_hash(void **unused)
{
	ncclComm_t a = NULL, b = NULL, c = NULL;

	(void)unused;
	next = handle(1);
	CALL(ncclCommInitRank, &a, 2, id_of(7), 0);
	next = handle(2);
	CALL(ncclCommInitRank, &b, 2, id_of(7), 1);
	next = handle(3);
	CALL(ncclCommInitRank, &c, 2, id_of(8), 0);
	assert_true(made(a)->hash == made(b)->hash);
	assert_true(made(a)->hash != made(c)->hash);
	assert_int_equal(made(a)->comm, 1);
	assert_int_equal(made(b)->comm, 2);
	assert_int_equal(made(b)->rank, 1);
	assert_int_equal(made(b)->size, 2);
}

static uint64_t split_hash(ncclComm_t parent, uintptr_t n, int color)
{
	ncclComm_t comm = NULL;

	next = handle(n);
	CALL(ncclCommSplit, parent, color, 0, &comm, NULL);
	return color == NCCL_SPLIT_NOCOLOR ? 0 : made(comm)->hash;
}

static void splits_agree_by_colour_and_turn(void **unused)
{
	ncclComm_t a = new_comm(1, 2, 0), b = NULL;
	uint64_t first, second;

	(void)unused;
	next = handle(2);
	CALL(ncclCommInitRank, &b, 2, id_of(1), 1);
	first = split_hash(a, 3, 5);
	assert_true(first == split_hash(b, 4, 5));
	assert_true(first != made(a)->hash);
	/* b takes no part in the second one, and yet counts it */
	second = split_hash(a, 5, 5);
	assert_true(second != first);
	split_hash(b, 0, NCCL_SPLIT_NOCOLOR);
	assert_true(split_hash(a, 6, 5) == split_hash(b, 7, 5));
	assert_true(split_hash(a, 8, 1) != split_hash(b, 9, 2));
	assert_int_equal(made(handle(3))->parent, made(a)->comm);
	assert_int_equal(made(handle(3))->rank, 3); /* asked */
}

static void a_shrunk_one_does_not_mind_the_order_of_the_ranks(void **unused)
{
	ncclComm_t a = new_comm(1, 4, 0), b = NULL, x = NULL, y = NULL, z = NULL;
	int list[] = { 1, 3 }, other[] = { 3, 1 }, third[] = { 2 };

	(void)unused;
	next = handle(2);
	CALL(ncclCommInitRank, &b, 4, id_of(1), 2);
	next = handle(3);
	CALL(ncclCommShrink, a, list, 2, &x, NULL, 0);
	next = handle(4);
	CALL(ncclCommShrink, b, other, 2, &y, NULL, 0);
	assert_true(made(x)->hash == made(y)->hash);
	next = handle(5);
	CALL(ncclCommShrink, a, third, 1, &z, NULL, 0);
	assert_true(made(z)->hash != made(x)->hash);
}

static void the_list_of_a_refused_one_is_not_read(void **unused)
{
	ncclComm_t a = new_comm(1, 4, 0), x = NULL;

	(void)unused;
	look_from_here();
	answer = ncclInvalidArgument;
	CALL(ncclCommShrink, a, (int *)0x1000, 1000000, &x, NULL, 0);
	answer = ncclSuccess;
	assert_int_equal(next_call()->result, ncclInvalidArgument);
}

static uint64_t shrunk_hash(ncclComm_t parent, uintptr_t n, int gone)
{
	ncclComm_t comm = NULL;

	next = handle(n);
	CALL(ncclCommShrink, parent, &gone, 1, &comm, NULL, 0);
	return made(comm)->hash;
}

/* Who is left out makes no call, and so counts nothing: what all who take part have counted is how often just these were left out. */
static void who_was_left_out_of_one_shrunk_one_agrees_about_the_next(void **unused)
{
	ncclComm_t a = new_comm(1, 4, 0), b = NULL;
	uint64_t without_b, without_c;

	(void)unused;
	next = handle(2);
	CALL(ncclCommInitRank, &b, 4, id_of(1), 1);
	without_b = shrunk_hash(a, 3, 1);
	without_c = shrunk_hash(a, 4, 2);
	assert_true(without_c == shrunk_hash(b, 5, 2));
	assert_true(without_c != without_b);
	/* the same ones left out again: another communicator, on both */
	without_c = shrunk_hash(a, 6, 2);
	assert_true(without_c == shrunk_hash(b, 7, 2));
	assert_true(without_c != made(handle(4))->hash);
	assert_true(shrunk_hash(a, 8, 1) != without_b);
}

static void a_grown_one_goes_by_two_hashes(void **unused)
{
	ncclComm_t root = new_comm(1, 2, 0), old = NULL, grown[3] = { NULL };
	ncclUniqueId id = id_of(50);

	(void)unused;
	next = handle(2);
	CALL(ncclCommInitRank, &old, 2, id_of(1), 1);
	next = handle(3);
	CALL(ncclCommGrow, root, 3, &id, -1, &grown[0], NULL);
	next = handle(4);
	CALL(ncclCommGrow, old, 3, NULL, -1, &grown[1], NULL);
	next = handle(5);
	CALL(ncclCommGrow, NULL, 3, &id, 2, &grown[2], NULL);
	assert_true(made(grown[0])->hash == made(grown[2])->hash);
	assert_true(made(grown[0])->also == made(grown[1])->hash);
	assert_true(made(grown[1])->also == 0 && made(grown[2])->also == 0);
	assert_int_equal(made(grown[2])->rank, 2);
	assert_int_equal(made(grown[0])->rank, 3); /* asked */
}

/* ---- lives ----------------------------------------------------------------------------------------------------------- */

static void an_end_that_fails_is_none(void **unused)
{
	ncclComm_t a = new_comm(1, 2, 0);

	(void)unused;
	answer = ncclInternalError;
	CALL(ncclCommDestroy, a);
	assert_non_null(made(a));
	answer = ncclSuccess;
	CALL(ncclCommAbort, a);
	assert_null(made(a));
	look_from_here();
	all_reduce(a); /* a mistake of the program's: forwarded, of no communicator */
	assert_int_equal(next_call()->comm, 0);
}

static void more_than_the_table_are_counted(void **unused)
{
	struct gst_counters *counters = file_counters();
	uint64_t before = counters->nccl_untracked;

	(void)unused;
	for (uintptr_t n = 1; n <= 1500; n++)
		new_comm(n, 2, 0);
	assert_true(counters->nccl_untracked - before >= 1500 - 1024);
	look_from_here();
	fresh(NULL);
	new_comm(1, 2, 0);
	assert_int_equal(made(handle(1))->comm, 1);
}

/* ---- communicators that do not block -------------------------------------------------------------------------------- */

static void a_busy_communicator_is_asked_nothing(void **unused)
{
	ncclComm_t parent = new_comm(1, 2, 0), child = NULL;
	ncclResult_t error;
	const struct gst_nccl *r;

	(void)unused;
	answer = state = ncclInProgress;
	next = handle(2);
	questions = 0;
	CALL(ncclCommSplit, parent, 0, 0, &child, NULL);
	assert_int_equal(made(child)->rank, GST_NONE);
	look_from_here();
	for (int i = 0; i < 100; i++)
		CALL(ncclCommGetAsyncError, child, &error);
	assert_int_equal(questions, 0);
	answer = state = ncclSuccess;
	CALL(ncclCommGetAsyncError, child, &error);
	assert_int_equal(questions, 3);
	assert_int_equal(made(child)->rank, 3);
	/* the hundred are one record, unless they took longer than it may span */
	uint64_t calls = 0;
	unsigned records = 0;
	for (r = next_call(); r && r->peer == ncclInProgress; r = next_call()) {
		calls += r->count;
		records++;
	}
	assert_int_equal(calls, 100);
	assert_true(records <= 10);
	assert_true(r && r->peer == ncclSuccess && r->count == 1);
}

static void a_configuration_is_read_as_far_as_it_goes(void **unused)
{
	/* An early version's: blocking is there, the name is not, and what lies behind is no memory of ours to read. */
	ncclConfig_t *volatile short_one = malloc(24), *config = short_one; /* the compiler need not know how short */
	ncclConfig_t named = { .size = sizeof(named),
			       .magic = (unsigned)NCCL_CONFIG_MAGIC,
			       .version = 22809,
			       .blocking = NCCL_CONFIG_UNDEF_INT,
			       .commName = "world" };
	ncclComm_t comm = NULL;
	const struct gst_name *name;

	(void)unused;
	config->size = 24;
	config->magic = (unsigned)NCCL_CONFIG_MAGIC;
	config->version = 21403;
	config->blocking = 0;
	next = handle(1);
	CALL(ncclCommInitRankConfig, &comm, 2, id_of(1), 0, config);
	assert_int_equal(made(comm)->flags, GST_COMM_NONBLOCKING);
	config->magic = 1; /* none at all */
	next = handle(2);
	CALL(ncclCommInitRankConfig, &comm, 2, id_of(2), 0, config);
	assert_int_equal(made(comm)->flags, 0);
	free(config);
	look_from_here();
	next = handle(3);
	CALL(ncclCommInitRankConfig, &comm, 2, id_of(3), 0, &named);
	name = next_record(GST_NAME);
	assert_int_equal(name->space, GST_SPACE_COMM);
	assert_int_equal(name->id, made(comm)->comm);
	assert_memory_equal(name->text, "world", 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NCCL_TEST(ranks_of_one_id_have_one_hash),
		NCCL_TEST(splits_agree_by_colour_and_turn),
		NCCL_TEST(a_shrunk_one_does_not_mind_the_order_of_the_ranks),
		NCCL_TEST(the_list_of_a_refused_one_is_not_read),
		NCCL_TEST(who_was_left_out_of_one_shrunk_one_agrees_about_the_next),
		NCCL_TEST(a_grown_one_goes_by_two_hashes),
		NCCL_TEST(an_end_that_fails_is_none),
		NCCL_TEST(more_than_the_table_are_counted),
		NCCL_TEST(a_busy_communicator_is_asked_nothing),
		NCCL_TEST(a_configuration_is_read_as_far_as_it_goes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
