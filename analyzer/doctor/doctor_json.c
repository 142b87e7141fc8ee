/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_json.c: schema gpushim.doctor/1. Scripts depend on every key; add, never rename. */
#include "doctor.h"
#include "tools/json.h"

static void row_json(struct json *j, const struct doctor_row *row)
{
	json_map(j);
	json_key_text(j, "id", row->id);
	json_key_text(j, "state", doctor_state_names[row->state]);
	json_key(j, "needed");
	json_bool(j, row->needed);
	json_key_text(j, "fact", row->fact);
	json_key_text(j, "means", row->means);
	json_key_text(j, "command", row->command);
	json_map_end(j);
}

void doctor_json(FILE *out, const struct doctor *d)
{
	struct json j;

	json_open(&j, out);
	json_map(&j);
	json_key_text(&j, "schema", "gpushim.doctor/1");
	json_key_text(&j, "version", GPUSHIM_VERSION);
	json_key(&j, "can_record");
	json_bool(&j, d->can_record);
	json_key_map(&j, "device_times");
	json_key_text(&j, "level", d->level);
	json_key_text(&j, "why", d->level_why);
	json_map_end(&j);
	json_key_map(&j, "host_probes");
	json_key_text(&j, "how", doctor_probes_names[d->probes]);
	json_key_text(&j, "why", d->probes_why);
	json_map_end(&j);
	json_key_array(&j, "checks");
	for (size_t i = 0; i < d->n_rows; i++)
		row_json(&j, &d->rows[i]);
	json_array_end(&j);
	json_map_end(&j);
}
