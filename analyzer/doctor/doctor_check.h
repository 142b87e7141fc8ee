/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_check.h: what checks are made of, and the checks (doctor_checks.def). */
#pragma once

#include "doctor.h"

#define DOCTOR_GROUP(title)
#define CHECK(name, id, title) void check_##name(const struct doctor_machine *m, struct doctor_row *row);
#include "doctor_checks.def"
#undef CHECK
#undef DOCTOR_GROUP

/* Each sets one text of a row, cut where it is too long. */
void row_fact(struct doctor_row *row, enum doctor_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void row_means(struct doctor_row *row, const char *format, ...) __attribute__((format(printf, 2, 3)));
void row_command(struct doctor_row *row, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A file below m->root, as text without its last newline; at most size - 1 bytes. False: errno. */
bool root_read(const struct doctor_machine *m, const char *path, char *buf, size_t size);
/* A whole number that a file holds. False: errno, EINVAL where it is none. */
bool root_number(const struct doctor_machine *m, const char *path, long *value);
/* Where a link there leads. False: errno. */
bool root_link(const struct doctor_machine *m, const char *path, char *buf, size_t size);
bool root_has(const struct doctor_machine *m, const char *path);
/* "Seccomp:\t2" of such a file: 2. False: there is no such line. */
bool root_field(const struct doctor_machine *m, const char *path, const char *key, char *value, size_t size);

/* The path as one word of a shell's. */
const char *shell_word(char *buf, size_t size, const char *path);

bool has_cap(uint64_t caps, int cap);
/* CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, which has all that they have. */
bool caps_suffice(uint64_t caps);

enum doctor_container { IN_NONE, IN_OTHER, IN_DOCKER, IN_PODMAN, IN_KUBERNETES };
enum doctor_container container_kind(const struct doctor_machine *m);
/* A row's command: how to start such a container so that it may do more. caps: "BPF PERFMON". */
void row_container_command(struct doctor_row *row, const struct doctor_machine *m, bool bpf, bool no_seccomp);
/* In a user namespace of its own capabilities mean nothing to the kernel's probes. */
bool in_user_namespace(const struct doctor_machine *m);
/* Why an attempt was refused, in words. */
const char *trial_words(char buf[128], const struct doctor_trial *t);
