/* SPDX-License-Identifier: BSD-2-Clause */
/* head.js: what was recorded, the answer in one sentence, one big bar for each device, and what to do first. */
"use strict";

(function () {
	const make = gpushim.make, FEW = 8, MOST_ROWS = 512, BAR = 30;

	/* What a device's time went to: { id, ns, words }, work first. */
	function parts(d) {
		const list = [{ id: "compute", ns: d.compute_ns - d.unresolved_ns }, { id: "unresolved", ns: d.unresolved_ns },
			      { id: "comm", ns: d.comm_exposed_ns - d.comm["comm-wait"] }, { id: "comm-wait", ns: d.comm["comm-wait"] }, { id: "copy", ns: d.copy_exposed_ns - d.copy.memset }, { id: "memset", ns: d.copy.memset }];

		return list.concat(gpushim.ranked(d.causes).map(c => ({ id: c[0], ns: c[1], idle: true }))).filter(p => p.ns > 0);
	}

	function bar(d, bus) {
		const canvas = make("canvas", { class: "bar", role: "img", "aria-label": bar_words(d) }), list = parts(d);
		let ends = [], width = 1;

		gpushim.canvas(canvas, BAR, (g, w, h) => {
			let at = 0;

			width = w;
			ends = [];
			for (const p of list) {
				const wide = p.ns / d.span_ns * w;

				g.fillStyle = gpushim.fill(g, p.id);
				g.fillRect(at, 0, Math.max(wide, 0.5), h);
				if (wide > 3) {
					g.fillStyle = gpushim.css("card");
					g.fillRect(at + wide - 1, 0, 1, h);
				}
				ends.push(at += wide);
			}
			const idle = d.idle_ns / d.span_ns * w;
			if (idle > 2) { /* a line above all that is idle */
				g.fillStyle = gpushim.css("text");
				g.fillRect(w - idle, h - 3, idle, 3);
			}
		});
		const at = event => list[ends.findIndex(e => event.offsetX * width / canvas.clientWidth <= e)];

		canvas.addEventListener("mousemove", event => {
			const p = at(event), c = p && gpushim.class(p.id);

			gpushim.tip(event, p && [(p.idle ? "idle: " : "") + (p.idle ? p.id : c.title), gpushim.duration(p.ns) + ", " + gpushim.percent(p.ns, d.span_ns) + " of the span" +
				(p.idle ? ", " + gpushim.percent(p.ns, d.idle_ns) + " of idle" : "")].concat(p.idle ? [c.title] : []));
		});
		canvas.addEventListener("mouseleave", event => gpushim.tip(event, null));
		canvas.addEventListener("click", event => {
			const p = at(event);

			if (p && p.idle)
				bus.emit("cause", p.id);
		});
		return canvas;
	}

	function bar_words(d) {
		return parts(d).map(p => p.id + " " + gpushim.percent(p.ns, d.span_ns)).join(", ");
	}

	/* What cannot be told counts as compute, as everywhere; the bar shows how much of it that is. */
	function legend(devices) {
		const t = gpushim.total(devices), list = parts(t).filter(p => p.ns >= t.span_ns / 1000 || p.id === "compute");
		const name = { unresolved: "of it not to be told" }, whole = { compute: t.compute_ns };

		return make("ul", { class: "legend" }, list.map(p => make("li", { "data-id": p.id }, gpushim.swatch(p.id), make("b", null, name[p.id] || (p.idle ? p.id : gpushim.class(p.id).title)), " ",
			make("span", { class: "dim" }, gpushim.percent(whole[p.id] || p.ns, t.span_ns)))));
	}

	/* ---- the answer ------------------------------------------------------------------------------------------- */

	const because = id => gpushim.class(id).title.split(";")[0];

	function idle_words(devices) {
		const t = gpushim.total(devices), share = devices.map(d => d.span_ns > 0 ? d.idle_ns / d.span_ns : 0);
		const low = gpushim.percent(Math.min(...share), 1), high = gpushim.percent(Math.max(...share), 1);

		if (devices.length === 1)
			return ["The device was idle ", make("strong", { id: "idle" }, gpushim.percent(t.idle_ns, t.span_ns)), " of " + gpushim.duration(t.span_ns)];
		return ["The " + devices.length + " devices were idle ", make("strong", { id: "idle" }, gpushim.percent(t.idle_ns, t.span_ns)), " of their time (" + low + " to " + high + ")"];
	}

	/* What others waited for is busy time, and no less lost. */
	function wait_words(t) {
		const wait = t.comm["comm-wait"], late = gpushim.data.report.ranks.stragglers[0];

		return wait >= t.span_ns / 20 ? [", and for ", make("strong", null, gpushim.percent(wait, t.span_ns)), " they waited for the last rank of a collective" + (late && late.rank >= 0 ? ", mostly rank " + late.rank : "")] : [];
	}

	function answer(devices) {
		const t = gpushim.total(devices), ranked = gpushim.ranked(t.causes);

		if (!devices.length)
			return make("p", { class: "answer" }, "No device work was recorded.");
		const top = ranked[0];
		const why = !top || t.idle_ns < t.span_ns / 1000 ? [] : top[0] === "unexplained" ? ["; of most of that nothing is proven"]
			: [", mostly because ", make("strong", null, because(top[0])), " (" + top[0] + ", " + gpushim.percent(top[1], t.idle_ns) + " of idle)"];

		return make("p", { class: "answer" }, idle_words(devices), why, wait_words(t), ".");
	}

	/* The longest piece of that cause with a chain: who was waited for. */
	function proof(a, bus) {
		let best = null, of = null;

		for (const gap of gpushim.data.gaps)
			for (const c of gap.causes)
				if (c.id === a.cause && c.chain.length > 1 && (!best || gpushim.length(c) > gpushim.length(best)))
					[best, of] = [c, gap];
		if (!best)
			return null;
		return make("div", { class: "proof" }, make("button", { type: "button", class: "link", onclick: () => bus.emit("select", { device: of.device, gap: of.gap }) }, "gap " + of.gap),
			make("span", { class: "dim" }, ", " + gpushim.duration(gpushim.length(best)) + " of it: " + gpushim.chain_line(best)));
	}

	function first_advice(bus) {
		const a = gpushim.advice()[0];

		if (!a)
			return null;
		const gain = gpushim.gain(a);

		return make("div", { class: "first" }, make("b", null, "Do first" + (gpushim.several() ? ", for device " + a.device : "") + ": "), a.text, ". ", make("span", { class: "gain" }, gain.faster), make("span", { class: "dim" }, "; " + gain.then + "."), proof(a, bus));
	}

	const device_name = d => "device " + d.device + (d.rank >= 0 && gpushim.several() ? " · rank " + d.rank : "");

	function rows(devices, bus) {
		return make("div", { class: devices.length > 1 ? "bars several" : "bars" }, devices.map(d => make("div", { class: "bar-row" },
			make("div", { class: "bar-name" }, device_name(d), make("span", { class: "dim" }, " " + d.name)),
			make("div", { class: "bar-place" }, bar(d, bus)),
			make("div", { class: "bar-idle" }, "idle " + gpushim.percent(d.idle_ns, d.span_ns)))));
	}

	/* ---- many devices: a thin row each ------------------------------------------------------------------------ */

	const LABEL = 84;

	function thin_row(g, d, y, w, high) {
		let at = LABEL;

		for (const p of parts(d)) {
			const wide = p.ns / d.span_ns * (w - LABEL);

			g.fillStyle = high >= 8 ? gpushim.fill(g, p.id) : gpushim.colour(p.id);
			g.fillRect(at, y, wide, high - (high > 4 ? 1 : 0));
			at += wide;
		}
	}

	function thin(devices, bus) {
		const canvas = make("canvas", { class: "bar", role: "img", "aria-label": "what the time of each device went to" }), shown = devices.slice(0, MOST_ROWS);
		const high = Math.max(2, Math.min(14, Math.floor(280 / shown.length))), every = Math.ceil(13 / high);
		let width = 1;

		gpushim.canvas(canvas, shown.length * high + 4, (g, w) => {
			width = w;
			g.font = "11px system-ui, sans-serif";
			g.textBaseline = "middle";
			shown.forEach((d, i) => {
				thin_row(g, d, 2 + i * high, w, high);
				g.fillStyle = gpushim.css("dim");
				if (i % every === 0)
					g.fillText(d.rank >= 0 ? "rank " + d.rank : "device " + d.device, 0, Math.max(8, 2 + (i + 0.5) * high), LABEL - 8);
			});
		});
		const at = event => {
			const d = shown[Math.floor((event.offsetY - 2) / high)], share = (event.offsetX * width / canvas.clientWidth - LABEL) / (width - LABEL);
			let sum = 0;

			return d && share >= 0 ? { d, p: parts(d).find(p => (sum += p.ns / d.span_ns) >= share) } : null;
		};

		canvas.addEventListener("mousemove", event => {
			const hit = at(event);

			gpushim.tip(event, hit && [device_name(hit.d) + ": idle " + gpushim.percent(hit.d.idle_ns, hit.d.span_ns)].concat(hit.p ? [(hit.p.idle ? "idle: " + hit.p.id : gpushim.class(hit.p.id).title) + ", " + gpushim.duration(hit.p.ns) + ", " + gpushim.percent(hit.p.ns, hit.d.span_ns)] : []));
		});
		canvas.addEventListener("mouseleave", event => gpushim.tip(event, null));
		canvas.addEventListener("click", event => {
			const hit = at(event);

			if (hit && hit.p && hit.p.idle)
				bus.emit("cause", hit.p.id);
		});
		return make("div", { class: "bars thin" }, canvas, devices.length > shown.length ? make("p", { class: "dim" }, "and " + (devices.length - shown.length) + " more devices") : null);
	}

	/* The one that matters most as wide as one alone would be, then all. */
	const bars = (devices, bus) => devices.length <= FEW ? [rows(devices, bus)] : [rows(gpushim.by_trouble(devices).slice(0, 1), bus), thin(devices, bus)];

	gpushim.panel({
		id: "answer", order: 0, place: "head",
		make(section, data, bus) {
			const devices = data.report.devices;
			const theme = make("button", { type: "button", id: "theme", title: "light or dark", "aria-label": "light or dark", onclick: gpushim.theme_toggle }, "◐");

			section.append(make("div", { class: "title" }, make("h1", null, data.title || "gpushim"), theme),
				       make("p", { class: "dim subtitle" }, data.subtitle), answer(devices));
			if (!devices.length)
				return;
			section.append(...bars(devices, bus), legend(devices));
			section.append(...[first_advice(bus)].filter(Boolean));
		},
	});
})();
