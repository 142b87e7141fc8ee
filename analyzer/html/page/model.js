/* SPDX-License-Identifier: BSD-2-Clause */
/* model.js: questions that several panels ask of the data. */
"use strict";

(function () {
	const sum = (list, of) => list.reduce((a, x) => a + of(x), 0);

	/* Of all devices together; a device's figures under the same names. */
	gpushim.total = function (devices) {
		const t = { causes: {}, copy: {}, comm: {} };

		for (const key of ["span_ns", "compute_ns", "comm_exposed_ns", "copy_exposed_ns", "idle_ns", "unresolved_ns"])
			t[key] = sum(devices, d => d[key]);
		for (const group of ["causes", "copy", "comm"])
			for (const key of Object.keys(devices.length ? devices[0][group] : {}))
				t[group][key] = sum(devices, d => d[group][key]);
		return t;
	};

	/* [[id, ns], …] of those that own any time, the longest first; equal ones in the order of causes.def. */
	gpushim.ranked = causes => Object.entries(causes).filter(c => c[1] > 0).sort((a, b) => b[1] - a[1]);

	gpushim.device = number => gpushim.data.report.devices.find(d => d.device === number);

	/* Devices by how much they matter: those of ranks that the others wait for, then those that are idle most. */
	gpushim.by_trouble = function (devices) {
		const late = gpushim.data.report.ranks.stragglers.map(f => f.device), place = d => late.includes(d.device) ? late.indexOf(d.device) : late.length;
		const idle = d => d.span_ns > 0 ? d.idle_ns / d.span_ns : 0;

		return devices.slice().sort((a, b) => place(a) - place(b) || idle(b) - idle(a) || a.device - b.device);
	};

	gpushim.several = () => gpushim.data.report.devices.length > 1;

	/* "at most 93.6 % faster (inferred); then compute bounds it, 1.44 s", as the text report has it. */
	gpushim.gain = function (a) {
		const faster = a.ceiling < 1 ? gpushim.fixed(100 * a.ceiling, 1) + " % faster" : gpushim.fixed(1 + a.ceiling, 1) + " times as fast";

		return { faster: "at most " + faster, then: "then " + a.next + " bounds it, " + gpushim.duration(a.next_ns) };
	};

	/* One piece of advice is told once: devices of one run mostly have the same trouble. */
	gpushim.advice = function () {
		const said = new Set();

		return gpushim.data.report.advice.filter(a => {
			const key = a.id + " " + a.cause, is_new = !said.has(key);

			said.add(key);
			return is_new;
		});
	};

	/* ---- gaps ------------------------------------------------------------------------------------------------- */

	let by_number = null;

	/* Its story; undefined: it is not among those that are told. */
	gpushim.gap = function (number) {
		by_number = by_number || new Map(gpushim.data.gaps.map(g => [g.gap, g]));
		return by_number.get(number);
	};

	gpushim.length = x => x.end_ns - x.begin_ns;

	gpushim.gap_causes = function (gap) {
		const causes = {};

		for (const c of gap.causes)
			causes[c.id] = (causes[c.id] || 0) + gpushim.length(c);
		return gpushim.ranked(causes);
	};

	/* "input-wait 98 %, sync-bubble 2 %" */
	gpushim.mainly = function (ranked, whole, most) {
		const shown = ranked.filter((c, i) => i < most && (i === 0 || c[1] >= whole / 200));
		const rest = ranked.filter(c => c[1] >= whole / 200).length - shown.length;

		return shown.map(c => c[0] + " " + Math.round(100 * c[1] / whole) + " %").join(", ") + (rest > 0 ? ", +" + rest : "");
	};

	/* "in futex", but "on a CPU", "waiting for a CPU", "not started yet". */
	gpushim.state = link => (/^(on a|waiting|held|not|reclaiming|in|after|before) /.test(link.state) ? "" : "in ") + link.state;

	/* The longest piece with evidence. */
	gpushim.main_cause = gap => gap.causes.filter(c => c.evidence.length).sort((a, b) => gpushim.length(b) - gpushim.length(a))[0];

	/* ---- code ------------------------------------------------------------------------------------------------- */

	const base = path => path.slice(path.lastIndexOf("/") + 1);

	/* "train.py:41 in load", "work+0x1c in libfoo.so" */
	gpushim.frame = function (f) {
		if (f.file && f.line)
			return base(f.file) + ":" + (f.from_line && f.from_line !== f.line ? Math.min(f.from_line, f.line) + "-" + Math.max(f.from_line, f.line) : f.line) + (f.function ? " in " + f.function : "");
		if (f.function)
			return f.function + (f.offset ? "+0x" + f.offset.toString(16) : "") + (f.module ? " in " + base(f.module) : "");
		return f.address !== undefined ? "0x" + f.address.toString(16) + (f.module ? " in " + base(f.module) : "") : "";
	};

	gpushim.stack = number => gpushim.data.report.stacks.find(s => s.stack === number);
})();
