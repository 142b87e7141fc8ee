/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks.js: the ranks beside each other, step by step: who waits, and for whom. */
"use strict";

(function () {
	const make = gpushim.make, LABEL = 116, FOOT = 18;

	const MEASURES = [
		["late", "the others waited for it", "how long the others waited, together, where this rank came last to a collective"],
		["wait", "it waited for others", "exposed waiting for the last rank of a collective"],
		["idle", "idle", "the device did nothing"],
		["length", "length of the step", "from the step's begin to the next one's"],
	];

	/* From little to much; lightness alone tells them apart. */
	const SCALE = { light: [[253, 246, 236], [240, 170, 80], [190, 80, 15], [90, 25, 0]], dark: [[32, 38, 44], [118, 58, 18], [222, 134, 40], [255, 230, 178]] };

	function shade(share) {
		const stops = SCALE[gpushim.theme()], at = Math.max(0, Math.min(1, share)) * (stops.length - 1), i = Math.min(stops.length - 2, Math.floor(at));

		return "rgb(" + stops[i].map((v, k) => Math.round(v + (stops[i + 1][k] - v) * (at - i))).join(",") + ")";
	}

	/* Nearly all values lie below it: a single one does not take the colour from all others. */
	function full(rows, measure) {
		const all = Float64Array.from(rows.flatMap(r => Array.from(r[measure]))).sort();

		return all[Math.floor(0.995 * (all.length - 1))] || all[all.length - 1] || 1;
	}

	const row_name = r => (r.rank >= 0 ? "rank " + r.rank : "device " + r.device) + (r.host ? " · " + r.host : "");

	function map(rows, ranks, state, bus) {
		const canvas = make("canvas", { class: "heat", tabindex: "0", role: "img", "aria-label": "ranks by steps: arrows move, Enter shows" }), said = make("p", { class: "dim said", "aria-live": "polite" });
		const row_height = Math.max(3, Math.min(26, Math.floor(560 / rows.length)));
		let width = 1;
		const redraw = gpushim.canvas(canvas, rows.length * row_height + FOOT, (g, w) => { width = w; draw(g, w, rows, ranks, state, row_height); });
		const cell = event => {
			const x = event.offsetX * width / canvas.clientWidth - LABEL, r = rows[Math.floor(event.offsetY / row_height)], i = Math.floor(x / (width - LABEL) * ranks.columns);

			return r && i >= 0 && i < ranks.columns ? { r, i } : null;
		};

		const words = at => [row_name(at.r) + ", " + column_name(ranks, at.i), ...MEASURES.map(m => m[1] + " " + gpushim.duration(at.r[m[0]][at.i]))];

		function move(rows_by, columns_by) {
			const at = state.at || { r: rows[0], i: 0 }, k = rows.indexOf(at.r) + rows_by;

			state.at = { r: rows[Math.max(0, Math.min(rows.length - 1, k))], i: Math.max(0, Math.min(ranks.columns - 1, at.i + columns_by)) };
			said.textContent = words(state.at).join(" · ");
			redraw();
		}

		canvas.addEventListener("keydown", event => {
			const keys = { ArrowLeft: () => move(0, -1), ArrowRight: () => move(0, 1), ArrowUp: () => move(-1, 0), ArrowDown: () => move(1, 0), Enter: () => state.at && pick(state.at.r, state.at.i, bus) };

			if (keys[event.key]) {
				event.preventDefault();
				keys[event.key]();
			}
		});
		canvas.addEventListener("mousemove", event => {
			const at = cell(event);

			gpushim.tip(event, at && words(at));
		});
		canvas.addEventListener("mouseleave", event => gpushim.tip(event, null));
		canvas.addEventListener("click", event => {
			const at = cell(event);

			if (at)
				pick(at.r, at.i, bus);
		});
		return { canvas, said, redraw };
	}

	function column_name(ranks, i) {
		if (ranks.by === "time")
			return "slice " + i + " of " + ranks.columns;
		return ranks.stride > 1 ? "steps " + i * ranks.stride + " to " + ((i + 1) * ranks.stride - 1) : "step " + i;
	}

	/* Its longest gap then, and where that is in the timeline. */
	function pick(r, i, bus) {
		const begin = r.b[i], end = begin + r.length[i];
		const gaps = gpushim.data.gaps.filter(g => g.device === r.device && g.at_ns < end && g.at_ns + gpushim.length(g) > begin).sort((a, b) => gpushim.length(b) - gpushim.length(a));

		if (gaps.length)
			bus.emit("select", { device: r.device, gap: gaps[0].gap });
		if (end > begin)
			bus.emit("goto", { begin, end });
	}

	function draw(g, w, rows, ranks, state, high) {
		const wide = (w - LABEL) / ranks.columns, top = full(rows, state.measure), every = Math.ceil(13 / high);

		g.font = "11.5px system-ui, sans-serif";
		g.textBaseline = "middle";
		rows.forEach((r, k) => {
			const values = r[state.measure];

			g.fillStyle = gpushim.css("text");
			g.textAlign = "left";
			if (k % every === 0)
				g.fillText(row_name(r), 0, Math.max(8, (k + 0.5) * high), LABEL - 8);
			for (let x = 0; x < ranks.columns; x += Math.max(1, Math.floor(1 / wide))) { /* of more columns than pixels the greatest */
				let v = 0;

				for (let i = x; i < x + Math.max(1, Math.floor(1 / wide)) && i < ranks.columns; i++)
					v = Math.max(v, values[i]);
				g.fillStyle = shade(v / top);
				g.fillRect(LABEL + x * wide, k * high, Math.max(1, wide) + 0.3, high - (high > 8 ? 1 : 0));
			}
		});
		if (state.at) {
			g.strokeStyle = gpushim.css("text");
			g.lineWidth = 2;
			g.strokeRect(LABEL + state.at.i * wide, rows.indexOf(state.at.r) * high, Math.max(3, wide), high);
		}
		g.fillStyle = gpushim.css("dim");
		g.textBaseline = "alphabetic";
		g.textAlign = "left";
		g.fillText(ranks.by === "time" ? "begin" : "step 0", LABEL, rows.length * high + 13);
		g.textAlign = "right";
		g.fillText(ranks.by === "time" ? "end" : "step " + (ranks.columns * ranks.stride - 1), w, rows.length * high + 13);
	}

	function legend(rows, state) {
		const canvas = make("canvas", { class: "ramp", "aria-hidden": "true" }), words = make("span", { class: "dim" });
		const paint = () => {
			const g = canvas.getContext("2d");

			canvas.width = 120;
			canvas.height = 12;
			for (let x = 0; x < 120; x++) {
				g.fillStyle = shade(x / 119);
				g.fillRect(x, 0, 1, 12);
			}
			words.textContent = gpushim.duration(full(rows, state.measure)) + " and more";
		};

		paint();
		gpushim.on_theme(paint);
		return { element: make("span", { class: "ramp-place" }, make("span", { class: "dim" }, "0 "), canvas, " ", words), paint };
	}

	/* As the text report has it. */
	function straggler(f, data, bus) {
		const each = f.waiters ? f.cost_ns / f.waiters : f.cost_ns, told = f.gap >= 0 && gpushim.gap(f.gap);
		const name = "rank " + f.rank + " (" + (f.host ? f.host + ", " : "") + "device " + f.device + ")";

		return make("p", { class: "straggler" }, make("b", null, name), " came last to " + gpushim.fixed(100 * f.share, 1) + " % of the collectives, and each other rank waited " + gpushim.duration(each) + " for it. ",
			f.excess_ns > 0 ? [gpushim.swatch(f.cause), make("b", null, f.cause), ": " + gpushim.duration(f.own_ns / Math.max(1, f.collectives)) + " before each, the median rank " + gpushim.duration(f.median_ns / Math.max(1, f.collectives)) + ". "] : null,
			told ? make("button", { type: "button", class: "link", onclick: () => bus.emit("select", { device: f.device, gap: f.gap }) }, "its longest gap") : null);
	}

	const FEW = 10, MOST = 512;

	function rank_row(r) {
		const d = gpushim.device(r.device), number = text => make("td", { class: "number" }, text), split = r.wait_ns || r.transfer_ns || !r.unsplit_ns;

		return make("tr", null, make("td", null, (r.rank >= 0 ? r.rank : "?") + " ", make("span", { class: "dim" }, r.host)), number(String(r.device)), number(gpushim.percent(r.compute_ns, d.span_ns)),
			number(split ? gpushim.percent(r.wait_ns, d.span_ns) : "not split"), number(split ? gpushim.percent(r.transfer_ns, d.span_ns) : "not split"), number(gpushim.percent(d.idle_ns, d.span_ns)),
			number(r.timed ? gpushim.percent(r.last, r.timed) : "–"), number(gpushim.duration(r.cost_ns)));
	}

	/* Of many those that cost the others most. */
	function table(data) {
		const all = data.report.ranks.ranks, few = all.length > FEW + 2 ? all.slice().sort((a, b) => b.cost_ns - a.cost_ns || a.rank - b.rank).slice(0, FEW) : all;
		const body = make("tbody", null, few.map(rank_row));

		return make("div", { class: "scroll" }, make("table", null,
			make("thead", null, make("tr", null, ["rank", "device", "compute", "waits", "moves data", "idle", "came last", "cost the others"].map((h, i) => make("th", { class: i ? "number" : "" }, h)))),
			body), few.length < all.length ? gpushim.more("all " + Math.min(MOST, all.length) + " ranks", () => body.replaceChildren(...all.slice(0, MOST).map(rank_row))) : null);
	}

	gpushim.panel({
		id: "ranks", title: "Ranks", order: 25,
		wants: data => !!data.ranks,
		async make(section, data, bus) {
			const ranks = data.ranks, rows = await Promise.all(ranks.rows.map(r => gpushim.columns(r)));
			const state = { measure: rows.some(r => r.late.some(v => v > 0)) ? "late" : "idle" };

			rows.forEach(r => { r.host = data.strings[r.host]; });
			rows.sort((a, b) => a.rank - b.rank || a.device - b.device);
			const heat = map(rows, ranks, state, bus), ramp = legend(rows, state);
			const buttons = MEASURES.map(m => make("button", { type: "button", title: m[2], "aria-pressed": String(m[0] === state.measure), onclick() {
				state.measure = m[0];
				buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(MEASURES[i][0] === state.measure)));
				heat.redraw();
				ramp.paint();
			} }, m[1]));

			section.append(...data.report.ranks.stragglers.map(f => straggler(f, data, bus)), make("div", { class: "choice" }, buttons, ramp.element), make("div", null, heat.canvas, heat.said), table(data));
		},
	});
})();
