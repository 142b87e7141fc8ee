/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline_say.js: what is said of an item, a gap, a stretch of time; and which call launched what. */
"use strict";

(function () {
	const make = gpushim.make, MOST_FLOWS = 64;

	function share_lines(lane, i) {
		if (lane.count(i) <= 1)
			return [];
		return [gpushim.count(lane.count(i)) + " in " + gpushim.duration(lane.d[i]) + ", running " + gpushim.percent(lane.busy(i), lane.d[i]) +
			" of it; each shorter than " + gpushim.duration(lane.merged_ns) + ", so drawn as one. Most: " + gpushim.class(lane.k[i]).id];
	}

	/* Beside the pointer. */
	function item(t, lane, i) {
		const idle = lane.kind === "idle", c = gpushim.class(lane.k[i]);
		const lines = [idle ? "idle: " + c.id : lane.label(i)];

		if (lane.count(i) > 1)
			lines.push(...share_lines(lane, i));
		else
			lines.push(gpushim.duration(lane.d[i]) + " from " + gpushim.timeline_instant(lane.b[i]));
		if (idle)
			lines.push("the device waited because " + c.title, "gap " + (lane.g ? lane.g[i] - 1 : "") + " · click for its story");
		else if (lane.label(i) !== c.title)
			lines.push(c.title);
		if (lane.args(i))
			lines.push(lane.args(i));
		if (lane.v)
			lines.push((lane.v[i] / 16).toFixed(lane.v[i] % 16 ? 1 : 0) + " at once" + (lane.count(i) > 1 ? " in the mean" : "") + "; the most there are is " + (lane.most / 16).toFixed(0));
		if (lane.l && lane.l[i])
			lines.push("launched " + gpushim.duration(lane.l[i] - 1) + " before it began");
		lines.push(lane.name);
		return lines;
	}

	/* Beside its name. */
	function lane_lines(lane) {
		const lines = [lane.name, lane.group, gpushim.count(lane.slices) + (lane.slices === 1 ? " item" : " items")];

		if (lane.merged_ns)
			lines.push("those shorter than " + gpushim.duration(lane.merged_ns) + " are drawn as one where they crowd");
		return lines;
	}

	function row_at(t, lane, ns) {
		const rows = t.lanes.filter(l => l.n && l.group === lane.group && l.name === lane.name && l.kind === lane.kind);

		for (const l of rows) {
			const i = l.after(ns);

			if (i < l.n && l.b[i] <= ns)
				return l;
		}
		return lane;
	}

	/* Of work the call it comes from, of a call its work. */
	function flows(t, lane, i) {
		const found = [];

		if (lane.l && lane.l[i] && lane.o && lane.o[i]) {
			const launched = lane.b[i] - (lane.l[i] - 1);

			return [{ from: row_at(t, t.lanes[lane.o[i] - 1], launched), to: lane, begin: launched, end: lane.b[i] }];
		}
		if (lane.kind !== "thread" || lane.count(i) > 1)
			return found;
		const first = t.lanes.find(l => l.group === lane.group && l.name === lane.name && l.kind === "thread" && !l.row);
		for (const work of t.lanes) {
			for (let k = work.l && work.o ? work.after(lane.b[i]) : work.n; k < work.n && found.length < MOST_FLOWS; k++)
				if (work.l[k] && work.o[k] === first.index + 1 && work.b[k] - (work.l[k] - 1) === lane.b[i])
					found.push({ from: lane, to: work, begin: lane.b[i], end: work.b[k] });
		}
		return found;
	}

	/* "idle 3.1 ms (input-wait 2.0 ms, …)" for each device, of a stretch that was marked. */
	function range(t) {
		const r = t.range, parts = [];

		for (const lane of t.lanes) {
			if (lane.kind !== "idle" || !lane.n)
				continue;
			const causes = lane.within(r.begin, r.end), idle = causes.reduce((sum, c) => sum + c[1], 0);

			parts.push(make("div", null, lane.group + ": idle " + gpushim.duration(Math.round(idle)) + ", " + gpushim.percent(idle, r.end - r.begin) + (causes.length ? " (" : "") +
				causes.slice(0, 4).map(c => gpushim.class(c[0]).id + " " + gpushim.duration(Math.round(c[1]))).join(", ") + (causes.length > 4 ? ", …" : "") + (causes.length ? ")" : "")));
		}
		return [make("div", { class: "timeline-first" }, "marked: " + gpushim.duration(r.end - r.begin) + " from " + gpushim.timeline_instant(Math.round(r.begin)) + " (f shows it, Esc clears)"), ...parts];
	}

	function gap(t) {
		const s = t.selected, lane = s.lane, causes = [];

		for (let i = s.item; i < lane.n && lane.b[i] < s.end; i++)
			causes.push(gpushim.class(lane.k[i]).id + " " + gpushim.duration(lane.d[i]));
		return [make("div", { class: "timeline-first" }, "gap " + s.gap + " of device " + s.device + ": " + gpushim.duration(s.end - s.begin) + " from " + gpushim.timeline_instant(s.begin)),
			make("div", null, causes.slice(0, 6).join(", then ") + (causes.length > 6 ? ", …" : ""))];
	}

	/* Below the lanes, also for who cannot see them. */
	function selected(t) {
		const s = t.selected;

		if (t.range)
			return range(t);
		if (!s)
			return [make("div", { class: "dim" }, "Click a gap for its story, a kernel for its launch. Drag moves, Ctrl+wheel zooms, Shift+drag marks a stretch; ? lists the keys.")];
		if (s.gap !== undefined)
			return gap(t);
		const lines = item(t, s.lane, s.item);

		return [make("div", { class: "timeline-first" }, lines[0]), make("div", null, lines.slice(1).join(" · ") + (s.flows && s.flows.length ? " · the line leads " + (s.lane.kind === "thread" ? "to its work" : "from its launch") : ""))];
	}

	gpushim.timeline_say = { item, lane: lane_lines, flows, selected };
})();
