/* SPDX-License-Identifier: BSD-2-Clause */
/* NCCL's calls on a library that only says yes: what is numbered how, and by what value communicators go. Records are read where they
 * were written, in the thread's own segment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/file.h"
#include "shim/nccl_call.h"
#include "shim/nccl_comm.h"
#include "shim/nccl_hash.h"
#include "shim/process.h"
#include "shim/settings.h"

/* ---- a library ------------------------------------------------------------------------------------------------------ */

static ncclResult_t answer = ncclSuccess; /* of whatever is asked */
static ncclResult_t state = ncclSuccess;  /* of a communicator, as ncclCommGetAsyncError says it */
static ncclComm_t next;                   /* the communicator that is handed out */
static bool late;                         /* … at the end of the group only */
static ncclComm_t *owed;
static unsigned questions;

static ncclResult_t yes(void)
{
	return answer;
}

static ncclResult_t give(ncclComm_t *where)
{
	if (answer != ncclSuccess && answer != ncclInProgress)
		return answer;
	if (late)
		owed = where;
	else
		*where = next;
	return answer;
}

static ncclResult_t init_rank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
	(void)nranks, (void)id, (void)rank;
	return give(comm);
}

static ncclResult_t init_config(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
	(void)nranks, (void)id, (void)rank, (void)config;
	return give(comm);
}

static ncclResult_t split(ncclComm_t comm, int color, int key, ncclComm_t *newcomm, ncclConfig_t *config)
{
	(void)comm, (void)key, (void)config;
	if (color == NCCL_SPLIT_NOCOLOR)
		*newcomm = NULL;
	return color == NCCL_SPLIT_NOCOLOR ? answer : give(newcomm);
}

static ncclResult_t shrink(ncclComm_t comm, int *exclude, int count, ncclComm_t *newcomm, ncclConfig_t *config,
			   int flags)
{
	(void)comm, (void)exclude, (void)count, (void)config, (void)flags;
	return give(newcomm);
}

static ncclResult_t grow(ncclComm_t comm, int nranks, const ncclUniqueId *id, int rank, ncclComm_t *newcomm,
			 ncclConfig_t *config)
{
	(void)comm, (void)nranks, (void)id, (void)rank, (void)config;
	return give(newcomm);
}

static ncclResult_t group_end(void)
{
	if (owed)
		*owed = next;
	owed = NULL;
	return answer;
}

static ncclResult_t async_error(ncclComm_t comm, ncclResult_t *error)
{
	(void)comm;
	*error = state;
	return ncclSuccess;
}

static ncclResult_t number(ncclComm_t comm, int *value)
{
	(void)comm;
	questions++;
	*value = 3;
	return ncclSuccess;
}

static ncclResult_t version(int *value)
{
	*value = 22809;
	return ncclSuccess;
}

/* ---- what was recorded ---------------------------------------------------------------------------------------------- */

static uint32_t seen; /* bytes of the segment looked at so far */

/* The next record of this type; NULL none. */
static const void *next_record(uint16_t type)
{
	struct ring *r = &thread_self()->ring;

	while (seen < r->at) {
		const struct gst_record *h = (const void *)(r->segment + seen);

		seen += h->size;
		assert_true(h->size && h->commit == GST_COMMIT);
		if (h->type == type)
			return h;
	}
	return NULL;
}

/* The next call of the program. */
static const struct gst_nccl *next_call(void)
{
	const struct gst_nccl *r;

	do
		r = next_record(GST_NCCL);
	while (r && (r->flags & GST_NCCL_OURS));
	return r;
}

static void look_from_here(void)
{
	seen = thread_self()->ring.at;
}

#define CALL(sym, ...) (((__typeof__(&sym))nccl_hooks[NCCL_##sym].bound[0])(__VA_ARGS__))

static ncclComm_t handle(uintptr_t n)
{
	return (ncclComm_t)(n << 12);
}

static const struct gst_comm *made(ncclComm_t comm)
{
	struct nccl_comm *m = nccl_comm_find(NULL, comm);

	return m ? &m->record : NULL;
}

static ncclUniqueId id_of(int n)
{
	ncclUniqueId id = { { 0 } };

	snprintf(id.internal, sizeof(id.internal), "id %d", n);
	return id;
}

static ncclComm_t new_comm(uintptr_t n, int size, int rank)
{
	ncclComm_t comm = NULL;

	next = handle(n);
	assert_int_equal(CALL(ncclCommInitRank, &comm, size, id_of((int)n), rank), ncclSuccess);
	assert_ptr_equal(comm, handle(n));
	return comm;
}

static const CUstream stream = (CUstream)0x5000;

static void all_reduce(ncclComm_t comm)
{
	CALL(ncclAllReduce, NULL, NULL, 10, ncclFloat32, ncclSum, comm, stream);
}

static char directory[128];

static int set_up(void **unused)
{
	(void)unused;
	snprintf(directory, sizeof(directory), "%s/gpushim-nccl-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(directory));
	snprintf(settings.out, sizeof(settings.out), "%s/out", directory);
	for (unsigned i = 0; i < NCCL_COUNT; i++)
		nccl_copies[0].at[i] = (void *)yes;
	nccl_copies[0].real.ncclGetVersion = version;
	nccl_copies[0].real.ncclCommInitRank = init_rank;
	nccl_copies[0].real.ncclCommInitRankConfig = init_config;
	nccl_copies[0].real.ncclCommSplit = split;
	nccl_copies[0].real.ncclCommShrink = shrink;
	nccl_copies[0].real.ncclCommGrow = grow;
	nccl_copies[0].real.ncclGroupEnd = group_end;
	nccl_copies[0].real.ncclCommGetAsyncError = async_error;
	nccl_copies[0].real.ncclCommUserRank = number;
	nccl_copies[0].real.ncclCommCount = number;
	nccl_copies[0].real.ncclCommCuDevice = number;
	assert_non_null(thread_self());
	return 0;
}

static int tear_down(void **unused)
{
	char command[256];

	(void)unused;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

static int fresh(void **unused)
{
	(void)unused;
	answer = state = ncclSuccess;
	late = false;
	owed = NULL;
	nccl_comms_forget();
	thread_self()->last_comm = NULL;
	look_from_here();
	return 0;
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, fresh)
		T(ranks_of_one_id_have_one_hash),
		T(splits_agree_by_colour_and_turn),
		T(a_shrunk_one_does_not_mind_the_order_of_the_ranks),
		T(who_was_left_out_of_one_shrunk_one_agrees_about_the_next),
		T(a_grown_one_goes_by_two_hashes),
		T(collectives_are_numbered_and_failed_ones_are_not),
		T(messages_are_numbered_by_peer_and_direction),
		T(an_end_that_fails_is_none),
		T(more_than_the_table_are_counted),
		T(a_group_is_whole_at_its_outermost_end),
		T(an_end_without_a_start_ends_nothing),
		T(made_in_a_group_and_handed_out_at_once),
		T(made_in_a_group_and_handed_out_at_its_end),
		T(a_busy_communicator_is_asked_nothing),
		T(a_configuration_is_read_as_far_as_it_goes),
		T(what_a_call_calls_is_no_call),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
