/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline_paint.js: axis, groups' heads, lanes, and what is marked in them: all that changes with the view. */
"use strict";

(function () {
	const GUTTER = gpushim.timeline_gutter, AXIS = 26;

	function draw_axis(t) {
		const g = t.size(t.axis, t.width, AXIS), s = t.scale, axis = gpushim.timeline_marks(t.begin, t.end, s.width, 92);

		t.marks = axis;
		g.font = "11px system-ui, sans-serif";
		g.textBaseline = "middle";
		g.fillStyle = t.css.dim;
		g.fillText(axis.base_text ? axis.base_text + " and" : "", 8, AXIS / 2);
		g.textAlign = "right";
		g.fillText(gpushim.duration(t.end - t.begin) + " shown", GUTTER - 10, AXIS / 2);
		g.textAlign = "left";
		for (const mark of axis.marks) {
			const x = Math.round(s.x(mark.ns)) + 0.5;

			g.fillStyle = t.css.line;
			g.fillRect(x - 0.5, AXIS - 7, 1, 7);
			g.fillStyle = t.css.dim;
			if (x + g.measureText(mark.text).width < t.width)
				g.fillText(mark.text, x + 4, AXIS / 2);
		}
		g.fillStyle = t.css.line;
		g.fillRect(0, AXIS - 1, t.width, 1);
	}

	function draw_lanes(t) {
		const g = t.size(t.canvas, t.width, t.height), top = t.scroll.scrollTop;
		const looks = new gpushim.timeline_parts.Looks(g), visible = t.rows.filter(r => r.y + r.height > top && r.y < top + t.height);

		g.textBaseline = "middle";
		g.fillStyle = t.css.line;
		for (const mark of t.marks.marks) {
			g.globalAlpha = 0.6;
			g.fillRect(Math.round(t.scale.x(mark.ns)), 0, 1, t.height);
		}
		g.globalAlpha = 1;
		for (const row of visible) {
			if (row.group)
				draw_head(t, g, looks, row, row.y - top);
			else
				draw_lane(t, g, looks, row, row.y - top);
		}
		draw_range(t, g);
		draw_selected(t, g, top);
		draw_flows(t, g, top);
	}

	function draw_head(t, g, looks, row, y) {
		const group = row.group, strip = group.open ? null : group.lanes.find(l => l.kind === "idle") || group.lanes[0];

		g.fillStyle = t.css.hover;
		g.fillRect(0, y, t.width, row.height);
		g.fillStyle = t.css.dim;
		g.beginPath();
		if (group.open) {
			g.moveTo(8, y + 8); g.lineTo(16, y + 8); g.lineTo(12, y + 14);
		} else {
			g.moveTo(9, y + 7); g.lineTo(15, y + 11); g.lineTo(9, y + 15);
		}
		g.fill();
		g.font = strip ? "600 10.5px system-ui, sans-serif" : "600 12px system-ui, sans-serif";
		g.fillStyle = t.css.text;
		g.fillText(gpushim.timeline_parts.fit(g, strip && group.device !== null ? gpushim.timeline_overview.short(group.name) : group.name, strip ? GUTTER - 28 : t.width - 230), 22, y + row.height / 2 + 0.5);
		if (strip && strip.n) {
			g.font = "11px system-ui, sans-serif";
			gpushim.timeline_lane(g, looks, strip, t.scale, y + 3, row.height - 6, t.css.hover, null);
			return;
		}
		g.font = "11px system-ui, sans-serif";
		g.fillStyle = t.css.dim;
		g.textAlign = "right";
		g.fillText(shown_idle(t, group), t.width - 10, y + row.height / 2 + 0.5);
		g.textAlign = "left";
	}

	/* Of what is shown of a device: how much of it is idle. */
	function shown_idle(t, group) {
		const lane = group.lanes.find(l => l.kind === "idle" && l.n);

		if (!lane)
			return "";
		const causes = lane.within(t.begin, t.end), idle = causes.reduce((sum, c) => sum + c[1], 0);
		const most = causes.length ? ", most " + gpushim.class(causes[0][0]).id : "";

		return "here idle " + gpushim.duration(Math.round(idle)) + ", " + gpushim.percent(idle, t.end - t.begin) + most;
	}

	function draw_lane(t, g, looks, row, y) {
		const lane = row.lane, chosen = t.selected && t.selected.lane === lane;

		g.font = "11px system-ui, sans-serif";
		if (!lane.row) {
			g.fillStyle = chosen ? t.css.text : t.css.dim;
			g.fillText(gpushim.timeline_parts.fit(g, lane.name, GUTTER - 30), 22, y + row.height / 2 + 0.5);
		}
		g.fillStyle = t.css.hover;
		g.globalAlpha = 0.5;
		g.fillRect(GUTTER, y, t.scale.width, row.height);
		g.globalAlpha = 1;
		if (lane.n)
			gpushim.timeline_lane(g, looks, lane, t.scale, y, row.height, t.css.card, t.search.hits_of(lane));
	}

	function draw_range(t, g) {
		if (!t.range)
			return;
		const x0 = Math.max(GUTTER, t.scale.x(t.range.begin)), x1 = Math.min(t.width, t.scale.x(t.range.end));

		if (x1 <= GUTTER || x0 >= t.width)
			return;
		g.fillStyle = t.css.accent;
		g.globalAlpha = 0.14;
		g.fillRect(x0, 0, x1 - x0, t.height);
		g.globalAlpha = 1;
		g.fillRect(x0, 0, 1, t.height);
		g.fillRect(x1 - 1, 0, 1, t.height);
	}

	/* A frame around what is selected; a gap's also marks its time in all lanes. */
	function draw_selected(t, g, top) {
		const s = t.selected;

		if (!s)
			return;
		const row = t.row_of(s.lane), x0 = t.scale.x(s.begin), x1 = Math.max(t.scale.x(s.end), x0 + 2);

		if (x1 < GUTTER || x0 > t.width)
			return;
		g.save();
		g.beginPath();
		g.rect(GUTTER, 0, t.width - GUTTER, t.height);
		g.clip();
		if (s.gap !== undefined) {
			g.fillStyle = t.css.warn;
			g.globalAlpha = 0.1;
			g.fillRect(x0, 0, x1 - x0, t.height);
			g.globalAlpha = 0.9;
			g.fillRect(x0 - 0.5, 0, 1, t.height);
			g.fillRect(x1 - 0.5, 0, 1, t.height);
			g.globalAlpha = 1;
		}
		g.lineWidth = 2;
		g.strokeStyle = t.css.text;
		g.strokeRect(x0 - 1, row.y - top - 1, x1 - x0 + 2, row.height + 2);
		g.restore();
	}

	/* From the call that launched it to the work. */
	function draw_flows(t, g, top) {
		const row_middle = row => row.y - top + row.height / 2;

		for (const f of t.selected ? t.selected.flows || [] : []) {
			const from = t.row_of(f.from), to = t.row_of(f.to), inside = x => Math.max(GUTTER - 20, Math.min(t.width + 20, x));
			const x0 = inside(t.scale.x(f.begin)), x1 = inside(t.scale.x(f.end)); /* from far away it comes in at the side, on its lane */
			const y0 = row_middle(from), y1 = row_middle(to), bend = Math.min(60, Math.abs(x1 - x0) / 2 + 12);

			if (Math.max(x0, x1) < GUTTER || Math.min(x0, x1) > t.width)
				continue;
			g.save();
			g.beginPath();
			g.rect(GUTTER, 0, t.width - GUTTER, t.height);
			g.clip();
			g.strokeStyle = g.fillStyle = t.css.accent;
			g.lineWidth = 1.6;
			g.beginPath();
			g.moveTo(x0, y0);
			g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
			g.stroke();
			g.beginPath();
			g.arc(x0, y0, 3, 0, 7);
			g.fill();
			g.beginPath();
			g.moveTo(x1, y1); g.lineTo(x1 - 7, y1 - 4); g.lineTo(x1 - 7, y1 + 4);
			g.fill();
			g.restore();
		}
	}

	gpushim.timeline_paint = t => {
		draw_axis(t);
		draw_lanes(t);
	};
})();
