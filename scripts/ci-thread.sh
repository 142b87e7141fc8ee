#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ci-thread.sh: the unit tests under ThreadSanitizer.
exec bash "$(dirname "$0")/sanitize.sh" thread
