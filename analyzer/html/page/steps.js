/* SPDX-License-Identifier: BSD-2-Clause */
/* steps.js: the steps of the training loop, a bar each; of more steps than pixels the mean of each pixel's, and a dot for the longest. */
"use strict";

(function () {
	const make = gpushim.make, FOOT = 16, TOP = 12, FEW = 8, MOST = 64;
	const height = () => gpushim.data.steps.length > 2 ? 96 : 150, outliers_shown = () => gpushim.data.steps.length > 2 ? 2 : 5;

	/* ---- one device's steps ------------------------------------------------------------------------------------ */

	async function load(packed, strings) {
		const s = await gpushim.columns(packed);

		s.causes = Object.entries(await gpushim.columns(packed.causes));
		s.causes.forEach(c => c.push(c[1].reduce((a, x) => a + x, 0)));
		s.causes.sort((a, b) => b[2] - a[2]);
		const lengths = Float64Array.from(s.d).sort(), at = share => lengths[Math.min(s.n - 1, Math.floor(share * s.n))];

		s.usual = gpushim.data.report.steps_usual.find(u => u.device === s.device);
		s.median = s.usual ? s.usual.median.length_ns : at(0.5);
		s.top = Math.min(at(1), Math.max(3 * s.median, 1.3 * at(0.99))) || 1;
		s.sums = new Map(); /* of a column up to each step: the mean of any row of steps in no time */
		s.mean = (column, from, to) => (sums_of(s, column)[to] - sums_of(s, column)[from]) / (to - from);
		s.name = i => strings[s.s[i]] + (s.number[i] ? s.number[i] - 1 : "") + (s.stride > 1 ? " and " + (Math.min(s.stride, s.all - i * s.stride) - 1) + " more" : "");
		s.ranked = i => s.causes.map(c => [c[0], c[1][i]]).filter(c => c[1] > 0).sort((a, b) => b[1] - a[1]);
		return s;
	}

	function sums_of(s, column) {
		let sums = s.sums.get(column);

		if (!sums) {
			sums = new Float64Array(column.length + 1);
			for (let i = 0; i < column.length; i++)
				sums[i + 1] = sums[i] + column[i];
			s.sums.set(column, sums);
		}
		return sums;
	}

	/* The step at that time; -1: none. */
	function at_time(s, ns) {
		let low = 0, high = s.n;

		while (low < high) {
			const middle = low + high >> 1;

			if (s.b[middle] + s.d[middle] <= ns)
				low = middle + 1;
			else
				high = middle;
		}
		return low < s.n && s.b[low] <= ns ? low : -1;
	}

	/* ---- the strip --------------------------------------------------------------------------------------------- */

	function strip(s, bus) {
		const canvas = make("canvas", { class: "strip", tabindex: "0", role: "img", "aria-label": words(s) });
		const state = { from: 0, to: s.n, width: 1, chosen: -1, drag: null, view: null };
		const redraw = gpushim.canvas(canvas, height(), (g, w, h) => { state.width = w; draw(g, w, h, s, state); });
		const index_at = x => Math.max(0, Math.min(s.n - 1, Math.floor(state.from + x / state.width * (state.to - state.from))));
		const x_of = event => event.offsetX * state.width / canvas.clientWidth;

		function choose(i) {
			state.chosen = i;
			if (i < state.from || i >= state.to) {
				const half = (state.to - state.from) / 2;

				zoom(i - half, i + half);
			}
			bus.emit("select", { device: s.device, step: i, about: about(s, i) });
			bus.emit("goto", { begin: s.b[i], end: s.b[i] + s.d[i] });
			redraw();
		}

		function zoom(from, to) {
			const n = Math.max(4, Math.min(s.n, Math.round(to - from)));

			state.from = Math.max(0, Math.min(s.n - n, Math.round(from)));
			state.to = Math.min(s.n, state.from + n);
			redraw();
		}

		canvas.addEventListener("mousemove", event => {
			const i = longest(s, index_at(x_of(event)), index_at(x_of(event) + Math.max(0, 1 - state.width / (state.to - state.from))) + 1);

			if (state.drag !== null && Math.abs(x_of(event) - state.drag) > 3)
				state.to_x = x_of(event);
			gpushim.tip(event, tip_lines(s, i));
			if (state.drag !== null)
				redraw();
		});
		canvas.addEventListener("mouseleave", event => gpushim.tip(event, null));
		canvas.addEventListener("mousedown", event => { state.drag = x_of(event); state.to_x = undefined; state.zoomed = false; });
		window.addEventListener("mouseup", () => {
			if (state.drag === null)
				return;
			const [a, b] = [state.drag, state.to_x];

			state.drag = null;
			state.to_x = undefined;
			state.zoomed = b !== undefined;
			if (state.zoomed)
				zoom(index_at(Math.min(a, b)), index_at(Math.max(a, b)) + 1);
		});
		canvas.addEventListener("click", event => {
			const i = index_at(x_of(event)), end = index_at(x_of(event) + 1);

			if (!state.zoomed) /* a drag ends with a click, too */
				choose(longest(s, i, Math.max(i + 1, end)));
			state.zoomed = false;
		});
		canvas.addEventListener("dblclick", () => zoom(0, s.n));
		canvas.addEventListener("keydown", event => {
			const n = state.to - state.from, middle = state.chosen >= 0 ? state.chosen : (state.from + state.to) / 2;
			const keys = {
				ArrowLeft: () => choose(Math.max(0, state.chosen - 1)), ArrowRight: () => choose(Math.min(s.n - 1, state.chosen + 1)),
				"+": () => zoom(middle - n / 4, middle + n / 4), "-": () => zoom(middle - n, middle + n), Escape: () => zoom(0, s.n),
			};

			if (keys[event.key]) {
				event.preventDefault();
				keys[event.key]();
			}
		});
		bus.on("view", view => { state.view = view; redraw(); });
		bus.on("select", what => {
			if (what && what.gap !== undefined && what.device === s.device && gpushim.gap(what.gap))
				state.chosen = at_time(s, gpushim.gap(what.gap).at_ns);
			else if (!what || what.device !== s.device)
				state.chosen = -1;
			redraw();
		});
		canvas.choose = choose;
		return canvas;
	}

	function longest(s, from, to) {
		let best = from;

		for (let i = from; i < to && i < s.n; i++)
			best = s.d[i] > s.d[best] ? i : best;
		return best;
	}

	/* What each bar stands for: [from, to) of the steps. */
	function bars_of(w, state) {
		const n = state.to - state.from, bars = Math.min(n, Math.floor(w));

		return Array.from({ length: bars }, (_, k) => [state.from + Math.floor(k * n / bars), Math.max(state.from + Math.floor(k * n / bars) + 1, state.from + Math.floor((k + 1) * n / bars))]);
	}

	function draw(g, w, h, s, state) {
		const each = w / (state.to - state.from), high = h - FOOT - TOP, bars = bars_of(w, state), single = bars.length === state.to - state.from;
		const top = single ? s.top : 1.5 * Math.max(...bars.map(b => s.mean(s.d, b[0], b[1])), s.median), y = ns => Math.min(ns, top) / top * high;

		bars.forEach(([from, to], k) => {
			const x = k * w / bars.length, wide = w / bars.length, gap = wide > 4 ? 1 : 0;

			bar(g, s, [from, to], x, wide - gap, h - FOOT, y, top);
			if (!single)
				dot(g, s, longest(s, from, to), x, h - FOOT, y);
		});
		marks(g, s, bars, w);
		line(g, s, w, h - FOOT - y(s.median));
		foot(g, w, h, s, state);
		if (state.chosen >= state.from && state.chosen < state.to) {
			g.strokeStyle = gpushim.css("text");
			g.lineWidth = 2;
			g.strokeRect((state.chosen - state.from) * each - 1, TOP - 2, Math.max(each, 2) + 2, high + 3);
		}
		if (state.drag !== null && state.to_x !== undefined) {
			g.fillStyle = gpushim.css("accent") + "33";
			g.fillRect(Math.min(state.drag, state.to_x), 0, Math.abs(state.to_x - state.drag), h - FOOT);
		}
	}

	/* Work at the bottom, idle time by cause above it. */
	function bar(g, s, [from, to], x, wide, bottom, y, top) {
		const paint = id => wide >= 4 ? gpushim.fill(g, id) : gpushim.colour(id), length = s.mean(s.d, from, to);
		let sum = length - s.mean(s.i, from, to), at = y(sum);

		g.globalAlpha = s.k[from] && to === from + 1 ? 0.4 : 1;
		g.fillStyle = paint("compute");
		g.fillRect(x, bottom - at, wide, at);
		for (const [id, column] of s.causes) {
			sum += s.mean(column, from, to);
			const next = y(sum);

			if (next - at >= 0.2) {
				g.fillStyle = paint(id);
				g.fillRect(x, bottom - next, wide, next - at);
				at = next;
			}
		}
		g.globalAlpha = 1;
		if (length > top) { /* higher than there is room for */
			g.fillStyle = gpushim.css("card");
			g.fillRect(x, TOP + 6, wide, 2);
			g.fillRect(x, TOP + 10, wide, 2);
		}
	}

	/* The longest of a bar's steps, in the colour of what it was idle for, or at work. */
	function dot(g, s, i, x, bottom, y) {
		const main = s.ranked(i)[0];

		g.fillStyle = gpushim.colour(main && main[1] > s.d[i] - s.i[i] ? main[0] : "compute");
		g.fillRect(x, bottom - y(s.d[i]) - 1.5, 1.6, 3);
	}

	/* Outliers: a mark each; where they are many, a band that is the stronger the more of them there are. */
	function marks(g, s, bars, w) {
		const counts = bars.map(b => s.mean(s.o, b[0], b[1]) * (b[1] - b[0])), with_some = counts.filter(c => c > 0.5).length, most = Math.max(...counts);

		counts.forEach((c, k) => {
			if (c < 0.5)
				return;
			if (with_some <= w / 16)
				return mark(g, (k + 0.5) * w / bars.length);
			g.fillStyle = gpushim.css("warn");
			g.globalAlpha = 0.15 + 0.6 * c / most;
			g.fillRect(k * w / bars.length, 1, w / bars.length, 5);
			g.globalAlpha = 1;
		});
	}

	function mark(g, x) {
		g.fillStyle = gpushim.css("warn");
		g.beginPath();
		g.moveTo(x - 4, 1);
		g.lineTo(x + 4, 1);
		g.lineTo(x, 8);
		g.fill();
	}

	function line(g, s, w, y) {
		g.strokeStyle = gpushim.css("text");
		g.setLineDash([4, 3]);
		g.lineWidth = 1;
		g.beginPath();
		g.moveTo(0, Math.round(y) + 0.5);
		g.lineTo(w, Math.round(y) + 0.5);
		g.stroke();
		g.setLineDash([]);
		label(g, "median " + gpushim.duration(s.median), w - 4, y - 3, "right");
	}

	function label(g, text, x, y, align) {
		g.font = "11px system-ui, sans-serif";
		g.textAlign = align;
		const wide = g.measureText(text).width;

		g.fillStyle = gpushim.css("card");
		g.globalAlpha = 0.8;
		g.fillRect(align === "right" ? x - wide - 3 : x - 3, y - 11, wide + 6, 14);
		g.globalAlpha = 1;
		g.fillStyle = gpushim.css("text");
		g.fillText(text, x, y);
	}

	function foot(g, w, h, s, state) {
		g.font = "11px system-ui, sans-serif";
		g.fillStyle = gpushim.css("dim");
		g.textAlign = "left";
		g.fillText(s.name(state.from), 0, h - 4);
		g.textAlign = "right";
		g.fillText(s.name(state.to - 1), w, h - 4);
		if (!state.view) /* what the timeline shows */
			return;
		const x = ns => { const i = at_time(s, ns); return i < 0 ? (ns < s.b[0] ? 0 : w) : (i - state.from) / (state.to - state.from) * w; };
		const a = Math.max(0, Math.min(w, x(state.view.begin))), b = Math.max(0, Math.min(w, x(state.view.end)));

		if (b - a > 0 && b - a < w) {
			g.fillStyle = gpushim.css("accent");
			g.fillRect(a, h - FOOT + 1, Math.max(3, b - a), 2);
		}
	}

	/* ---- words ------------------------------------------------------------------------------------------------- */

	function tip_lines(s, i) {
		const ranked = s.ranked(i), excess = s.d[i] - s.median;

		return [s.name(i), gpushim.duration(s.d[i]) + (s.stride === 1 && s.o[i] ? ": " + gpushim.duration(excess) + " longer than half of them" : ""),
			"idle " + gpushim.duration(s.i[i]) + ", " + gpushim.percent(s.i[i], s.d[i]),
			...ranked.slice(0, 4).map(c => c[0] + " " + gpushim.duration(c[1]))];
	}

	/* For the story panel. */
	function about(s, i) {
		return { name: s.name(i), begin: s.b[i], length: s.d[i], idle: s.i[i], causes: s.ranked(i), median: s.median, outlier: s.stride === 1 && s.o[i] > 0 };
	}

	function words(s) {
		let idle = 0, whole = 0;

		for (let i = 0; i < s.n; i++) {
			idle += s.k[i] ? 0 : s.i[i];
			whole += s.k[i] ? 0 : s.d[i];
		}
		return (gpushim.several() ? "device " + s.device + ": " : "") + gpushim.count(s.usual ? s.usual.steps : s.all) + " steps, half of them within " + gpushim.duration(s.median) + "; the device was idle in " + gpushim.percent(idle, whole) + " of their time";
	}

	/* By how much a step is longer than the median one, cause by cause: as steps_usual.h has it. */
	function excess(s, i, median) {
		const more = s.d[i] - median.length_ns, why = {};
		let rest = more;

		for (const [id, column] of s.causes)
			rest -= why[id] = column[i] - median.causes[id];
		return { more, why: gpushim.ranked({ ...why, "device at work": rest }).filter(c => c[1] >= more / 10).slice(0, 3) };
	}

	/* "step 12 took 45 ms longer: checkpoint 40 ms, device at work 1 ms" */
	function outliers(usual, s, canvas) {
		const all = s.stride > 1 ? [] : Array.from(s.o.keys()).filter(i => s.o[i]).sort((a, b) => s.d[b] - s.d[a] || a - b), shown = all.slice(0, outliers_shown());
		const rows = shown.map(i => {
			const e = excess(s, i, usual.median);

			return make("li", null, make("button", { type: "button", class: "link", onclick: () => canvas.choose(i) }, s.name(i)),
				" took " + gpushim.duration(e.more) + " longer than half of them: ", e.why.map((c, k) => [k ? ", " : "", c[0] === "device at work" ? null : gpushim.swatch(c[0]), c[0] + " " + gpushim.duration(c[1])]));
		});

		if (all.length > shown.length)
			rows.push(make("li", { class: "dim" }, "▾ marks these and " + gpushim.count(all.length - shown.length) + " more"));
		return rows;
	}

	async function device(packed, data, bus) {
		const s = await load(packed, data.strings), canvas = strip(s, bus);
		const usual = data.report.steps_usual.find(u => u.device === s.device), list = usual ? outliers(usual, s, canvas) : [];

		return make("div", { class: "steps" }, make("p", { class: "note" }, words(s)), make("div", { class: "strip-place" }, canvas),
			list.length ? make("ul", { class: "outliers" }, list) : null);
	}

	/* ---- phases ------------------------------------------------------------------------------------------------ */

	function phases(data) {
		const all = new Map();

		for (const p of data.report.phases) {
			const name = p.path.length ? p.path.join(" › ") : p.in_step ? "(step, in no range of it)" : "(in no range)", x = all.get(name) || { name, idle: 0, causes: {} };

			x.idle += p.idle_ns;
			for (const [id, ns] of Object.entries(p.causes))
				x.causes[id] = (x.causes[id] || 0) + ns;
			all.set(name, x);
		}
		const list = [...all.values()].filter(p => p.idle > 0).sort((a, b) => b.idle - a.idle), whole = list.reduce((a, p) => a + p.idle, 0);

		if (list.length < 2)
			return null;
		return make("div", { class: "scroll" }, make("h3", null, "Idle time by the program's own ranges"), make("table", null,
			make("thead", null, make("tr", null, make("th", null, "range"), make("th", { class: "number" }, "idle"), make("th", { class: "number" }, "of idle"), make("th", null, "mainly"))),
			make("tbody", null, list.slice(0, 10).map(p => make("tr", null, make("td", null, p.name), make("td", { class: "number" }, gpushim.duration(p.idle)), make("td", { class: "number" }, gpushim.percent(p.idle, whole)),
				make("td", null, gpushim.swatch((gpushim.ranked(p.causes)[0] || ["unexplained"])[0]), gpushim.mainly(gpushim.ranked(p.causes), p.idle, 2)))))));
	}

	gpushim.panel({
		id: "steps", title: "Steps", order: 30,
		wants: data => data.steps.length > 0,
		async make(section, data, bus) {
			const by = data.report.steps_usual[0] && data.report.steps_usual[0].by === "ranges" ? "by the program's own ranges" : "by what repeats in its launches";
			const order = gpushim.by_trouble(data.report.devices).map(d => d.device), place = make("div");
			const steps = data.steps.slice().sort((a, b) => order.indexOf(a.device) - order.indexOf(b.device)), first = steps.length > FEW ? steps.slice(0, FEW / 2) : steps;
			const show = async list => place.append(...await Promise.all(list.map(p => device(p, data, bus))));

			section.append(make("p", { class: "dim note" }, by + "; height is length: ", gpushim.swatch("compute"), "the device at work, above it idle time by cause. ▾ is an outlier. Drag to zoom, double click for all, click for its story."), place);
			await show(first.length < steps.length ? first : data.steps); /* of many the one that matters first */
			if (first.length < steps.length)
				section.append(gpushim.more("of " + Math.min(MOST, steps.length - first.length) + " more devices", () => show(steps.slice(first.length, first.length + MOST))));
			section.append(...[phases(data)].filter(Boolean));
		},
	});
})();
