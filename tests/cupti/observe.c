/* SPDX-License-Identifier: BSD-2-Clause */
/* The subscriber, what it wants to hear of, and the driver that tells. */
#include "standin.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

static const struct {
	const char *name;
	uint32_t id;
} calls[] = {
#define CUPTI_CALL(call, number) { #call, number },
#include "shim/cupti_calls.def"
#undef CUPTI_CALL
};
#define CALLS (sizeof(calls) / sizeof(*calls))

enum { CALL_IDS = 1024, KINDS = 64 };

static struct subscriber {
	cupti_callback *callback;
	void *user;
} subscriber;
static atomic_bool subscribed;
static atomic_bool call_on[CALL_IDS], kind_on[KINDS];
static void (*advance)(void);

bool kind_is_on(uint32_t kind)
{
	return kind < KINDS && atomic_load(&kind_on[kind]);
}

static void call_entered(const char *name, uint32_t correlation)
{
	struct cupti_call call = { .site = CUPTI_API_ENTER, .name = name, .correlation = correlation };

	if (!atomic_load(&subscribed))
		return;
	for (unsigned i = 0; i < CALLS; i++)
		if (strcmp(calls[i].name, name) == 0 && atomic_load(&call_on[calls[i].id]))
			subscriber.callback(subscriber.user, CUPTI_CB_DOMAIN_DRIVER_API, calls[i].id, &call);
}

bool observe_driver(void)
{
	static const struct observer observer = { call_entered, records_op };
	void (*observe)(const struct observer *o);
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY);

	if (!driver)
		return false;
	*(void **)&observe = dlsym(driver, "simgpuObserve");
	*(void **)&advance = dlsym(driver, "simgpuAdvance");
	if (!observe || !advance)
		return false;
	observe(&observer);
	worker_start();
	return true;
}

void observe_advance(void)
{
	if (advance)
		advance();
}

int cuptiSubscribe(void **handle, cupti_callback *callback, void *user)
{
	bool none = false;

	if (option_number("subscribe"))
		return (int)option_number("subscribe");
	if (option("held") || !atomic_compare_exchange_strong(&subscribed, &none, true))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	subscriber = (struct subscriber){ callback, user };
	*handle = &subscriber;
	if (observe_driver())
		return CUPTI_SUCCESS;
	atomic_store(&subscribed, false);
	return CUPTI_ERROR_NOT_INITIALIZED;
}

int cuptiUnsubscribe(void *handle)
{
	if (handle != &subscriber || !atomic_load(&subscribed))
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (unsigned i = 0; i < CALL_IDS; i++)
		atomic_store(&call_on[i], false);
	atomic_store(&subscribed, false);
	return CUPTI_SUCCESS;
}

int cuptiEnableCallback(uint32_t enable, void *handle, uint32_t domain, uint32_t call_id)
{
	if (handle != &subscriber || domain != CUPTI_CB_DOMAIN_DRIVER_API || call_id >= CALL_IDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	atomic_store(&call_on[call_id], enable != 0);
	return CUPTI_SUCCESS;
}

int cuptiActivityEnable(uint32_t kind)
{
	if (option_number("enable"))
		return (int)option_number("enable");
	if (kind >= KINDS)
		return CUPTI_ERROR_INVALID_KIND;
	if (!observe_driver())
		return CUPTI_ERROR_NOT_INITIALIZED;
	atomic_store(&kind_on[kind], true);
	return CUPTI_SUCCESS;
}

int cuptiActivityDisable(uint32_t kind)
{
	if (kind >= KINDS)
		return CUPTI_ERROR_INVALID_KIND;
	atomic_store(&kind_on[kind], false);
	return CUPTI_SUCCESS;
}
