/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_run_facts.c: what a run ran on and with, as far as its traces say; and what its devices' memory held. No trace says which driver it was:
 * but where stacks went through a library whose file has its version for a name ("libcuda.so.550.54.15"), that does. */
#include "diff_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice/framework.h"
#include "diff_keep.h"
#include "tools/alloc.h"
#include "tools/text.h"
#include "trace/comms.h"

#define FACTS_MOST 24
#define VALUES_MOST 16 /* of one fact */
#define VALUE_BYTES 400

struct facts {
	struct arena *texts;
	struct diff_fact at[FACTS_MOST];
	size_t n;
	bool failed;
};

/* "" is not known, and no fact. name lives on. */
static void add(struct facts *f, const char *name, const char *value)
{
	const char *kept = value && *value && f->n < FACTS_MOST ? diff_keep_text(f->texts, value) : "";

	f->failed |= !kept;
	if (kept && *kept)
		f->at[f->n++] = (struct diff_fact){ name, kept };
}

/* ---- values that several may have ---- */

struct values { /* each once, sorted: which process came first is chance */
	const char *at[VALUES_MOST];
	size_t n;
};

/* value lives on. Beyond the most: it is left out. */
static void one_more(struct values *v, const char *value)
{
	size_t i = v->n;

	for (size_t k = 0; k < v->n; k++)
		if (strcmp(v->at[k], value) == 0)
			return;
	if (!*value || v->n == VALUES_MOST)
		return;
	for (v->n++; i > 0 && strcmp(v->at[i - 1], value) > 0; i--)
		v->at[i] = v->at[i - 1];
	v->at[i] = value;
}

/* "a, b" */
static void add_values(struct facts *f, const char *name, const struct values *v)
{
	char text[VALUE_BYTES] = "";
	size_t used = 0;

	for (size_t i = 0; i < v->n && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? ", " : "", v->at[i]);
	add(f, name, text);
}

static void gpus(struct facts *f, const struct summary *s)
{
	struct values v = { 0 };

	for (size_t i = 0; i < s->n_devices; i++)
		one_more(&v, s->devices[i].name);
	add_values(f, "gpu", &v);
}

static void hosts(struct facts *f, const struct run *run)
{
	struct values host = { 0 }, recorder = { 0 };

	for (size_t i = 0; i < run->n_traces; i++) {
		one_more(&host, run->traces[i]->header.host);
		one_more(&recorder, run->traces[i]->header.shim);
	}
	add_values(f, "host", &host);
	add_values(f, "recorder", &recorder);
}

/* "550.54.15" of "/usr/lib/libcuda.so.550.54.15"; NULL where its name says no version, but for one of compatibility ("libcuda.so.1"). */
static const char *version_in(const char *path, const char *library)
{
	const char *base = text_base(path), *version;

	if (strncmp(base, library, strlen(library)) != 0)
		return NULL;
	version = base + strlen(library);
	return strchr(version, '.') ? version : NULL;
}

static void libraries(struct facts *f, const struct run *run)
{
	static const struct {
		const char *fact, *library;
	} known[] = { { "driver", "libcuda.so." }, { "cuda", "libcudart.so." }, { "cudnn", "libcudnn.so." } };

	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
		struct values v = { 0 };

		for (size_t i = 0; i < run->n_traces; i++)
			for (size_t o = 0; o < run->traces[i]->stacks.n_objects; o++) {
				const char *path = run->traces[i]->stacks.objects[o].file.path;
				const char *version = path ? version_in(path, known[k].library) : NULL;

				one_more(&v, version ? version : "");
			}
		add_values(f, known[k].fact, &v);
	}
}

static void nccl(struct facts *f, const struct run *run)
{
	struct values v = { 0 };

	for (size_t i = 0; i < run->n_traces; i++)
		for (size_t k = 0; k < run->traces[i]->n_comms; k++) {
			uint32_t n = run->traces[i]->comms[k].version;
			char text[TEXT_SHORT] = "";
			const char *kept;

			if (n >= 10000) /* since 2.9: 22105 is 2.21.5 */
				snprintf(text, sizeof(text), "%u.%u.%u", n / 10000, n / 100 % 100, n % 100);
			else if (n)
				snprintf(text, sizeof(text), "%u.%u.%u", n / 1000, n / 100 % 10, n % 100);
			kept = diff_keep_text(f->texts, text);
			f->failed |= !kept;
			one_more(&v, kept ? kept : "");
		}
	add_values(f, "nccl", &v);
}

/* "3.11" of "/usr/lib/python3.11/queue.py" and of "libpython3.11.so.1.0" */
static void python(struct facts *f, const struct run *run)
{
	struct values v = { 0 };

	for (size_t i = 0; i < run->n_traces; i++) {
		const struct stacks *s = &run->traces[i]->stacks;

		for (size_t k = 0; k < s->n_codes + s->n_objects; k++) {
			const char *path = k < s->n_codes ? s->codes[k].file : s->objects[k - s->n_codes].file.path;
			const char *at = path ? strstr(path, "python3.") : NULL;
			size_t n = at ? strspn(at + 8, "0123456789") : 0;
			char text[TEXT_SHORT];
			const char *kept;

			if (!n || n > 2)
				continue;
			snprintf(text, sizeof(text), "%.*s", (int)n + 2, at + 6);
			kept = diff_keep_text(f->texts, text);
			f->failed |= !kept;
			one_more(&v, kept ? kept : "");
		}
	}
	add_values(f, "python", &v);
}

static const char *machine_of(const struct run *run)
{
	switch (run->n_traces ? run->traces[0]->header.machine : 0) {
	case GST_MACHINE_X86_64:
		return "x86-64";
	case GST_MACHINE_AARCH64:
		return "aarch64";
	default:
		return "";
	}
}

static void program(struct facts *f, const struct run *run)
{
	const struct gst_file_header *h = run->n_traces ? &run->traces[0]->header : NULL;
	enum framework framework = framework_of(run);
	char number[TEXT_SHORT];

	if (h)
		add(f, "command", text_command(h->cmdline[0] ? h->cmdline : h->exe));
	add(f, "framework", framework == FRAMEWORK_NONE ? "" : framework_name(framework));
	add(f, "processes", text_count(number, run->n_traces));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct diff_fact *)a)->name, ((const struct diff_fact *)b)->name);
}

/* ---- memory ---- */

/* What a damaged record says may be any number. */
static uint64_t within_any(uint64_t bytes)
{
	return bytes < MEMORY_BEYOND_ANY ? bytes : MEMORY_BEYOND_ANY;
}

static struct diff_memory memory_of_device(const struct memory_device *m)
{
	if (!m)
		return (struct diff_memory){ 0 };
	return (struct diff_memory){ .known = true,
				     .peak_allocated = within_any(m->peak_allocated),
				     .peak_reserved = within_any(m->peak_reserved),
				     .fragmentation = m->framework.told ? 0 : memory_fragmentation(&m->worst.use),
				     .out_of_memory = m->out_of_memory,
				     .told = m->framework.told };
}

enum err_kind diff_run_add_facts(struct diff_run *out, const struct summary *s, struct error *e)
{
	struct facts f = { .texts = &out->texts };

	gpus(&f, s);
	hosts(&f, s->run);
	libraries(&f, s->run);
	nccl(&f, s->run);
	python(&f, s->run);
	program(&f, s->run);
	add(&f, "machine", machine_of(s->run));
	add(&f, "device timing", s->device_timing);
	add(&f, "host probes", s->host_probes);
	add(&f, "gpushim", GPUSHIM_VERSION);
	array_sort(f.at, f.n, sizeof(f.at[0]), by_name);
	out->facts = f.failed ? NULL : diff_keep_list(&out->texts, f.at, f.n, sizeof(f.at[0]));
	out->n_facts = out->facts ? f.n : 0;
	for (size_t i = 0; i < out->n_devices && i < s->n_devices; i++)
		out->devices[i].memory = memory_of_device(s->devices[i].memory);
	return out->facts ? ERR_NONE : err_no_memory(e, out->path);
}
