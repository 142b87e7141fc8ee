# SPDX-License-Identifier: BSD-2-Clause
# These let single allocations fail.
UNIT_FAILING := cause_ops comm_hashes diff_baseline diff_changes diff_run_parts export_sqlite hash_index host_trace \
	html_lanes_merge html_pack html_strings import import_build import_collectives import_json import_kineto_damage \
	import_nsys_damage pack ranks ranks_counted report report_ranks run run_imported run_windows steps_marks \
	steps_micro steps_order steps_training
$(foreach name,$(UNIT_FAILING),$(eval LDFLAGS_test_$(name) = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc))
# Or one kind of them.
LDFLAGS_test_chain_model = -Wl,--wrap=realloc
LDFLAGS_test_cause_chain_words = -Wl,--wrap=malloc
# … and refuses a system call.
LDFLAGS_test_shim_peek = -Wl,--wrap=process_vm_readv
# … or answers it itself where an emulator does not.
LDFLAGS_test_shim_elf_list = -Wl,--wrap=syscall
LDFLAGS_test_shim_stack = -Wl,--wrap=syscall
LDFLAGS_test_shim_stack_look = -Wl,--wrap=syscall
LDFLAGS_test_shim_stack_objects = -Wl,--wrap=syscall
LDFLAGS_test_shim_stack_python = -Wl,--wrap=syscall
LDFLAGS_test_shim_stack_python_lock = -Wl,--wrap=syscall
# … or sees what the kernel is asked.
LDFLAGS_test_shim_sample_file = -Wl,--wrap=syscall
LDFLAGS_test_shim_sample_others = -Wl,--wrap=syscall,--wrap=task_file_read
# … and ends a thread that was looked at.
LDFLAGS_test_shim_sample = -Wl,--wrap=stacks_look
# … and counts who makes its own.
LDFLAGS_test_shim_stock = -Wl,--wrap=segment_claim
# … and says what time it is.
LDFLAGS_test_shim_cupti_record = -Wl,--wrap=clock_gettime
# … and ends the reader of an object.
LDFLAGS_test_symbols = -Wl,--wrap=object_open,--wrap=object_places
# … and of a name.
LDFLAGS_test_demangle = -Wl,--wrap=cplus_demangle_v3_callback
# … and comes in between.
LDFLAGS_test_shim_recycle_between = -Wl,--wrap=keeper_take,--wrap=keeper_copy,--wrap=pages_map,--wrap=pages_unmap
# … and makes no more threads.
LDFLAGS_test_pool = -Wl,--wrap=pthread_create,--wrap=sched_getaffinity,--wrap=sysconf
# … and fills a disk.
LDFLAGS_test_spill = -Wl,--wrap=fallocate
LDFLAGS_test_probes_host_file = -Wl,--wrap=posix_fallocate
# … and takes a file of /proc away.
LDFLAGS_test_probes_proc = -Wl,--wrap=open
# … and knows what is put down.
LDFLAGS_test_probes_killed = -Wl,--wrap=host_keep_copy,--wrap=memset
# … and copies a file in the middle of a write.
LDFLAGS_test_reader_live = -Wl,--wrap=pread
# It writes with the collector what it reads with the analyzer.
$(BUILD)/unit/test_host_live: $(BUILD)/libprobes.a
# A part of the command line program, with stand-ins for what it uses.
$(BUILD)/unit/test_run_child: $(BUILD)/obj/analyzer/cmd/cmd_run_child.o
LDFLAGS_test_run_child = -Wl,--wrap=prctl
LDFLAGS_test_probes_sockets = -Wl,--wrap=syscall
LDFLAGS_test_shim_observed = -Wl,--wrap=prctl
$(BUILD)/unit/test_run_program: $(BUILD)/obj/analyzer/cmd/cmd_run_program.o
