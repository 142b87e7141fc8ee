/* SPDX-License-Identifier: BSD-2-Clause */
/* steps.js: the steps of the training loop, a bar each; of more steps than pixels the longest of each pixel's. */
"use strict";

(function () {
	const make = gpushim.make, FOOT = 16, TOP = 12;
	const height = () => gpushim.data.steps.length > 2 ? 96 : 150, outliers_shown = () => gpushim.data.steps.length > 2 ? 2 : 5;

	/* ---- one device's steps ------------------------------------------------------------------------------------ */

	async function load(packed, strings) {
		const s = await gpushim.columns(packed);

		s.causes = Object.entries(await gpushim.columns(packed.causes));
		s.causes.forEach(c => c.push(c[1].reduce((a, x) => a + x, 0)));
		s.causes.sort((a, b) => b[2] - a[2]);
		const lengths = Float64Array.from(s.d).sort(), at = share => lengths[Math.min(s.n - 1, Math.floor(share * s.n))];

		s.median = at(0.5);
		s.top = Math.min(at(1), Math.max(3 * s.median, 1.3 * at(0.99))) || 1;
		s.name = i => strings[s.s[i]] + (s.number[i] ? s.number[i] - 1 : "") + (s.stride > 1 ? " and " + (Math.min(s.stride, s.all - i * s.stride) - 1) + " more" : "");
		s.ranked = i => s.causes.map(c => [c[0], c[1][i]]).filter(c => c[1] > 0).sort((a, b) => b[1] - a[1]);
		return s;
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

	function draw(g, w, h, s, state) {
		const n = state.to - state.from, each = w / n, high = h - FOOT - TOP, y = ns => Math.min(ns, s.top) / s.top * high;
		const bars = Math.min(n, Math.floor(w));

		for (let k = 0; k < bars; k++) {
			const from = state.from + Math.floor(k * n / bars), to = Math.max(from + 1, state.from + Math.floor((k + 1) * n / bars));
			const i = n > bars ? longest(s, from, to) : from;
			const x = k * w / bars, wide = w / bars, gap = wide > 4 ? 1 : 0;

			bar(g, s, i, x, wide - gap, h - FOOT, y);
			if (outlying(s, from, to))
				mark(g, x + wide / 2);
		}
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

	function outlying(s, from, to) {
		for (let i = from; i < to; i++)
			if (s.o[i])
				return true;
		return false;
	}

	/* Work at the bottom, idle time by cause above it. */
	function bar(g, s, i, x, wide, bottom, y) {
		const paint = id => wide >= 4 ? gpushim.fill(g, id) : gpushim.colour(id);
		let sum = s.d[i] - s.i[i], at = y(sum);

		g.globalAlpha = s.k[i] ? 0.4 : 1;
		g.fillStyle = paint("compute");
		g.fillRect(x, bottom - at, wide, at);
		for (const [id, column] of s.causes) {
			if (!column[i])
				continue;
			sum += column[i];
			const next = y(sum);

			if (next - at >= 0.2) {
				g.fillStyle = paint(id);
				g.fillRect(x, bottom - next, wide, next - at);
			}
			at = next;
		}
		g.globalAlpha = 1;
		if (s.d[i] > s.top) { /* higher than there is room for */
			g.fillStyle = gpushim.css("card");
			g.fillRect(x, TOP + 6, wide, 2);
			g.fillRect(x, TOP + 10, wide, 2);
		}
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
		return (gpushim.several() ? "device " + s.device + ": " : "") + gpushim.count(s.all) + " steps, half of them within " + gpushim.duration(s.median) + "; the device was idle in " + gpushim.percent(idle, whole) + " of their time";
	}

	/* "step 12 took 45 ms longer: checkpoint 40 ms, device at work 1 ms" */
	function outliers(usual, s, canvas) {
		const longest_first = usual.outliers.slice().sort((a, b) => b.excess_ns - a.excess_ns || a.index - b.index).slice(0, outliers_shown());

		return longest_first.map(o => {
			const why = gpushim.ranked({ ...o.causes_excess_ns, "device at work": o.busy_excess_ns }).filter(c => c[1] >= o.excess_ns / 10).slice(0, 3);

			return make("li", null, make("button", { type: "button", class: "link", onclick: () => canvas.choose(Math.floor(o.index / s.stride)) }, o.name),
				" took " + gpushim.duration(o.excess_ns) + " longer than half of them: ", why.map((c, k) => [k ? ", " : "", c[0] === "device at work" ? null : gpushim.swatch(c[0]), c[0] + " " + gpushim.duration(c[1])]));
		});
	}

	async function device(packed, data, bus) {
		const s = await load(packed, data.strings), canvas = strip(s, bus);
		const usual = data.report.steps_usual.find(u => u.device === s.device), list = usual ? outliers(usual, s, canvas) : [];

		return make("div", { class: "steps" }, make("p", { class: "note" }, words(s)), make("div", { class: "strip-place" }, canvas),
			list.length ? make("ul", { class: "outliers" }, list, usual.outliers.length > list.length ? make("li", { class: "dim" }, "▾ marks these and " + (usual.outliers.length - list.length) + " more") : null) : null);
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
			const most = data.steps.slice(0, 8);

			section.append(make("p", { class: "dim note" }, by + "; height is length: ", gpushim.swatch("compute"), "the device at work, above it idle time by cause. ▾ is an outlier. Drag to zoom, double click for all, click for its story."));
			section.append(...await Promise.all(most.map(p => device(p, data, bus))));
			if (data.steps.length > most.length)
				section.append(make("p", { class: "dim" }, "and " + (data.steps.length - most.length) + " more devices"));
			section.append(...[phases(data)].filter(Boolean));
		},
	});
})();
