# SPDX-License-Identifier: BSD-2-Clause
# gpushim: one non-recursive Makefile. Sources are found by wildcard: a new file needs no edit here.
# A folder's own exceptions (LDFLAGS_<program> = …) stand in that folder's build.mk.

# ---- knobs: make VAR=value -----------------------------------------------------------------------------
# BUILD=dir      where everything goes; several builds can live side by side
# SAN=a,b        sanitizers: address,undefined or thread; its own build directory by default
# WERROR=1       warnings are errors (CI)
# CROSS=prefix   for another processor: CROSS=aarch64-linux-gnu-; its own build directory by default, which its libraries are fetched into
# V=1            show the commands
SAN     ?=
CROSS   ?=
ARCH    := $(or $(firstword $(subst -, ,$(CROSS))),$(shell uname -m))
BUILD   ?= build$(if $(CROSS),-$(ARCH))$(if $(SAN),-san-$(subst $(comma),-,$(SAN)))
PREFIX  ?= /usr/local
DESTDIR ?=
CLANG   ?= clang
OPT     ?= -O$(if $(findstring address,$(SAN)),1,2) -g$(if $(SAN),1)
PYTHON  ?= python3
VERSION := 0.1.0-dev

comma := ,
Q     := $(if $(V),,@)
SHELL := /bin/bash

MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
.DEFAULT_GOAL := all

# ---- setup: find or install what is missing ------------------------------------------------------------
# setup.mk says where the CUDA headers are. make builds it first and then reads this file again.
needs_no_setup := help clean
goals := $(or $(MAKECMDGOALS),all)
ifneq ($(filter-out $(needs_no_setup),$(goals)),)
-include $(BUILD)/setup.mk
endif

$(BUILD)/setup.mk: scripts/setup.sh scripts/cuda-include.sh
	$(Q)BUILD=$(BUILD) CROSS=$(CROSS) scripts/setup.sh build

ifneq ($(CROSS),)
SYSROOT := --sysroot=$(abspath $(BUILD)/sysroot)
CC      := $(CROSS)gcc $(SYSROOT)
LD      := $(CROSS)ld
AR      := $(CROSS)ar
endif

# ---- flags ---------------------------------------------------------------------------------------------
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla $(if $(WERROR),-Werror)
# Without `null`: GCC takes its answer from the flags of an addition that the linker turns into a lea, where a thread-local variable's
# address is meant; and address shows a null pointer as well.
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer $(if $(findstring undefined,$(SAN)),-fno-sanitize-recover=undefined -fno-sanitize=null))
CPPFLAGS += -D_GNU_SOURCE= -DGPUSHIM_VERSION='"$(VERSION)"' -iquote .
ALL_CFLAGS = -std=gnu11 $(OPT) $(WARN) $(SANFLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP
CUDA_FLAGS = -isystem $(CUDA_INC)
LINK       = $(CC) $(SANFLAGS) $(LDFLAGS)

# say,VERB: the one line printed for a step
quiet = $(findstring s,$(firstword -$(MAKEFLAGS)))
say = $(if $(V)$(quiet),,@printf '  %-5s %s\n' $(1) $@)
quote = '$(subst ','\'',$(1))'
# Every object depends on this file, which changes when the compiler or its flags do.
FLAGS_FILE := $(BUILD)/flags
flags_now := $(CC) $(ALL_CFLAGS) $(LDFLAGS) $(CUDA_INC)
$(FLAGS_FILE): FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(call quote,$(flags_now)) | cmp -s - $@ || printf '%s\n' $(call quote,$(flags_now)) >$@
.PHONY: FORCE
FORCE:

# obj,sources: their object files
obj = $(patsubst %,$(BUILD)/obj/%.o,$(basename $(1)))

# ---- shim → libgpushim.so ------------------------------------------------------------------------------
SHIM_C   := $(wildcard shim/*.c)
SHIM_S   := $(wildcard shim/arch/*_$(ARCH).S)
SHIM_OBJ := $(call obj,$(SHIM_C) $(SHIM_S))
SHIM_SO  := $(if $(SHIM_C),$(BUILD)/libgpushim.so)
SHIM_TEST_A := $(if $(SHIM_C),$(BUILD)/libshim_test.a)

$(BUILD)/obj/shim/%.o: ALL_CFLAGS += -fPIC -fvisibility=hidden -ftls-model=initial-exec $(CUDA_FLAGS)
$(call obj,$(SHIM_C)): ALL_CFLAGS += -include shim/no_c23.h

# The twin: the same with the driver's own name, for callers whose look-ups pass by what is preloaded (shim/twin/README.md).
TWIN_OBJ := $(filter-out $(call obj,shim/driver.c),$(SHIM_OBJ)) $(call obj,$(wildcard shim/twin/*.c shim/twin/*_$(ARCH).S))
TWIN_SO  := $(if $(SHIM_C),$(BUILD)/twin/libcuda.so.1)

$(BUILD)/obj/shim/twin/%.o: ALL_CFLAGS += -iquote shim

# now: no lazy binding inside a traced call; nodelete: threads may still be in our code at dlclose.
$(BUILD)/libgpushim.so: $(SHIM_OBJ)
	$(call say,LINK)
	$(Q)$(LINK) -shared -Wl,-soname,libgpushim.so -Wl,-z,now -Wl,-z,nodelete $(if $(SAN),,-Wl$(comma)-z$(comma)defs) -Wl,--as-needed \
		$(LDFLAGS_libgpushim) -o $@ $^

$(BUILD)/twin/libcuda.so.1: $(TWIN_OBJ)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-soname,libcuda.so.1 -Wl,-z,now -Wl,-z,nodelete $(if $(SAN),,-Wl$(comma)-z$(comma)defs) -Wl,--as-needed \
		-Wl,--disable-new-dtags -Wl,-rpath,'$$ORIGIN' $(LDFLAGS_libgpushim) -o $@ $^
	$(Q)ln -sf libcuda.so.1 $(@D)/libcuda.so

# ---- host probes → libprobes.a -------------------------------------------------------------------------
# What needs clang and libbpf is added by shim/probes/build.mk, where those are.
PROBES_C := $(filter-out shim/probes/ebpf%.c %.bpf.c,$(wildcard shim/probes/*.c))
PROBES_A := $(BUILD)/libprobes.a

# What the recorder does as well: the form of its files, how they get their names, how they are moved.
PROBES_BOTH := $(addprefix shim/,cgroup.c cgroup_cpu.c elsewhere.c file_copy.c file_system.c layout.c lines.c local_dir.c mounts.c pages.c process_info.c proc_text.c rename_new.c run_dir.c)

$(BUILD)/libprobes.a: $(call obj,$(PROBES_C) $(PROBES_BOTH))

# ---- analyzer → gpushim --------------------------------------------------------------------------------
AN_C     := $(wildcard analyzer/*.c analyzer/*/*.c)
AN_CLI_C := $(filter analyzer/main.c analyzer/cmd/%,$(AN_C))
AN_STATIC_C := analyzer/symbols/symbols_static.c analyzer/doctor/doctor_static.c analyzer/export/export_sqlite_static.c analyzer/import/import_inflate_static.c
# ISA-L comes as a shared library only; zlib does where it is not there.
ISAL     := $(if $(findstring /,$(shell $(CC) -print-file-name=libisal.so)),-lisal)
AN_LIB_C := $(filter-out $(AN_CLI_C) $(AN_STATIC_C) $(if $(ISAL),,analyzer/import/import_inflate.c),$(AN_C)) $(if $(ISAL),,analyzer/import/import_inflate_static.c)
AN_A     := $(if $(AN_LIB_C),$(BUILD)/libanalyzer.a)
# Within the shared library each of yajl's calls goes through a table: a tenth of its time.
YAJL     := $(if $(findstring /,$(shell $(CC) -print-file-name=libyajl_s.a)),-l:libyajl_s.a,-lyajl)
AN_LIBS  := $(YAJL) $(ISAL) -lsqlite3 -ldw -lelf -liberty -lzstd -lz -lm -lpthread
AN_STATIC_LIBS = -l:libyajl_s.a -lsqlite3 -ldw -lelf -liberty -lbz2 -llzma -lzstd -lz -lm -lpthread
GPUSHIM  := $(if $(filter analyzer/main.c,$(AN_C)),$(BUILD)/gpushim)

$(BUILD)/obj/analyzer/%.o: ALL_CFLAGS += -iquote analyzer

# The page of `report --html`, made of analyzer/html/page/; the assembler takes it in as it is.
PAGE      := $(BUILD)/page/tail.html
PAGE_FLAG  = -DPAGE_DIR='"$(abspath $(BUILD))/page"'

$(PAGE): scripts/page.sh analyzer/html/html_classes.def analyzer/html/page $(wildcard analyzer/html/page/* analyzer/html/page/diff/*)
	$(call say,PAGE)
	$(Q)scripts/page.sh $(abspath $(@D))

$(foreach made,obj checked fuzzed,$(BUILD)/$(made)/analyzer/html/html_assets.o): $(PAGE)
$(call obj,analyzer/html/html_assets.c) $(BUILD)/checked/analyzer/html/html_assets.o: ALL_CFLAGS += $(PAGE_FLAG)
$(BUILD)/fuzzed/analyzer/html/html_assets.o: FUZZ_FLAGS += $(PAGE_FLAG)

# The manual's pages, likewise; `gpushim help --man NAME` makes man's of them. A build for another processor makes them by qemu.
MANUAL      := $(wildcard analyzer/man/*.txt)
MANUAL_O    := $(call obj,analyzer/cmd/cmd_manual_pages.c)
SHARE       := $(addprefix $(BUILD)/man/gpushim,.1 $(patsubst %,-%.1,$(filter-out gpushim completion,$(basename $(notdir $(MANUAL)))))) \
	$(BUILD)/completion/gpushim $(BUILD)/completion/_gpushim
RUN_BUILT   := $(if $(CROSS),qemu-$(ARCH) -L $(BUILD)/sysroot)

$(MANUAL_O): $(MANUAL)
$(MANUAL_O): ALL_CFLAGS += -DMANUAL_DIR='"$(abspath analyzer/man)"'

$(BUILD)/man/gpushim.1: $(BUILD)/gpushim
	$(call say,MAN)
	$(Q)mkdir -p $(@D) && $(RUN_BUILT) $< help --man >$@

$(BUILD)/man/gpushim-%.1: $(BUILD)/gpushim
	$(call say,MAN)
	$(Q)mkdir -p $(@D) && $(RUN_BUILT) $< help --man $* >$@

$(BUILD)/completion/gpushim: $(BUILD)/gpushim
	$(Q)mkdir -p $(@D) && $(RUN_BUILT) $< completion bash >$@

$(BUILD)/completion/_gpushim: $(BUILD)/gpushim
	$(Q)mkdir -p $(@D) && $(RUN_BUILT) $< completion zsh >$@

$(BUILD)/gpushim: $(call obj,$(AN_CLI_C)) $(PROBES_A) $(AN_A)
	$(call say,LINK)
	$(Q)$(LINK) -o $@ $^ $(PROBES_LIBS) $(AN_LIBS)

$(BUILD)/gpushim-static: $(call obj,$(AN_CLI_C) $(AN_STATIC_C)) $(PROBES_A) $(AN_A)
	$(call say,LINK)
	$(Q)$(LINK) -static -Wl,--wrap=dlopen -o $@ $^ $(PROBES_LIBS) $(AN_STATIC_LIBS)

$(BUILD)/libanalyzer.a: $(call obj,$(AN_LIB_C))
$(BUILD)/libshim_test.a: $(SHIM_OBJ) $(call obj,shim/twin/loader_cache.c)
$(BUILD)/libanalyzer.a $(BUILD)/libshim_test.a $(PROBES_A):
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# ---- tests/simgpu → libcuda.so.1 -----------------------------------------------------------------------
# generate.py writes an unknown number of files from cuda.h, so they become one object.
SIM       := $(BUILD)/simgpu
SIM_C     := $(wildcard tests/simgpu/*.c)
SIM_GEN   := $(wildcard tests/simgpu/generate.py)
SIM_STAMP := $(if $(SIM_GEN),$(SIM)/gen/stamp)
SIM_GEN_O := $(if $(SIM_GEN),$(SIM)/gen/generated.o)
SIM_SO    := $(if $(SIM_C),$(SIM)/libcuda.so.1)

$(BUILD)/obj/tests/simgpu/%.o $(SIM)/gen/generated.o: ALL_CFLAGS += -fPIC -iquote tests/simgpu -I$(SIM)/gen $(CUDA_FLAGS)
$(call obj,$(SIM_C)): | $(SIM_STAMP)

$(SIM)/gen/stamp: $(SIM_GEN) $(wildcard tests/simgpu/*.py tests/simgpu/*.def tests/simgpu/*.txt) $(FLAGS_FILE)
	$(call say,GEN)
	$(Q)rm -rf $(@D) && mkdir -p $(@D)
	$(Q)$(PYTHON) tests/simgpu/generate.py $(CUDA_INC) $(@D)
	$(Q)touch $@

$(SIM)/gen/generated.o: $(SIM_STAMP) $(FLAGS_FILE)
	$(call say,CC)
	$(Q)set -e; objs=; for c in $(@D)/*.c; do [ -e "$$c" ] || continue; \
		$(CC) $(ALL_CFLAGS) -MT $@ -c -o "$${c%.c}.part" "$$c"; objs="$$objs $${c%.c}.part"; done; \
	if [ -n "$$objs" ]; then $(LD) -r -o $@ $$objs; else echo | $(CC) -x c -c -o $@ -; fi

$(SIM)/libcuda.so.1: $(call obj,$(SIM_C)) $(SIM_GEN_O)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-Bsymbolic -Wl,-soname,libcuda.so.1 $(LDFLAGS_libcuda) -o $@ $^ -lpthread -lm
	$(Q)ln -sf libcuda.so.1 $(@D)/libcuda.so

# ---- test programs: one per file -----------------------------------------------------------------------
# prog,dir,sources: the programs made of dir's sources. common*.c are linked into each of them.
prog = $(patsubst tests/$(1)/%.c,$(BUILD)/$(1)/%,$(filter-out tests/$(1)/common%,$(2)))
common = $(call obj,$(wildcard tests/$(1)/common*.c))

# tests/support: hand-made traces, linked into the analyzer's unit tests, the tools and the fuzzers.
SUPPORT_C := $(wildcard tests/support/*.c)
SUPPORT_O := $(call obj,$(SUPPORT_C))

# Some tests put functions of their own in libc's place that a sanitizer needs while it starts.
UNIT_UNSANITIZED := test_shim_elf_object test_shim_pages
UNIT_C     := $(filter-out $(if $(SAN),$(UNIT_UNSANITIZED:%=tests/unit/%.c)),$(wildcard tests/unit/test_*.c))
UNIT       := $(call prog,unit,$(UNIT_C))
UNIT_SIM   := $(filter $(BUILD)/unit/test_simgpu%,$(UNIT))
UNIT_SHIM  := $(filter $(BUILD)/unit/test_shim_%,$(UNIT))
UNIT_PROBES := $(filter $(BUILD)/unit/test_probes_%,$(UNIT))
UNIT_AN    := $(filter-out $(UNIT_SIM) $(UNIT_SHIM) $(UNIT_PROBES),$(UNIT))
UNIT_O     := $(call common,unit)

$(BUILD)/obj/tests/unit/%.o: ALL_CFLAGS += -iquote analyzer -iquote shim $(CUDA_FLAGS)
$(BUILD)/obj/tests/unit/test_shim_%.o: ALL_CFLAGS += -iquote shim
$(BUILD)/obj/tests/unit/test_simgpu%.o: ALL_CFLAGS += -iquote tests/simgpu

$(UNIT_AN): $(BUILD)/%: $(BUILD)/obj/tests/%.o $(UNIT_O) $(SUPPORT_O) $(AN_A)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) $(LDFLAGS_$(@F)) -o $@ $^ -lcmocka $(AN_LIBS)

$(UNIT_SHIM): $(BUILD)/%: $(BUILD)/obj/tests/%.o $(UNIT_O) $(SHIM_TEST_A)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) $(LDFLAGS_$(@F)) -o $@ $^ -lcmocka -lpthread -lm

# Some bring a backend of their own: what they define is not taken from the library.
$(UNIT_PROBES): $(BUILD)/%: $(BUILD)/obj/tests/%.o $(UNIT_O) $(SUPPORT_O) $(PROBES_A) $(AN_A)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) $(LDFLAGS_$(@F)) -o $@ $^ -lcmocka $(PROBES_LIBS) $(AN_LIBS)

$(UNIT_SIM): $(BUILD)/%: $(BUILD)/obj/tests/%.o $(UNIT_O) $(SIM_SO)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) $(LDFLAGS_$(@F)) -o $@ $(filter %.o,$^) -L$(SIM) -lcuda -Wl,-rpath,'$$ORIGIN/../simgpu' -lcmocka -lpthread -lm

# tests/workloads: C programs to record. *_linked.c name libcuda.so.1 in DT_NEEDED; the others find it themselves.
# *_plugin.c are libraries that such programs load; they name it too.
WL_C      := $(filter-out %_plugin.c,$(wildcard tests/workloads/*.c))
WL_PLUGIN := $(patsubst tests/workloads/%.c,$(BUILD)/workloads/%.so,$(wildcard tests/workloads/*_plugin.c))
WL        := $(call prog,workloads,$(WL_C))
WL_LINKED := $(filter %_linked,$(WL))
WL_O      := $(call common,workloads)

$(BUILD)/obj/tests/workloads/%.o: ALL_CFLAGS += -iquote tests/workloads $(CUDA_FLAGS)

$(filter-out $(WL_LINKED),$(WL)): $(BUILD)/%: $(BUILD)/obj/tests/%.o $(WL_O)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) $(LDFLAGS_$(@F)) -o $@ $^ -lpthread -ldl -lm

$(WL_LINKED): $(BUILD)/%: $(BUILD)/obj/tests/%.o $(WL_O) $(SIM_SO)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) $(LDFLAGS_$(@F)) -o $@ $(filter %.o,$^) -L$(SIM) -lcuda -lpthread -ldl -lm

$(BUILD)/obj/tests/workloads/%_plugin.o: ALL_CFLAGS += -fPIC

$(WL_PLUGIN): $(BUILD)/%.so: $(BUILD)/obj/tests/%.o $(SIM_SO)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) -shared -o $@ $(filter %.o,$^) -L$(SIM) -lcuda -ldl

# tests/tools: small programs the tests call, with the analyzer at hand.
TOOLS_C := $(wildcard tests/tools/*.c)
TOOLS   := $(call prog,tools,$(TOOLS_C))
TOOLS_O := $(call common,tools)

$(BUILD)/obj/tests/tools/%.o: ALL_CFLAGS += -iquote analyzer -iquote shim -iquote tests/tools

$(TOOLS): $(BUILD)/%: $(BUILD)/obj/tests/%.o $(TOOLS_O) $(SUPPORT_O) $(AN_A)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(LINK) $(LDFLAGS_$(@F)) -o $@ $^ $(AN_LIBS)

# tests/fuzz: libFuzzer programs, clang only, from the analyzer's sources; and the same targets over files, with any compiler, so
# that each corpus is a test. Both under sanitizers of their own.
FUZZ_C      := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ        := $(call prog,fuzz,$(FUZZ_C))
REPLAY      := $(if $(SAN)$(CROSS),,$(patsubst tests/fuzz/fuzz_%.c,$(BUILD)/fuzz/replay_%,$(FUZZ_C)))
FUZZ_LIB_C  := tests/fuzz/common.c tests/fuzz/consistent.c $(SUPPORT_C) $(AN_LIB_C)
FUZZ_SAN    := -fsanitize=address,undefined -fno-sanitize-recover=undefined
checked      = $(patsubst %.c,$(BUILD)/checked/%.o,$(1))
fuzzed       = $(patsubst %.c,$(BUILD)/fuzzed/%.o,$(1))

$(BUILD)/fuzzed/%.o: %.c $(FLAGS_FILE)
	$(call say,CLANG)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -std=gnu11 -O1 -g $(CPPFLAGS) $(FUZZ_FLAGS) -iquote analyzer -MMD -MP -fsanitize=fuzzer-no-link $(FUZZ_SAN) -c -o $@ $<

$(BUILD)/fuzzed/libfuzzed.a: $(call fuzzed,$(FUZZ_LIB_C))
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(FUZZ): $(BUILD)/fuzz/fuzz_%: $(BUILD)/fuzzed/tests/fuzz/fuzz_%.o $(BUILD)/fuzzed/libfuzzed.a
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -fsanitize=fuzzer $(FUZZ_SAN) -o $@ $^ $(AN_LIBS)

$(BUILD)/checked/%.o: %.c $(FLAGS_FILE)
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -O1 $(FUZZ_SAN) -iquote analyzer -c -o $@ $<

$(BUILD)/fuzz/libchecked.a: $(call checked,$(FUZZ_LIB_C) tests/fuzz/replay.c)
	$(call say,AR)
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(REPLAY): $(BUILD)/fuzz/replay_%: $(BUILD)/checked/tests/fuzz/fuzz_%.o $(BUILD)/fuzz/libchecked.a
	$(call say,LINK)
	$(Q)$(LINK) $(FUZZ_SAN) -o $@ $^ $(AN_LIBS)

# ---- compiling -----------------------------------------------------------------------------------------
$(BUILD)/obj/%.o: %.c $(FLAGS_FILE)
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/obj/%.o: %.S $(FLAGS_FILE)
	$(call say,AS)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

-include $(wildcard shim/build.mk shim/probes/build.mk tests/*/build.mk)
-include $(shell find $(BUILD)/obj $(BUILD)/checked $(BUILD)/fuzzed $(SIM)/gen -name '*.d' 2>/dev/null)

# ---- what to call --------------------------------------------------------------------------------------
PRODUCTS := $(SHIM_SO) $(TWIN_SO) $(GPUSHIM) $(SIM_SO)
TESTS    := $(UNIT) $(WL) $(WL_PLUGIN) $(TOOLS) $(BENCH) $(NCCL_SO) $(NCCL_CLIENTS) $(CUPTI_SO) $(CUPTI_CLIENTS) $(NVTX_CLIENTS) $(TORCH_SO) $(TORCH_CLIENT) $(REPLAY)

.PHONY: all static tests workloads fuzz check scenarios unit demo lint format install clean help compile_commands.json

all: $(PRODUCTS) ## build the shim, the analyzer and the simulated driver (the default)
	@:

static: $(if $(GPUSHIM),$(BUILD)/gpushim-static) ## build gpushim-static, to carry to other machines

tests: all unit $(TESTS) ## build every test program and workload as well
	@:

# A test whose source is gone must not go on passing.
unit: $(UNIT) ## build the unit tests only
	@rm -f $(filter-out $(UNIT),$(wildcard $(BUILD)/unit/test_*))

workloads: $(WL) $(WL_PLUGIN) ## build the programs to record
	@:

fuzz: $(FUZZ) ## build the fuzzers (needs clang)
	@:

# The Python environment of the tests; made once.
$(BUILD)/setup-test: scripts/setup.sh scripts/requirements.txt
	$(Q)BUILD=$(BUILD) scripts/setup.sh test

# Other people's programs, for tests/clients; where they cannot be fetched those tests are skipped.
$(BUILD)/setup-clients: scripts/setup.sh tests/clients/requirements.txt $(BUILD)/setup-test
	$(Q)BUILD=$(BUILD) scripts/setup.sh clients

# Other people's analysis of our export; likewise. In an environment of its own, as it pins what they may want otherwise.
$(BUILD)/setup-hta: scripts/setup.sh tests/scripts/hta-requirements.txt $(BUILD)/setup-test
	$(Q)BUILD=$(BUILD) scripts/setup.sh hta

# A browser, which tests/page looks at the page with; likewise.
$(BUILD)/setup-page: scripts/setup.sh tests/page/requirements.txt $(BUILD)/setup-test
	$(Q)BUILD=$(BUILD) scripts/setup.sh page

# DuckDB's reader of SQLite's files; likewise.
$(BUILD)/setup-duckdb: scripts/setup.sh tests/scripts/duckdb-requirements.txt $(BUILD)/setup-test
	$(Q)BUILD=$(BUILD) scripts/setup.sh duckdb

# NVIDIA's NCCL, whose names ours are compared with; likewise.
$(BUILD)/setup-nccl: scripts/setup.sh $(BUILD)/setup-test
	$(Q)BUILD=$(BUILD) scripts/setup.sh nccl

# Headers of NVIDIA's CUPTI, whose numbers and layouts ours are compared with; likewise.
$(BUILD)/setup-cupti: scripts/setup.sh $(BUILD)/setup-test
	$(Q)BUILD=$(BUILD) scripts/setup.sh cupti

check: tests static $(BUILD)/setup-test $(BUILD)/setup-clients $(BUILD)/setup-hta $(BUILD)/setup-duckdb $(BUILD)/setup-page $(BUILD)/setup-nccl $(BUILD)/setup-cupti ## run every test; ends with "N passed, N failed"
	$(Q)BUILD=$(BUILD) SAN=$(SAN) $(PYTHON) scripts/check.py $(CHECK)

SEEDS ?= 21-40
JOBS  ?= 1
scenarios: tests ## how often a cause is right, by programs with known faults; SEEDS=21-40 (as root; some 40 minutes; goes on where it was cut)
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/scenarios/lab/run_scenarios.py --seeds $(SEEDS) --jobs $(JOBS) --json tests/scenarios/matrix.json \
		--markdown tests/scenarios/MATRIX.md

# On all CPUs, unless make was told on how many: who wants to see it has not built anything yet.
demo: ## record a real training script and print its report
	+$(Q)case " $$MAKEFLAGS" in *\ -j*) $(MAKE) --no-print-directory all;; *) $(MAKE) --no-print-directory -j"$$(nproc)" all;; esac
	$(Q)BUILD=$(BUILD) scripts/demo.sh

lint: ## check format, layers and likely mistakes
	$(Q)BUILD=$(BUILD) scripts/setup.sh lint
	$(Q)BUILD=$(BUILD) scripts/lint.sh

format: ## rewrite the C sources in the house style
	$(Q)scripts/lint.sh --fix

install: $(SHIM_SO) $(TWIN_SO) $(GPUSHIM) $(SHARE) ## install into DESTDIR/PREFIX
	$(if $(SHIM_SO),install -D -m 755 $(SHIM_SO) $(DESTDIR)$(PREFIX)/lib/libgpushim.so)
	$(if $(TWIN_SO),install -D -m 755 $(TWIN_SO) $(DESTDIR)$(PREFIX)/lib/gpushim/twin/libcuda.so.1)
	$(if $(TWIN_SO),ln -sf libcuda.so.1 $(DESTDIR)$(PREFIX)/lib/gpushim/twin/libcuda.so)
	$(if $(GPUSHIM),install -D -m 755 $(GPUSHIM) $(DESTDIR)$(PREFIX)/bin/gpushim)
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(filter %.1,$(SHARE)) $(DESTDIR)$(PREFIX)/share/man/man1
	install -D -m 644 $(BUILD)/completion/gpushim $(DESTDIR)$(PREFIX)/share/bash-completion/completions/gpushim
	install -D -m 644 $(BUILD)/completion/_gpushim $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_gpushim

compile_commands.json: ## for editors and clang-tidy
	$(Q)$(MAKE) --no-print-directory -B -n V=1 BUILD=$(BUILD) tests | $(PYTHON) scripts/compile_commands.py >$@

clean: ## remove the build directory
	rm -rf $(BUILD) compile_commands.json

help: ## this list
	@echo "make [BUILD=dir] [SAN=address,undefined|thread] [CROSS=aarch64-linux-gnu-] [WERROR=1] [V=1] <target>"
	@awk -F ':.*## ' '/^[a-z_.]+:.*## / { printf "  %-22s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
