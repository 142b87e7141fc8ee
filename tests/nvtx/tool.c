/* SPDX-License-Identifier: BSD-2-Clause */
/* Somebody else's tool in NVTX's slot: it takes ranges pushed and popped, and says at the end how many. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

static int pushed, popped;

static int push(const char *message)
{
	(void)message;
	return 100 + pushed++;
}

static int pop(void)
{
	return 200 + popped++;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
	const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
	NvtxFunctionTable table;
	unsigned size;

	if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size))
		return 0;
	*table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
	*table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
	return 1;
}

__attribute__((destructor)) static void report(void)
{
	printf("tool: %d pushed, %d popped\n", pushed, popped);
}
