#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ci-address.sh: the unit tests under AddressSanitizer and UndefinedBehaviorSanitizer.
exec bash "$(dirname "$0")/sanitize.sh" address,undefined
