/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.js: each device's memory over time, where there was no room, and its map at the worst moment. */
"use strict";

(function () {
	const make = gpushim.make, b = gpushim.bytes, FEW = 8;
	const plural = (n, one) => gpushim.count(n) + " " + one + (n === 1 ? "" : "s");

	const times = n => n === 1 ? "once" : gpushim.count(n) + " times";

	/* A figure of the report, which a test compares with it. */
	const figure = (at, value) => make("b", { "data-figure": at, "data-value": value }, b(value));

	function head(d, at, data) {
		const failed = d.marks.filter(m => m.failed).length, retried = d.marks.length - failed, more = d.marks_left_out;

		return make("p", null, "At most ", figure("memory." + at + ".peak_allocated_bytes", d.peak_allocated), " allocated and ", figure("memory." + at + ".peak_reserved_bytes", d.peak_reserved), " reserved",
			    d.total ? " of " + b(d.total) : "", ".",
			    d.before ? " " + b(d.before) + " were taken before the trace began." : null,
			    failed ? make("b", { class: "memory-failed" }, " Out of memory " + times(failed) + (more ? " and more" : "") + ".") : null,
			    retried ? " A framework gave back what it had cached and tried again " + times(retried) + "." : null);
	}

	/* How what is free lies is not on record: only what the framework has in all. */
	const told = d => d.before !== undefined;

	/* What the map is of, in a sentence. */
	function about(d) {
		const w = d.worst, last = d.marks.filter(m => m.failed).at(-1), free = w.reserved - w.allocated, when = gpushim.duration(w.t), lies = free && !told(d);
		const pieces = " " + b(w.allocated) + " allocated, " + b(free) + " reserved and free" + (lies ? ", the largest piece " + b(w.largest_free) : "") + ".";

		if (w.why === "out-of-memory")
			return "Where everything lay when the device was out of memory, at " + when + ": " + b(w.asked) + " were asked for." + pieces + (last ? last.enough ? " In one piece what was free would have been enough." : " Wherever it lay, what was free was too little." : "");
		return "Where everything lay when most was reserved" + (lies ? " and what was free lay most scattered" : "") + ", at " + when + ":" + pieces + (lies ? " Fragmentation " + gpushim.fixed(w.fragmentation, 2) + " (1 − the largest piece / all that is free)." : "");
	}

	function left_out(d) {
		const w = d.worst, notes = [];

		if (w.rows_left_out)
			notes.push(plural(w.rows_left_out, "smaller range") + " with " + b(w.bytes_left_out) + ", " + b(w.used_left_out) + " of it allocated, not drawn.");
		if (w.unplaced)
			notes.push(b(w.unplaced) + (told(d) ? " free, or taken before the trace began" : " in pools of the driver's") + ", of which nobody knows the address.");
		if (w.smallest)
			notes.push("Neighbours below " + b(w.smallest) + " are drawn as one.");
		return notes.length ? make("p", { class: "dim memory-note" }, notes.join(" ")) : null;
	}

	const key = (which, text) => make("span", { class: "flame-key" }, gpushim.swatch(which), text || gpushim.class(which).title);

	function map_of(d, cells, said) {
		if (!d.worst || !cells.n)
			return [];
		const map = gpushim.memory_map(d, cells, said), kinds = [...new Set(cells.k)].sort();

		return [make("p", null, about(d)), map.frame, make("div", { class: "flame-legend" }, kinds.map(k => key(map.kinds[k]))), left_out(d)];
	}

	async function device(d, at, data, bus) {
		const columns = await gpushim.columns(d.course), cells = d.worst ? await gpushim.columns(d.worst.cells) : { n: 0 };
		const status = make("p", { class: "flame-said dim", role: "status" }), said = lines => { status.textContent = lines.join(" · "); };
		const course = gpushim.memory_course(d, columns, data, bus, said);

		return make("div", { class: "memory-device", "data-device": d.device },
			data.memory.length > 1 ? make("h3", null, "device " + d.device, data.strings[d.name] ? make("span", { class: "dim" }, "  " + data.strings[d.name]) : null) : null,
			head(d, at, data), make("div", null, course.canvas),
			make("div", { class: "flame-legend" }, key("memory-block"), key("memory-free"), told(d) ? null : make("span", { class: "flame-key" }, make("span", { class: "memory-line" }), "the largest free piece"),
			     d.marks.some(m => m.failed) ? make("span", { class: "flame-key memory-failed" }, "▼ out of memory") : null, d.marks.some(m => !m.failed) ? make("span", { class: "flame-key" }, "▽ tried again") : null),
			map_of(d, cells, said), status);
	}

	gpushim.panel({
		id: "memory", title: "Device memory", order: 60,
		wants: data => data.memory && data.memory.length,
		async make(section, data, bus) {
			const at = d => data.report.memory.findIndex(m => m.device === d.device), trouble = d => d.marks.filter(m => m.failed).length || d.marks.length / 1e6;
			const list = data.memory.length > FEW ? data.memory.slice().sort((a, b) => trouble(b) - trouble(a) || b.peak_reserved - a.peak_reserved || a.device - b.device) : data.memory;
			const show = async some => { section.append(...await Promise.all(some.map(d => device(d, at(d), data, bus)))); };

			await show(list.slice(0, FEW));
			if (list.length > FEW)
				section.append(gpushim.more("all " + list.length + " devices", () => show(list.slice(FEW))));
		},
	});
})();
