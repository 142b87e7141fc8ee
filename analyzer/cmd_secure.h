/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_secure.h: this program's file may have capabilities (setcap), for host probes. The loader then takes variables such as LD_LIBRARY_PATH
 * out of the environment, which are meant for the program that we run; and no command that records nothing is to have any capability. */
#pragma once

#include <stdbool.h>

/* First of all, with main's arguments as they came. keep: the command has a use for capabilities. */
void secure_start(int argc, char *argv[], bool keep);

/* Capabilities are not needed any more. Nothing where our file has none. */
void secure_drop(void);

/* As getenv, in the environment that we were called with. */
const char *secure_getenv_given(const char *name);

/* In a child that is to become another program: its environment is as it was given, but for what we changed; it has no capability and
 * may be looked at by its user from now on, not only from when it has become that. Nothing where our file has no capabilities. */
void secure_become_ordinary(void);
