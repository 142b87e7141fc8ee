# SPDX-License-Identifier: BSD-2-Clause
# test_run lets single allocations fail.
LDFLAGS_test_run = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
LDFLAGS_test_report = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
# … and refuses a system call.
LDFLAGS_test_shim_peek = -Wl,--wrap=process_vm_readv
# … and says what time it is.
LDFLAGS_test_shim_cupti_record = -Wl,--wrap=clock_gettime
