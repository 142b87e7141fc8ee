/* SPDX-License-Identifier: BSD-2-Clause */
/* What a file is, by what it holds; and from there to the traces in it, whichever allocation fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "import/import.h"
#include "pack/pack_format.h"
#include "tests/support/failing_alloc.h"
#include "tests/unit/import_files.h"

/* ---- which one it is -------------------------------------------------------------------------------------- */

static void expect_format(const char *name, enum import_format format)
{
	enum import_format out = IMPORT_NSYS;
	struct error e = { 0 };

	if (import_sniff(&out, in_folder(name), &e) != ERR_NONE)
		fail_msg("%s: %s", name, e.text);
	if (out != format)
		fail_msg("%s: format %d, not %d", name, out, format);
}

static void put_blank(const char *name, int lines, const char *then)
{
	char text[8192];

	assert_true((size_t)lines + strlen(then) < sizeof(text));
	memset(text, '\n', (size_t)lines);
	strcpy(text + lines, then);
	put_bytes(name, (const uint8_t *)text, (size_t)lines + strlen(then));
}

static void test_json_is_kineto_s_whatever_it_is_called(void **state)
{
	(void)state;
	put_json("trace.gst", KINETO(9, 1));
	put_json("bare", "[" KINETO_EVENTS(9, 1) "]");
	put_json("spaces", " \t\r\n\n{'traceEvents':[]}");
	put_json("marked", "\xef\xbb\xbf {'traceEvents':[]}");
	put_json("bracket", "[");
	put_blank("blank", 5000, "{}");
	put_blank("white", 4000, "");
	expect_format("trace.gst", IMPORT_KINETO);
	expect_format("bare", IMPORT_KINETO);
	expect_format("spaces", IMPORT_KINETO);
	expect_format("marked", IMPORT_KINETO);
	expect_format("bracket", IMPORT_KINETO);
	expect_format("blank", IMPORT_KINETO);
	expect_format("white", IMPORT_NONE);
}

static void test_packed_json_is_looked_into(void **state)
{
	uint8_t many[300 * 30];
	size_t n = 0, one;
	uint8_t bytes[600];
	FILE *file;

	(void)state;
	put_packed("trace", KINETO(9, 1));
	put_packed("words", "this is none");
	put_packed("nothing", "");
	expect_format("trace", IMPORT_KINETO);
	expect_format("words", IMPORT_NONE);
	expect_format("nothing", IMPORT_NONE);

	/* Cut short it is still one, up to where nothing of what it holds is there. */
	file = fopen(in_folder("trace"), "rb");
	assert_non_null(file);
	one = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	assert_in_range(one, 100, sizeof(bytes) - 1);
	for (size_t kept = 0; kept <= one; kept++) {
		enum import_format format;
		struct error e = { 0 };

		put_bytes("cut", bytes, kept);
		assert_int_equal(import_sniff(&format, in_folder("cut"), &e), ERR_NONE);
		assert_true(format == (kept < 60 ? format : IMPORT_KINETO));
		assert_true(kept > 18 || format == IMPORT_NONE);
	}
	for (; n + one < sizeof(many) && n < sizeof(many) / 2; n += one)
		memcpy(many + n, bytes, one); /* several packed ones behind each other are one file */
	put_bytes("many", many, n);
	expect_format("many", IMPORT_KINETO);
	put_packed("nothing", "");
	file = fopen(in_folder("nothing"), "rb");
	assert_non_null(file);
	n = fread(many, 1, sizeof(many) / 2, file);
	fclose(file);
	memcpy(many + n, bytes, one); /* the first of them may hold nothing */
	put_bytes("behind", many, n + one);
	expect_format("behind", IMPORT_KINETO);
	bytes[0] = 0x1e;
	put_bytes("flipped", bytes, one);
	expect_format("flipped", IMPORT_NONE);
}

static void test_sqlite_is_nsight_s(void **state)
{
	static const char magic[] = "SQLite format 3";

	(void)state;
	put_sql("report.json", NSYS);
	expect_format("report.json", IMPORT_NSYS);
	cut_file("report.json", 16);
	expect_format("report.json", IMPORT_NSYS);
	cut_file("report.json", 15);
	expect_format("report.json", IMPORT_NONE);
	put_bytes("spelled", "SQLite format 3 ", 16);
	expect_format("spelled", IMPORT_NONE);
	put_bytes("magic", magic, sizeof(magic));
	expect_format("magic", IMPORT_NSYS);
}

static void test_other_files_are_none(void **state)
{
	static const uint8_t archive[8] = PACK_MAGIC,
			     elf[] = "\x7f"
				     "ELF{",
			     gzip_head[] = { 0x1f, 0x8b };

	(void)state;
	put_gst("a.json", GST);
	put_bytes("archive", archive, sizeof(archive));
	put_bytes("empty", "", 0);
	put_bytes("space", "   \n", 4);
	put_bytes("one", "\x1f", 1);
	put_bytes("two", gzip_head, 2);
	put_bytes("elf", elf, sizeof(elf));
	put_bytes("text", "traceEvents {", 13);
	put_bytes("mark", "\xef\xbb\xbf", 3);
	put_bytes("half", "\xef\xbb{", 3);
	for (size_t i = 0; i < 10; i++)
		expect_format(((const char *[]){ "a.json", "archive", "empty", "space", "one", "two", "elf", "text",
						 "mark", "half" })[i],
			      IMPORT_NONE);
}

/* What is no file: nothing waits for a writer, and nothing is read that is not there. */
static void test_what_cannot_be_read(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	enum import_format format = IMPORT_NSYS;
	struct error e = { 0 };
	int fd;

	(void)state;
	assert_int_equal(import_sniff(&format, in_folder("absent"), &e), ERR_FORMAT);
	assert_string_equal(e.text, "cannot open: No such file or directory");
	assert_string_equal(e.file, in_folder("absent"));
	assert_int_equal(format, IMPORT_NONE);
	put_bytes("file", "{", 1);
	assert_int_equal(import_sniff(&format, in_folder("file/below"), &e), ERR_FORMAT);
	assert_int_equal(import_sniff(&format, folder, &e), ERR_NONE); /* readers say that it is no regular file */
	assert_int_equal(format, IMPORT_NONE);
	assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
	expect_format("pipe", IMPORT_NONE);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", in_folder("socket"));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	assert_int_equal(import_sniff(&format, in_folder("socket"), &e), ERR_SYSTEM);
	assert_string_equal(e.text, "cannot open: No such device or address");
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

static struct trace **traces;
static size_t n_traces;

static int forget(void **state)
{
	fail_at = 0;
	for (size_t i = 0; i < n_traces; i++)
		trace_free(traces[i]);
	free(traces);
	traces = NULL;
	n_traces = 0;
	return folder_empty(state);
}

static enum err_kind read_as(const char *name, enum import_format format, struct error *e)
{
	*e = (struct error){ 0 };
	return import_open(&traces, &n_traces, in_folder(name), format, e);
}

static void test_a_trace_for_each_process(void **state)
{
	struct error e;

	(void)state;
	put_json("kineto", "[" KINETO_EVENTS(9, 1) "," KINETO_EVENTS(4, 20) "]");
	assert_int_equal(read_as("kineto", IMPORT_KINETO, &e), ERR_NONE);
	assert_int_equal(n_traces, 2);
	assert_int_equal(traces[0]->header.pid, 4);
	assert_int_equal(traces[1]->header.pid, 9);
	assert_string_equal(traces[0]->imported->tool, "kineto");
	forget(state);
	put_sql("nsys", NSYS);
	assert_int_equal(read_as("nsys", IMPORT_NSYS, &e), ERR_NONE);
	assert_int_equal(n_traces, 2);
	assert_int_equal(traces[0]->header.pid, 100);
	assert_int_equal(traces[1]->header.pid, 101);
	assert_string_equal(traces[1]->imported->tool, "nsys");
	assert_int_equal(traces[1]->damage.kind, ERR_NONE);
}

static void refused(const char *name, enum import_format format, uint64_t byte, const char *text)
{
	struct error e;

	assert_int_equal(read_as(name, format, &e), ERR_FORMAT);
	if (!strstr(e.text, text))
		fail_msg("'%s', not '%s'", e.text, text);
	assert_int_equal(e.byte, byte);
	assert_string_equal(e.file, in_folder(name));
	assert_null(traces);
	assert_int_equal(n_traces, 0);
}

/* In which there is nothing to report: an error with the place, where the file is damaged there. */
static void test_a_file_without_anything(void **state)
{
	(void)state;
	put_json("no-events", "{'schemaVersion':1}");
	put_json("none", "{'traceEvents':[]}");
	put_json("metadata", "{'traceEvents':[{'ph':'M','name':'process_name','pid':9,'args':{'name':'python'}}]}");
	put_json("cut", "{'traceEvents':[{'ph':'X','cat':'kernel'");
	put_bytes("empty", "", 0);
	refused("no-events", IMPORT_KINETO, ERR_NO_BYTE, "no list of events (\"traceEvents\") is in it");
	refused("none", IMPORT_KINETO, ERR_NO_BYTE, "nothing in this trace says what a process or a device did");
	refused("metadata", IMPORT_KINETO, ERR_NO_BYTE, "nothing in this trace says what a process or a device did");
	refused("cut", IMPORT_KINETO, 40, "it ends in the middle");
	refused("empty", IMPORT_KINETO, 0, "it ends before anything is in it");
	refused("cut", IMPORT_NSYS, 0, "this is no SQLite database");
	refused("cut", IMPORT_NONE, ERR_NO_BYTE, "no trace that can be imported");
	put_sql("other", "CREATE TABLE words (word TEXT);");
	refused("other", IMPORT_NSYS, ERR_NO_BYTE, "this is no export of Nsight Systems: it has no table StringIds");
}

static void test_a_byte_order_mark(void **state)
{
	struct error e;

	(void)state;
	put_json("marked", "\xef\xbb\xbf[" KINETO_EVENTS(9, 1) "]");
	expect_format("marked", IMPORT_KINETO);
	assert_int_equal(read_as("marked", IMPORT_KINETO, &e), ERR_NONE);
	assert_int_equal(n_traces, 1);
	assert_int_equal(traces[0]->damage.kind, ERR_NONE);
}

/* No more than a report can hold apart: an error in so many words, not one of memory. */
static void test_too_many_processes(void **state)
{
	FILE *file = fopen(in_folder("many"), "w");

	(void)state;
	assert_non_null(file);
	fputs("[", file);
	for (unsigned pid = 1; pid <= 4097; pid++)
		fprintf(file, "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":%u,\"ts\":%u,\"dur\":1}",
			pid > 1 ? "," : "", pid, pid);
	fputs("]", file);
	assert_int_equal(fclose(file), 0);
	refused("many", IMPORT_KINETO, ERR_NO_BYTE, "more than 4096 processes");
}

/* What precedes the damage is there, and each process knows of it. */
static void test_a_damaged_file_has_its_beginning(void **state)
{
	struct error e;

	(void)state;
	put_json("cut", "[" KINETO_EVENTS(9, 1) "," KINETO_EVENTS(4, 20) ",{'ph':}");
	assert_int_equal(read_as("cut", IMPORT_KINETO, &e), ERR_NONE);
	assert_int_equal(n_traces, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(traces[i]->damage.kind, ERR_FORMAT);
		assert_true(err_has_byte(&traces[i]->damage));
		assert_string_equal(traces[i]->damage.file, in_folder("cut"));
	}
}

static void fail_each(const char *name, enum import_format format)
{
	struct error e;

	for (long n = 1;; n++) {
		enum err_kind kind;
		bool reached;

		fail_at = n;
		kind = read_as(name, format, &e);
		reached = fail_at <= 0;
		fail_at = 0;
		if (!reached) {
			assert_int_equal(kind, ERR_NONE);
			assert_true(n > 20);
			return;
		}
		assert_in_range(n, 1, 10000);
		assert_int_equal(kind, ERR_SYSTEM);
		if (!strstr(e.text, "memory"))
			fail_msg("allocation %ld of %s: '%s'", n, name, e.text);
		assert_null(traces);
		assert_int_equal(n_traces, 0);
	}
}

static void test_every_allocation_may_fail(void **state)
{
	(void)state;
	put_json("plain", KINETO_RANK(1, 9, 1));
	fail_each("plain", IMPORT_KINETO);
	forget(state);
	put_packed("packed", "[" KINETO_EVENTS(9, 1) "," KINETO_EVENTS(4, 20) "]");
	fail_each("packed", IMPORT_KINETO);
	forget(state);
	put_json("cut", "[" KINETO_EVENTS(9, 1) ",{'ph':}");
	fail_each("cut", IMPORT_KINETO);
	forget(state);
	put_sql("nsys", NSYS);
	fail_each("nsys", IMPORT_NSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_json_is_kineto_s_whatever_it_is_called, folder_empty),
		cmocka_unit_test_teardown(test_packed_json_is_looked_into, folder_empty),
		cmocka_unit_test_teardown(test_sqlite_is_nsight_s, folder_empty),
		cmocka_unit_test_teardown(test_other_files_are_none, folder_empty),
		cmocka_unit_test_teardown(test_what_cannot_be_read, folder_empty),
		cmocka_unit_test_teardown(test_a_trace_for_each_process, forget),
		cmocka_unit_test_teardown(test_a_file_without_anything, forget),
		cmocka_unit_test_teardown(test_a_byte_order_mark, forget),
		cmocka_unit_test_teardown(test_too_many_processes, forget),
		cmocka_unit_test_teardown(test_a_damaged_file_has_its_beginning, forget),
		cmocka_unit_test_teardown(test_every_allocation_may_fail, forget),
	};

	return cmocka_run_group_tests(tests, folder_begin, folder_end);
}
