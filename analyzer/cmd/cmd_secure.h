/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_secure.h: this program's file may have capabilities (setcap), for host probes. The loader then takes variables such as LD_LIBRARY_PATH
 * out of the environment, which are meant for the program that we run; and no process that does not need one is to have any capability. */
#pragma once

#include <stdbool.h>

/* First of all, with main's arguments as they came. keep: the command has a use for capabilities; of our file's, those stay that host
 * probes may need. False: we have another user's or group's rights (set-user-ID), for which nothing here is made. */
bool secure_start(int argc, char *argv[], bool keep);

/* Capabilities are not needed any more. Nothing where our file has none: then they are the user's own. */
void secure_drop(void);

/* This process will only wait for a program, pass signals on to it and report: of a user's own capabilities too those are given up that
 * this has no use for. */
void secure_drop_to_wait(void);
/* This process needs none, whosever they are. */
void secure_drop_all(void);

/* As getenv, in the environment that we were called with. */
const char *secure_getenv_given(const char *name);

/* In a child that is to become another program: its environment is as it was given, but for what we changed; it has no capability of our
 * file's (nor the ambient ones that its user may have had: the kernel took them as it ran our file), and it may be looked at by its user from
 * now on, not only from when it has become that. Nothing where our file has no capabilities. */
void secure_become_ordinary(void);
