/* SPDX-License-Identifier: BSD-2-Clause */
/* NCCL's calls: what is numbered how, what a group is, what a call calls. */
#include "nccl_library.h"

/* ---- numbers -------------------------------------------------------------------------------------------------------- */

static void collectives_are_numbered_and_failed_ones_are_not(void **unused)
{
	ncclComm_t a = new_comm(1, 2, 0), b = new_comm(2, 2, 0);

	(void)unused;
	look_from_here();
	all_reduce(a);
	answer = ncclInvalidArgument;
	all_reduce(a);
	answer = ncclSuccess;
	all_reduce(b);
	CALL(ncclBroadcast, NULL, NULL, 4, ncclInt8, 1, a, stream);
	assert_int_equal(next_call()->seq, 1);
	const struct gst_nccl *failed = next_call();
	assert_int_equal(failed->seq, 0);
	assert_int_equal(failed->result, ncclInvalidArgument);
	assert_int_equal(next_call()->seq, 1);
	const struct gst_nccl *broadcast = next_call();
	assert_int_equal(broadcast->seq, 2);
	assert_int_equal(broadcast->kind, GST_NCCL_BROADCAST);
	assert_int_equal(broadcast->peer, 1);
	assert_int_equal(broadcast->op, 0xffff);
	assert_int_equal(broadcast->datatype, ncclInt8);
	assert_int_equal(broadcast->count, 4);
	assert_null(next_call());
}

static void messages_are_numbered_by_peer_and_direction(void **unused)
{
	ncclComm_t a = new_comm(1, 4, 0);
	static const uint32_t want[] = { 1, 1, 2, 1, 3 };

	(void)unused;
	look_from_here();
	CALL(ncclSend, NULL, 1, ncclInt8, 2, a, stream);
	CALL(ncclSend, NULL, 1, ncclInt8, 3, a, stream);
	CALL(ncclSend, NULL, 1, ncclInt8, 2, a, stream);
	CALL(ncclRecv, NULL, 1, ncclInt8, 2, a, stream);
	CALL(ncclSend, NULL, 1, ncclInt8, 2, a, stream);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(next_call()->seq, want[i]);
	/* the handle comes back as another communicator: from the start */
	CALL(ncclCommDestroy, a);
	a = new_comm(1, 4, 0);
	look_from_here();
	CALL(ncclSend, NULL, 1, ncclInt8, 2, a, stream);
	const struct gst_nccl *r = next_call();
	assert_int_equal(r->seq, 1);
	assert_int_equal(r->comm, 2);
}

/* ---- groups --------------------------------------------------------------------------------------------------------- */

static void a_group_is_whole_at_its_outermost_end(void **unused)
{
	ncclComm_t a = new_comm(1, 2, 0);
	const struct gst_nccl *start, *inner, *op, *left, *end;
	uint64_t begin;

	(void)unused;
	look_from_here();
	CALL(ncclGroupStart);
	CALL(ncclGroupStart);
	all_reduce(a);
	CALL(ncclGroupEnd);
	CALL(ncclSend, NULL, 1, ncclInt8, 1, a, stream);
	answer = ncclInvalidArgument;
	all_reduce(a);
	answer = ncclSuccess;
	CALL(ncclGroupEnd);
	all_reduce(a);
	start = next_call();
	begin = start->begin;
	assert_true(start->group && start->seq == 1 && start->flags == 0);
	inner = next_call();
	assert_true(inner->group == start->group && inner->seq == 2 && inner->flags == GST_NCCL_INNER);
	op = next_call();
	assert_true(op->group == start->group && op->seq == 1);
	left = next_call();
	assert_true(left->group == start->group && left->flags == GST_NCCL_INNER && left->seq == 0);
	assert_int_equal(next_call()->group, start->group);
	assert_int_equal(next_call()->seq, 0); /* the one that failed */
	end = next_call();
	assert_int_equal(end->kind, GST_NCCL_GROUP_END);
	assert_true(end->group == start->group && end->flags == 0 && end->seq == 2 && end->count == begin);
	assert_int_equal(next_call()->group, 0);
}

static void an_end_without_a_start_ends_nothing(void **unused)
{
	(void)unused;
	answer = ncclInvalidUsage;
	CALL(ncclGroupEnd);
	answer = ncclSuccess;
	CALL(ncclGroupStart);
	const struct gst_nccl *end = next_call(), *start = next_call();
	assert_true(end->group == 0 && end->result == ncclInvalidUsage);
	assert_true(start->seq == 1);
	CALL(ncclGroupEnd);
}

/* Libraries differ in when they hand out what is made in a group. */
static void made_in_a_group(bool at_the_end)
{
	static ncclComm_t where; /* asked of the kernel, so it must be memory of this process */
	ncclComm_t parent = new_comm(1, 2, 0);

	where = NULL;
	late = at_the_end;
	CALL(ncclGroupStart);
	next = handle(9);
	CALL(ncclCommSplit, parent, 0, 0, &where, NULL);
	assert_int_equal(made(handle(9)) != NULL, !at_the_end);
	questions = 0;
	CALL(ncclGroupEnd);
	assert_non_null(made(handle(9)));
	assert_int_equal(questions, 3);
	assert_int_equal(made(handle(9))->rank, 3);
	late = false;
}

static void made_in_a_group_and_handed_out_at_once(void **unused)
{
	(void)unused;
	made_in_a_group(false);
}

static void made_in_a_group_and_handed_out_at_its_end(void **unused)
{
	(void)unused;
	made_in_a_group(true);
}

/* ---- calls within calls --------------------------------------------------------------------------------------------- */

static ncclResult_t calls_itself(void *buff, size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream s)
{
	return CALL(ncclBroadcast, buff, buff, count, type, root, comm, s);
}

static void what_a_call_calls_is_no_call(void **unused)
{
	ncclComm_t a = new_comm(1, 2, 0);

	(void)unused;
	look_from_here();
	nccl_copies[0].real.ncclBcast = calls_itself;
	CALL(ncclBcast, NULL, 4, ncclInt8, 0, a, stream);
	CALL(ncclBcast, NULL, 4, ncclInt8, 0, a, stream);
	const struct gst_nccl *one = next_call(), *two = next_call();
	assert_int_equal(one->hook, NCCL_ncclBcast);
	assert_int_equal(one->seq, 1);
	assert_int_equal(two->hook, NCCL_ncclBcast);
	assert_int_equal(two->seq, 2);
	assert_null(next_call());
	assert_null(nccl_inside);
}

static jmp_buf back;

static ncclResult_t jumps_out(void *buff, size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream s)
{
	(void)buff, (void)count, (void)type, (void)root, (void)comm, (void)s;
	longjmp(back, 1);
}

static void a_call_that_was_jumped_out_of_is_over(void **unused)
{
	ncclComm_t a = new_comm(1, 2, 0);

	(void)unused;
	look_from_here();
	nccl_copies[0].real.ncclBcast = jumps_out;
	if (setjmp(back) == 0)
		CALL(ncclBcast, NULL, 4, ncclInt8, 0, a, stream);
	assert_non_null(nccl_inside);
	all_reduce(a);
	all_reduce(a);
	assert_null(nccl_inside);
	assert_int_equal(next_call()->hook, NCCL_ncclAllReduce);
	assert_int_equal(next_call()->hook, NCCL_ncclAllReduce);
	assert_null(next_call());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NCCL_TEST(collectives_are_numbered_and_failed_ones_are_not),
		NCCL_TEST(messages_are_numbered_by_peer_and_direction),
		NCCL_TEST(a_group_is_whole_at_its_outermost_end),
		NCCL_TEST(an_end_without_a_start_ends_nothing),
		NCCL_TEST(made_in_a_group_and_handed_out_at_once),
		NCCL_TEST(made_in_a_group_and_handed_out_at_its_end),
		NCCL_TEST(what_a_call_calls_is_no_call),
		NCCL_TEST(a_call_that_was_jumped_out_of_is_over),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
