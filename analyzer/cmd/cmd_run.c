/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_run.c: records a program, then says what its device did. Standard output and the exit status stay the program's. */
#include "cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd_directory.h"
#include "cmd_output.h"
#include "cmd_probes.h"
#include "cmd_recorder.h"
#include "cmd_run_adopt.h"
#include "cmd_run_child.h"
#include "cmd_run_probes.h"
#include "cmd_run_why.h"
#include "cmd_secure.h"
#include "tools/text.h"

struct run_opts {
	const char *out, *host, *html;
	bool deepbind;
	struct probes_opts probes;
};

static const struct option_row rows[] = {
	{ "out", 'o', OPT_TEXT, offsetof(struct run_opts, out), "DIR",
	  "record into DIR (GPUSHIM_OUT, else ./gpushim-out)", 0, 0 },
	{ "deepbind", 0, OPT_FLAG, offsetof(struct run_opts, deepbind), NULL,
	  "record libraries loaded with RTLD_DEEPBIND, too: preload the driver's twin", 0, 0 },
	{ "host", 0, OPT_WORD, offsetof(struct run_opts, host), "auto|off|require|ebpf|perf|proc",
	  "host probes: the best that there is (auto), none, or not without them: eBPF's (require), or those named", 0,
	  0 },
	PROBES_ROWS(struct run_opts),
	{ "html", 0, OPT_TEXT, offsetof(struct run_opts, html), "FILE",
	  "the report as a page as well, when the program has ended", 0, 0 },
};

const struct option_set cmd_run_options = {
	.usage =
		"[options] -- PROGRAM [ARGUMENTS]\n\n"
		"Runs the program with the recorder preloaded, then reports on standard error. The exit status is the\n"
		"program's; 2 usage, 4 system, 126 and 127 where it could not be started. Signals are passed on. Where\n"
		"gpushim itself is killed, the program and its recording go on.",
	.rows = rows,
	.n_rows = sizeof(rows) / sizeof(rows[0]),
	.min_paths = 1,
	.max_paths = SIZE_MAX,
	.missing = "no program is named",
	.ends = true,
};

static int fail(enum err_kind kind, const char *what, const char *fact, const char *hint)
{
	struct error e;

	err_set(&e, kind, what, ERR_NO_BYTE, "%s", fact);
	return cmd_fail(&e, hint);
}

/* ---- the recorder ----------------------------------------------------------------------------------- */

static bool is_listed(const char *list, const char *path)
{
	size_t n = strlen(path);

	for (const char *at = list; *at; at += strcspn(at, ": "), at += *at != 0)
		if (strncmp(at, path, n) == 0 && strchr(": ", at[n]))
			return true;
	return false;
}

/* The recorder under the driver's own name: in a folder of its own near the other, as it is built or installed. */
static bool find_twin(char recorder[PATH_MAX])
{
	static const char *const places[] = { "twin/libcuda.so.1", "gpushim/twin/libcuda.so.1" };
	char folder[PATH_MAX], place[PATH_MAX + 32];

	strcpy(folder, recorder);
	*(strrchr(folder, '/') + 1) = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(place, sizeof(place), "%s%s", folder, places[i]);
		if (realpath(place, recorder) && access(recorder, R_OK) == 0)
			return true;
	}
	strcpy(recorder, folder);
	return false;
}

/* First, so that whatever else is preloaded finds our wrappers and not the other way round. */
static int preload(bool deepbind)
{
	const char *before = secure_getenv_given("LD_PRELOAD"), *given = recorder_given();
	char recorder[PATH_MAX], *list;
	int rc;

	if (!recorder_find(recorder))
		return fail(ERR_SYSTEM, given,
			    given ? "the recorder that GPUSHIM_LIBRARY names cannot be read"
				  : "libgpushim.so is neither beside this program nor in ../lib",
			    "try: GPUSHIM_LIBRARY=/path/to/libgpushim.so gpushim run ...");
	if (deepbind && !find_twin(recorder))
		return fail(ERR_SYSTEM, recorder, "has no twin/libcuda.so.1, nor gpushim/twin/libcuda.so.1", NULL);
	if (recorder[strcspn(recorder, ": $")])
		return fail(
			ERR_SYSTEM, recorder,
			"the loader's list of libraries cannot hold this name: ' ', ':' and '$' mean something in it",
			"try: put libgpushim.so elsewhere and set GPUSHIM_LIBRARY to it");
	if (!before || !*before)
		return setenv("LD_PRELOAD", recorder, 1) ? fail(ERR_SYSTEM, NULL, "out of memory", NULL) : 0;
	if (is_listed(before, recorder))
		return 0;
	if (asprintf(&list, "%s:%s", recorder, before) < 0)
		return fail(ERR_SYSTEM, NULL, "out of memory", NULL);
	rc = setenv("LD_PRELOAD", list, 1);
	free(list);
	return rc ? fail(ERR_SYSTEM, NULL, "out of memory", NULL) : 0;
}

/* ---- the run ------------------------------------------------------------------------------------------ */

/* An id of this run, unless whoever starts several parts of one has given them theirs. */
static int choose_id(char id[64])
{
	const char *given = getenv("GPUSHIM_RUN");
	uint64_t random = 0;
	struct tm tm;
	time_t now = time(NULL);

	if (given && *given) {
		snprintf(id, 64, "%s", given); /* as much of it as the recorder keeps */
		return 0;
	}
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = (uint64_t)getpid();
	gmtime_r(&now, &tm);
	snprintf(id, 64, "%04d%02d%02d-%02d%02d%02d-%016" PRIx64, tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
		 tm.tm_hour, tm.tm_min, tm.tm_sec, random);
	return setenv("GPUSHIM_RUN", id, 1) ? fail(ERR_SYSTEM, NULL, "out of memory", NULL) : 0;
}

/* ---- the summary ------------------------------------------------------------------------------------ */

struct recorded {
	char *dir;
	const char *html;
	bool *page; /* set once it is written */
	const struct run_probes *host;
};

static void say_where(const char *what, const char *path)
{
	char clean[PATH_MAX];

	fprintf(stderr, "gpushim: %s %s\n", what, text_clean(clean, sizeof(clean), path, sizeof(clean)));
}

/* What the program ended with is its own: this changes nothing of it. The recording is there still. */
static bool write_page(const struct run *run, const struct summary *s, const char *path)
{
	struct output page = OUTPUT_CLOSED;
	struct error e;
	int status = cmd_refuse_recording(run, path);

	if (!status)
		status = output_open(&page, path);
	if (!status) {
		status = report_html(page.file, s, &e) ? cmd_fail(&e, NULL) : 0;
		cmd_progress_clear();
		status = output_close(&page, status);
	}
	if (!status)
		say_where("page", path);
	return !status;
}

/* A file of that name that is there all the same is another run's. */
static void say_no_page(const char *path, const char *dir)
{
	char page[PATH_MAX], from[PATH_MAX];

	text_clean(page, sizeof(page), path, sizeof(page));
	if (dir)
		fprintf(stderr, "gpushim: no page was written to %s; try: gpushim report %s --html FILE\n", page,
			text_clean(from, sizeof(from), dir, sizeof(from)));
	else
		fprintf(stderr, "gpushim: no page was written to %s\n", page);
}

static int print(const struct summary *s, const void *arg)
{
	const struct report_style style = cmd_style(STDERR_FILENO);
	const struct recorded *recorded = arg;
	struct error e;
	int status = 0;

	fputc('\n', stderr);
	if (report_text(stderr, s, &style, REPORT_GAPS, &e))
		status = cmd_fail(&e, NULL);
	fputc('\n', stderr);
	run_probes_say(recorded->host);
	if (recorded->html)
		*recorded->page = write_page(s->run, s, recorded->html);
	say_where("recorded in", recorded->dir);
	return status;
}

/* What goes wrong here is said, and changes nothing else. */
static void summarise(char *dir, const char *id, const char *program, const char *html, const struct run_probes *host)
{
	bool page = false;
	const struct recorded recorded = { dir, html, &page, host };
	struct error e;
	struct run run;
	char why[512];

	adopt_traces(dir, id);
	if (html)
		cmd_progress_page();
	if (run_open_id(&run, dir, id, &e)) {
		cmd_fail(&e, NULL);
		if (html)
			say_no_page(html, dir);
		return;
	}
	if (run.n_traces) {
		cmd_analyse(&run, NULL, print, &recorded);
		cmd_damage(&run);
	} else if (run.n_missing) {
		cmd_damage(&run);
	} else {
		run_probes_discard(host); /* nobody's idle time to explain */
		why_nothing(why, sizeof(why), program);
		fprintf(stderr, "gpushim: nothing was recorded: %s\n", why);
	}
	if (html && !page)
		say_no_page(html, run.n_traces ? dir : NULL);
	run_close(&run);
}

/* ---- the command ------------------------------------------------------------------------------------ */

/* A page that cannot be written is said before the program has run for hours. */
static int refuse(const struct run_opts *o)
{
	char folder[PATH_MAX];
	struct stat there = { .st_mode = 0 };

	if (!o->html)
		return 0;
	if (strcmp(o->html, "-") == 0)
		return fail(ERR_USAGE, NULL, "run: --html: standard output is the program's", "try: --html FILE");
	snprintf(folder, sizeof(folder), "%.*s.", (int)(text_base(o->html) - o->html), o->html);
	errno = 0;
	if (stat(o->html, &there) != 0 ? eaccess(folder, W_OK | X_OK) != 0 : eaccess(o->html, W_OK) != 0)
		return fail(ERR_SYSTEM, o->html, strerror(errno), NULL);
	if (text_base(o->html)[0] && !S_ISDIR(there.st_mode))
		return 0;
	return fail(ERR_SYSTEM, o->html, "is no name of a file", "try: --html report.html");
}

static int choose_probes(const struct run_opts *o, const char *dir, struct run_probes *h)
{
	bool automatic = strcmp(o->host, "auto") == 0;

	h->required = !automatic;
	h->way = strcmp(o->host, "require") == 0 ? "ebpf" : o->host; /* without wakers much can only be inferred */
	return cmd_probes_settings(&o->probes, "run", dir, &h->settings);
}

/* The reason, and the one command that would help. */
static int say_required(const struct run_probes *h)
{
	char hint[PATH_MAX + 64], self[PATH_MAX], clean[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char what[48];

	self[n > 0 ? n : 0] = 0;
	snprintf(what, sizeof(what), "run: host probes by %s", h->way);
	if (strstr(h->why, "CAP_BPF") && n > 0)
		snprintf(hint, sizeof(hint), "try: sudo setcap cap_bpf,cap_perfmon+ep '%s'",
			 text_clean(clean, sizeof(clean), self, sizeof(clean)));
	else
		snprintf(hint, sizeof(hint), "try: gpushim doctor");
	return fail(ERR_SYSTEM, what, h->why, hint);
}

static bool wants_probes(const struct run_opts *o)
{
	const char *all = getenv("GPUSHIM");

	return strcmp(o->host, "off") != 0 && !(all && strcmp(all, "off") == 0);
}

static int run(char *argv[], const struct run_opts *o, char *dir, const char *id)
{
	struct run_probes host = { 0 };
	const struct child_watch watch = { run_probes_begin, &host };
	struct child_end end = { 0 };
	int status = choose_probes(o, dir, &host);

	if (status)
		return status;
	host.argv = argv;
	if (!wants_probes(o))
		secure_drop();
	if (!child_run(argv, wants_probes(o) ? &watch : NULL, &end))
		return fail(ERR_SYSTEM, NULL, strerror(errno), NULL);
	if (end.refused) {
		run_probes_discard(&host);
		return say_required(&host);
	}
	run_probes_end(&host);
	if (end.error) {
		run_probes_discard(&host);
		fail(ERR_SYSTEM, argv[0], strerror(end.error), NULL);
	} else {
		summarise(dir, id, argv[0], o->html, &host);
	}
	return child_exit_status(&end);
}

int cmd_run(int argc, char *argv[])
{
	struct run_opts o = { .host = "auto" };
	char dir[PATH_MAX], id[64];
	int first, status = cmd_options(&cmd_run_options, argc, argv, &o, &first);

	if (status >= 0)
		return status;
	status = refuse(&o);
	if (!status)
		status = preload(o.deepbind);
	if (!status)
		status = cmd_directory(o.out, dir);
	if (!status && setenv("GPUSHIM_OUT", dir, 1))
		status = fail(ERR_SYSTEM, NULL, "out of memory", NULL);
	if (!status)
		status = choose_id(id);
	return status ? status : run(argv + first, &o, dir, id);
}
