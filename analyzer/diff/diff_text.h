/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_text.h: what the screen of a diff is made with. */
#pragma once

#include "diff_shown.h"
#include "report/report_page.h"
