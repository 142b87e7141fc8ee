/* SPDX-License-Identifier: BSD-2-Clause */
#include "watch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../proc_text.h"

#define TELL_NS 100000000u

bool watch_wants(const struct probes_settings *s, enum gst_probe probe)
{
	return !(s->off >> probe & 1);
}

/* Are the system calls of its tasks for us to see? */
static bool sees_calls(pid_t root)
{
	char text[256];

	return proc_text_read(text, sizeof(text), "/proc/%d/syscall", (int)root) > 0;
}

static uint32_t common_probes(struct watch *w)
{
	uint32_t watched = 0;

	if (watch_wants(&w->settings, GST_PROBE_SYSCALL) && sees_calls(w->settings.root))
		watched |= 1u << GST_PROBE_SYSCALL;
	if (w->pipes)
		watched |= 1u << GST_PROBE_PIPES;
	if (w->pressure && pressure_is_known(w->pressure))
		watched |= 1u << GST_PROBE_PRESSURE;
	if (w->pressure && watch_wants(&w->settings, GST_PROBE_THROTTLE) && pressure_group_is_known(w->pressure))
		watched |= 1u << GST_PROBE_THROTTLE;
	return watched;
}

bool watch_start(struct watch *w, const struct probes_settings *s, struct host_file *f, enum gst_probes_how how,
		 uint32_t watched, char why[256])
{
	struct proc_task own;

	memset(w, 0, sizeof(*w));
	w->settings = *s;
	w->file = f;
	w->waits.file = f;
	w->waits.files = proc_files_new();
	if (w->waits.files && watch_wants(s, GST_PROBE_PIPES))
		w->pipes = pipe_ends_new(f, w->waits.files);
	if (watch_wants(s, GST_PROBE_PRESSURE) || watch_wants(s, GST_PROBE_THROTTLE))
		w->pressure = pressure_new((uint32_t)s->root);
	if (!w->waits.files) {
		snprintf(why, 256, "no memory");
		return false;
	}
	if (proc_task_born((uint32_t)s->root, (uint32_t)s->root) == 0) {
		snprintf(why, 256, "process %d is not to be seen in /proc", (int)s->root);
		return false;
	}
	if (proc_task_read(0, (uint32_t)getpid(), &own))
		w->own_pid_ns = own.pid_ns;
	w->probes.begin = mono_ns();
	w->probes.how = how;
	w->probes.root = (uint32_t)s->root;
	w->probes.watched = (watched | common_probes(w)) & ~s->off;
	w->probes.wait_ns = s->wait_ns;
	return true;
}

void watch_write_probes(struct watch *w, uint64_t end)
{
	w->probes.end = end;
	host_file_append(w->file, GST_PROBES, sizeof(w->probes), &w->probes);
}

void watch_free(struct watch *w)
{
	pipe_ends_free(w->pipes);
	pressure_free(w->pressure);
	proc_files_free(w->waits.files);
	memset(w, 0, sizeof(*w));
}

void watch_task(struct watch *w, const struct proc_task *t, uint16_t flags, uint64_t begin)
{
	struct gst_task r = {
		.begin = begin,
		.start_ns = t->start_ns,
		.pid_ns = t->pid_ns,
		.tid = t->tid,
		.pid = t->pid,
		.own_tid = t->own_tid,
		.own_pid = t->own_pid,
		.creator = t->creator,
		.flags = flags,
	};

	if (t->tid == (uint32_t)w->settings.root)
		r.flags |= GST_TASK_ROOT;
	memcpy(r.name, t->name, strnlen(t->name, sizeof(r.name)));
	host_file_append(w->file, GST_TASK, sizeof(r), &r);
	if (w->pipes && t->tid == t->pid && !(flags & GST_TASK_EXEC))
		pipe_ends_process(w->pipes, t->pid);
}

void watch_task_end(struct watch *w, uint32_t tid, uint32_t pid, uint64_t at)
{
	struct gst_task_end r = { .at = at, .tid = tid };

	host_file_append(w->file, GST_TASK_END, sizeof(r), &r);
	if (w->pipes && tid == pid && proc_task_born(pid, pid) == 0)
		pipe_ends_gone(w->pipes, pid);
}

bool watch_look(struct watch *w, uint32_t pid, uint32_t tid, struct gst_wait_for *what)
{
	if (!proc_wait_look(&w->waits, pid, tid, what))
		return false;
	if (!watch_wants(&w->settings, GST_PROBE_SYSCALL))
		proc_wait_unknown(what);
	if (w->pipes && (what->fd_kind == GST_FD_PIPE || what->fd_kind == GST_FD_SOCKET))
		pipe_ends_wanted(w->pipes, pid, what->inode, w->waits.fd.peer);
	return true;
}

bool watch_tells(uint64_t out, uint64_t told, uint64_t now)
{
	if (now < out + TELL_NS)
		return false;
	return !told || now - out >= 2 * (told - out);
}

void watch_tick(struct watch *w)
{
	if (w->pressure)
		pressure_tick(w->pressure, w->file);
	if (w->pipes)
		pipe_ends_tick(w->pipes);
}

uint64_t watch_throttled(struct watch *w, uint64_t begin, uint64_t end)
{
	if (!(w->probes.watched >> GST_PROBE_THROTTLE & 1))
		return 0;
	return pressure_throttled(w->pressure, begin, end);
}
