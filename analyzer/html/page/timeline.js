/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline.js: what each device and thread did, and when, on one scale of time.
 *
 *   timeline_model     the items, and sums over them        timeline_overview  the whole run in one strip
 *   timeline_draw      one lane as pixels                   timeline_search    names
 *   timeline_paint     all lanes, axis, what is marked      timeline_say       what is said of an item
 *   timeline_axis      marks of the time axis               timeline_input     pointer and keyboard */
"use strict";

gpushim.timeline_gutter = 190; /* pixels, left of all lanes: their names */

(function () {
	const make = gpushim.make;
	const GUTTER = gpushim.timeline_gutter, HEAD = 22, SPACE = 3;
	const LEAST_SPAN_NS = 20;
	const LEAST_SHOWN = 5, LEAST_SHOWN_NS = 1000; /* of what is to be seen: pixels; of the view then */
	const TALLEST = 0.62; /* of the window */
	const ROWS_OPEN = 34; /* beyond, only the first of each kind of group is open at first */
	const DEVICES_OPEN = 8;
	const HEIGHTS = { idle: 28, unresolved: 10, steps: 16, stream: 18, nccl: 16, ranges: 15, thread: 16, state: 12, worker: 14, io: 30 };

	class Timeline {
		constructor(section, data, bus) {
			this.data = data;
			this.bus = bus;
			this.span = Math.max(data.span_ns, LEAST_SPAN_NS);
			this.begin = 0;
			this.end = this.span;
			this.lanes = data.lanes.map((_, i) => new gpushim.timeline_model.Lane(data, i));
			this.groups = gpushim.timeline_model.groups_of(this.lanes);
			this.selected = null; /* { lane, item } or { device, gap, begin, end } */
			this.range = null;    /* { begin, end }: marked by a drag */
			this.search = new gpushim.timeline_search.Search(this);
			this.width = 0;
			this.fold();
			this.build(section);
			this.overview = new gpushim.timeline_overview.Overview(this, this.map);
			gpushim.timeline_input.listen(this);
		}

		/* A run of many processes would be a long way down: of those, the first is open. Of many devices that for which the others wait, or the one that is
		 * idle longest, and its process. */
		fold() {
			const devices = new Set(this.groups.filter(g => g.device !== null).map(g => g.device)), seen = new Set();
			let rows = 0;

			this.first = null;
			if (devices.size > DEVICES_OPEN) {
				this.fold_but(this.most_of_interest());
				return;
			}
			for (const group of this.groups) {
				const kind = group.device === null ? group.name.split(" ")[0] : "device";

				rows += group.lanes.length;
				group.open = rows <= ROWS_OPEN || !seen.has(kind);
				seen.add(kind);
			}
		}

		most_of_interest() {
			const report = this.data.report, stragglers = report.ranks && report.ranks.stragglers || [];

			if (stragglers.length)
				return stragglers[0].device;
			return report.devices.reduce((best, d) => !best || d.idle_ns > best.idle_ns ? d : best, null).device;
		}

		fold_but(device) {
			const ranks = this.data.report.ranks && this.data.report.ranks.ranks || [], rank = ranks.find(r => r.device === device);

			for (const group of this.groups) {
				group.open = group.device === device || (rank !== undefined && group.name.startsWith("process " + rank.pid + " "));
				if (group.device === device)
					this.first = group.lanes.find(l => l.kind === "idle") || group.lanes[0];
			}
		}

		build(section) {
			this.section = section;
			this.box = make("input", { type: "search", id: "search", placeholder: "find a kernel, call, range, cause …", "aria-label": "find in the timeline", autocomplete: "off", spellcheck: "false" });
			this.found = make("span", { class: "timeline-found", "aria-live": "polite" });
			const button = (text, title, key) => make("button", { type: "button", title: title + " (" + key + ")", "aria-label": title, onclick: () => { gpushim.timeline_input.act(this, key); } }, text);
			section.append(make("div", { class: "timeline-bar" },
				this.box,
				make("button", { type: "button", title: "previous hit (Shift+Enter)", "aria-label": "previous hit", onclick: () => this.search.next(-1) }, "‹"),
				make("button", { type: "button", title: "next hit (Enter)", "aria-label": "next hit", onclick: () => this.search.next(1) }, "›"),
				this.found,
				make("span", { class: "timeline-space" }),
				button("− gap", "previous gap", "p"), button("gap +", "next gap", "n"),
				button("+", "zoom in", "+"), button("−", "zoom out", "-"), button("fit", "fit the selection, or all", "f"), button("?", "help", "?")));
			this.map = make("canvas", { class: "timeline-map", "aria-hidden": "true" });
			this.axis = make("canvas", { class: "timeline-axis", "aria-hidden": "true" });
			this.canvas = make("canvas", { class: "timeline-lanes", tabindex: "0", role: "application", "aria-describedby": "timeline-said",
				"aria-label": "timeline: a and d move, w and s zoom, arrows up and down choose a lane, comma and full stop its items, n and p gaps, question mark for help" });
			this.tall = make("div", { class: "timeline-tall" }, this.canvas);
			this.scroll = make("div", { class: "timeline-scroll" }, this.tall);
			this.said = make("div", { class: "timeline-said", id: "timeline-said", role: "status", "aria-live": "polite" });
			this.legend = make("div", { class: "timeline-legend" });
			this.frame = make("div", { class: "timeline-frame" }, this.map, this.axis, this.scroll);
			section.append(this.frame, this.said, this.legend);
			this.scroll.addEventListener("scroll", () => this.ask());
			new ResizeObserver(() => this.resized()).observe(this.frame);
			gpushim.on_theme(() => this.ask());
		}

		/* ---- layout ---- */

		height_of(lane) {
			const h = HEIGHTS[lane.kind] || 14;

			return lane.row && lane.kind !== "ranges" ? Math.min(h, 10) : h;
		}

		/* Where everything is, from the top of all lanes: this.rows are { y, height, group } or { y, height, lane }. */
		layout() {
			let y = 0;

			this.rows = [];
			for (const group of this.groups) {
				this.rows.push({ y, height: HEAD, group });
				y += HEAD + SPACE;
				if (!group.open)
					continue;
				for (const lane of group.lanes) {
					const height = this.height_of(lane);

					this.rows.push({ y, height, lane });
					y += height + SPACE;
				}
				y += 4;
			}
			this.content = y + 4;
			this.tall.style.height = this.content + "px";
			this.height = Math.min(this.content, Math.max(240, Math.round(innerHeight * TALLEST)));
			this.scroll.style.height = this.height + "px";
		}

		resized() {
			const width = this.scroll.clientWidth;

			if (!width || width === this.width)
				return;
			this.width = width;
			this.redraw();
		}

		size(canvas, width, height) {
			const ratio = devicePixelRatio || 1, g = canvas.getContext("2d");

			if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
				canvas.width = Math.round(width * ratio);
				canvas.height = Math.round(height * ratio);
				canvas.style.width = width + "px";
				canvas.style.height = height + "px";
			}
			g.setTransform(ratio, 0, 0, ratio, 0, 0);
			g.clearRect(0, 0, width, height);
			return g;
		}

		/* ---- drawing ---- */

		ask() {
			if (!this.asked) {
				this.asked = true;
				requestAnimationFrame(() => this.redraw());
			}
		}

		redraw() {
			this.asked = false;
			this.width = this.scroll.clientWidth;
			if (!this.width)
				return;
			this.layout();
			this.width = this.scroll.clientWidth; /* there may be a scroll bar now */
			this.css = {};
			for (const name of ["card", "text", "dim", "line", "hover", "accent", "warn", "select"])
				this.css[name] = gpushim.css(name);
			this.scale = new gpushim.timeline_parts.Scale(this.begin, this.end, GUTTER, Math.max(10, this.width - GUTTER - 6), devicePixelRatio || 1);
			gpushim.timeline_paint(this);
			this.overview.draw();
		}

		row_of(lane) { return this.rows.find(r => r.lane === lane) || this.rows.find(r => r.group && r.group.lanes.includes(lane)); }

		/* ---- what is shown ---- */

		view(begin, end) {
			const span = Math.min(this.span, Math.max(LEAST_SPAN_NS, end - begin));

			if (end - begin !== span) /* around its middle */
				begin += (end - begin - span) / 2;
			begin = Math.max(0, Math.min(begin, this.span - span));
			if (begin === this.begin && begin + span === this.end)
				return;
			this.begin = begin;
			this.end = begin + span;
			this.bus.emit("view", { begin: this.begin, end: this.end });
			this.ask();
		}

		zoom(factor, at) {
			const span = Math.min(this.span, Math.max(LEAST_SPAN_NS, (this.end - this.begin) * factor)), share = (at - this.begin) / (this.end - this.begin);

			this.view(at - share * span, at + (1 - share) * span);
		}

		pan(share) {
			const by = (this.end - this.begin) * share;

			this.view(this.begin + by, this.end + by);
		}

		/* Brings that into what is shown: by moving, where it has a few pixels then; else, or always, it gets that share of the width. */
		show(begin, end, lane, share = 0.25, always = false) {
			const span = this.end - this.begin, pixels = (end - begin) / span * (this.scale ? this.scale.width : 1000), middle = (begin + end) / 2;

			if (always || pixels < LEAST_SHOWN || end - begin > span)
				this.view(middle - Math.max((end - begin) / share, LEAST_SHOWN_NS) / 2, middle + Math.max((end - begin) / share, LEAST_SHOWN_NS) / 2);
			else if (begin < this.begin || end > this.end)
				this.view(middle - span / 2, middle + span / 2);
			if (lane)
				this.scroll_to(lane);
		}

		scroll_to(lane) {
			const group = this.groups.find(gr => gr.lanes.includes(lane));

			if (!group.open) {
				group.open = true;
				this.ask();
			}
			this.layout();
			const row = this.row_of(lane), top = this.scroll.scrollTop;

			if (row.y < top || row.y + row.height > top + this.height)
				this.scroll.scrollTop = Math.max(0, row.y - this.height / 3);
		}

		toggle(group) {
			group.open = !group.open;
			this.ask();
		}

		/* ---- what is selected ---- */

		idle_lane(device) { return this.lanes.find(l => l.kind === "idle" && l.device === device && l.n); }

		gap_at(lane, gap) {
			const pieces = lane && lane.of_gap(gap);

			return pieces ? { lane, item: pieces[0], begin: lane.b[pieces[0]], end: lane.end(pieces[1]), device: lane.device, gap } : null;
		}

		/* Gaps are numbered over all devices: the lane that has it is its device's. */
		lane_of_gap(gap) { return this.lanes.find(l => l.kind === "idle" && l.n && l.g && l.g[l.n - 1] >= gap + 1 && l.g[0] <= gap + 1); }

		select_gap(device, gap, from_here) {
			const found = this.gap_at(this.idle_lane(device), gap) || this.gap_at(this.lane_of_gap(gap), gap);

			this.selected = found;
			if (found && !from_here)
				this.show(found.begin, found.end, found.lane);
			this.tell();
		}

		select_item(lane, i) {
			if (lane.g && lane.g[i]) {
				this.select_gap(lane.device, lane.g[i] - 1, true);
				this.bus.emit("select", { device: lane.device, gap: lane.g[i] - 1 });
				return;
			}
			this.selected = { lane, item: i, begin: lane.b[i], end: lane.end(i), flows: gpushim.timeline_say.flows(this, lane, i) };
			this.tell();
			this.bus.emit("select", { lane: lane.index, item: i });
		}

		clear() {
			this.range = null;
			this.selected = null;
			this.tell();
			this.bus.emit("select", null);
		}

		tell() {
			this.said.replaceChildren(...gpushim.timeline_say.selected(this));
			this.ask();
		}

		show_legend() {
			const seen = new Set();

			for (const lane of this.lanes)
				for (const k of lane.classes || [])
					seen.add(k);
			const key = k => {
				const c = gpushim.class(k);

				return make("span", { class: "timeline-key", title: c.title }, gpushim.swatch(k), c.kind === "idle" ? c.id : c.title);
			};
			const all = [...seen].sort((a, b) => a - b), kinds = [["idle", k => gpushim.class(k).kind === "idle"], ["device", k => gpushim.class(k).kind === "busy"],
				["host", k => gpushim.class(k).kind === "host"]];

			this.legend.replaceChildren(...kinds.map(([name, is]) => [name, all.filter(is)]).filter(([, of]) => of.length).map(([name, of]) =>
				make("div", null, make("b", null, name), of.map(key))));
		}
	}

	/* What tests and other panels may ask for. */
	function handle(t, ready) {
		return {
			ready,
			redraw: () => t.redraw(),
			view: () => ({ begin: t.begin, end: t.end }),
			goto: (begin, end) => { t.view(begin, end); t.redraw(); },
			items: () => t.lanes.reduce((sum, l) => sum + l.n, 0),
			search: text => { t.box.value = text; t.search.set(text); return t.search.count; },
			selected: () => t.selected ? { device: t.selected.device, gap: t.selected.gap, lane: t.selected.lane.index, item: t.selected.item, begin: t.selected.begin, end: t.selected.end,
				flows: (t.selected.flows || []).length } : null,
			lanes: () => t.lanes.map(l => {
				const row = t.rows.find(r => r.lane === l);

				return { group: l.group, name: l.name, kind: l.kind, row: l.row, n: l.n, y: row ? row.y : -1, height: row ? row.height : 0 };
			}),
			/* Where on the screen an item's middle is, once it is shown. */
			place: (lane, item) => place(t, t.lanes[lane], t.lanes[lane].b[item], t.lanes[lane].end(item)),
			find: gap => {
				const found = t.gap_at(t.lane_of_gap(gap), gap);

				return found ? place(t, found.lane, found.begin, found.end) : null;
			},
		};
	}

	function place(t, lane, begin, end) {
		t.show(begin, end, lane);
		t.redraw();
		const box = t.canvas.getBoundingClientRect(), row = t.row_of(lane);

		return { x: box.left + t.scale.x((begin + end) / 2), y: box.top + row.y - t.scroll.scrollTop + row.height / 2 };
	}

	gpushim.panel({
		id: "timeline", title: "Timeline", order: 10, wants: d => d.lanes && d.lanes.length,
		make: async (section, data, bus) => {
			const t = new Timeline(section, data, bus);
			const load = async lanes => { await Promise.all(lanes.map(lane => lane.load())); t.ask(); };
			const ready = load(t.lanes.filter(l => l.kind === "idle")).then(() => load(t.lanes.filter(l => l.kind !== "idle"))).then(() => {
				t.show_legend();
				t.overview.changed();
				t.redraw();
				if (t.first && t.width)
					t.scroll_to(t.first);
			});

			gpushim.timeline = handle(t, ready);
			if (data.lanes_left_out)
				section.append(make("p", { class: "dim" }, gpushim.count(data.lanes_left_out) + " things are in lanes beyond those that fit here, and are not drawn."));
			bus.on("select", s => { if (s && s.gap !== undefined && s.gap !== null && !(t.selected && t.selected.gap === s.gap)) t.select_gap(s.device, s.gap, false); });
			bus.on("goto", v => t.view(v.begin, v.end));
			bus.on("search", text => gpushim.timeline.search(text));
			t.tell();
			await ready;
		},
	});
})();
