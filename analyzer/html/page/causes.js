/* SPDX-License-Identifier: BSD-2-Clause */
/* causes.js: what idle time is lost to, what of it can be won back, and how. */
"use strict";

(function () {
	const make = gpushim.make, FEW = 5;

	const number = (text, more) => make("td", { class: "number" + (more || "") }, text);

	function share_bar(ns, whole, id) {
		const canvas = make("canvas", { class: "share", "aria-hidden": "true" });
		const paint = () => {
			const g = canvas.getContext("2d");

			canvas.width = 240;
			canvas.height = 24;
			g.setTransform(2, 0, 0, 2, 0, 0);
			g.fillStyle = gpushim.css("line");
			g.fillRect(0, 11, 120, 1);
			g.fillStyle = gpushim.fill(g, id);
			g.fillRect(0, 0, whole > 0 ? Math.max(1, 120 * ns / whole) : 0, 12);
		};

		paint();
		gpushim.on_theme(paint, canvas);
		return canvas;
	}

	/* Of the chosen devices, by loss. */
	function losses(recoverable, devices) {
		const out = {};

		for (const r of recoverable) {
			if (!devices.some(d => d.device === r.device))
				continue;
			const x = out[r.id] = out[r.id] || { lost: 0, recoverable: 0, ceiling: 0, likely: 0, observed: 0 };

			x.lost += r.lost_ns;
			x.likely += r.likely_ns;
			x.observed += r.observed_ns;
			x.recoverable += r.recoverable_ns;
			x.ceiling = Math.max(x.ceiling, r.ceiling);
		}
		return out;
	}

	/* Causes of idle time, the longest first, then work that nothing computes beside. */
	function rows_of(t, lost) {
		const causes = gpushim.ranked(t.causes).map(c => ({ id: c[0], ns: c[1], idle: true }));
		const work = [...Object.entries(t.comm), ...Object.entries(t.copy)].filter(c => c[1] > 0 && lost[c[0]]).sort((a, b) => b[1] - a[1]);

		return causes.concat(work.map(c => ({ id: c[0], ns: c[1], idle: false })));
	}

	function row(r, t, lost) {
		const l = lost[r.id], c = gpushim.class(r.id);

		return make("tr", { "data-cause": r.id, class: r.idle ? null : "work" },
			make("td", null, gpushim.swatch(r.id), make("b", null, r.id), make("div", { class: "dim what" }, r.idle ? c.title : "exposed: nothing was computed meanwhile")),
			make("td", { class: "narrow-hide" }, share_bar(r.ns, Math.max(...[t.idle_ns, r.ns]), r.id)),
			number(gpushim.duration(r.ns)), number(gpushim.percent(r.ns, t.span_ns)), number(r.idle ? gpushim.percent(r.ns, t.idle_ns) : ""),
			number(l && r.idle && l.lost > 0 ? gpushim.percent(l.observed, l.lost) : "", " dim narrow-hide"),
			number(l ? gpushim.duration(l.lost + l.likely) : ""), number(l ? gpushim.duration(l.recoverable) : ""),
			number(l && l.ceiling >= 0.0005 ? (l.ceiling < 1 ? gpushim.fixed(100 * l.ceiling, 1) + " %" : gpushim.fixed(1 + l.ceiling, 1) + " ×") : "", " gain"));
	}

	const HEADS = [["why", "", ""], ["", "", "narrow-hide"], ["time", "of the whole recording", "number"], ["of span", "", "number"], ["of idle", "", "number"],
		["proven", "the share of what was lost that records prove; the rest is inferred", "number narrow-hide"], ["lost", "in the steps of the training loop, or in the whole span where no steps are known; with what bursts say of time that cannot be told", "number"],
		["to win back", "at most: some work has to be done all the same", "number"], ["faster by", "at most, if that were gone and nothing else", "number"]];

	function table(data, devices) {
		const t = gpushim.total(devices), lost = losses(data.report.recoverable, devices), rows = rows_of(t, lost);

		if (!rows.length)
			return make("p", { class: "dim" }, "The device was never idle.");
		const made = rows.map(r => row(r, t, lost)), small = made.filter((_, i) => i >= FEW && rows[i].ns < t.span_ns / 1000);

		small.forEach(tr => { tr.hidden = small.length > 1; });
		return make("div", { class: "scroll" }, make("table", { class: "causes" },
			make("thead", null, make("tr", null, HEADS.map(h => make("th", { class: h[2], title: h[1] || null }, h[0])))),
			make("tbody", null, made)), small.length > 1 ? gpushim.more("and " + small.length + " more, each less than a thousandth", () => small.forEach(tr => { tr.hidden = false; })) : null);
	}

	/* Buttons, where there are several devices. */
	function choice(data, show) {
		const devices = data.report.devices, all = make("button", { type: "button", "aria-pressed": "true" }, "all devices");
		const each = devices.slice(0, 64).map(d => make("button", { type: "button", "aria-pressed": "false" }, "device " + d.device));
		const buttons = [all, ...each];

		buttons.forEach((b, i) => b.addEventListener("click", () => {
			buttons.forEach(x => x.setAttribute("aria-pressed", String(x === b)));
			show(i ? [devices[i - 1]] : devices);
		}));
		return make("div", { class: "choice" }, buttons);
	}

	function about(data) {
		const r = data.report.recoverable[0];

		if (!r)
			return null;
		return make("p", { class: "dim note" }, r.steps ? "lost, to win back, faster by: of the training loop" + (gpushim.several() ? "; of device " + r.device : ",") + " " + gpushim.count(r.steps) + " steps, " + gpushim.duration(r.span_ns)
			: "lost, to win back, faster by: of the whole span, as no steps are known");
	}

	/* ---- advice ----------------------------------------------------------------------------------------------- */

	function gap_of(text) { /* "inferred in gap 28: …" */
		const found = /\bgap (\d+)\b/.exec(text);

		return found && gpushim.gap(Number(found[1])) ? Number(found[1]) : null;
	}

	function evidence(text, bus) {
		const gap = gap_of(text);

		return make("li", null, text + " ", gap === null ? null : make("button", { type: "button", class: "link", onclick: () => bus.emit("select", { device: gpushim.gap(gap).device, gap }) }, "show it"));
	}

	function advice(a, i, bus) {
		const gain = gpushim.gain(a);

		return make("article", { class: "advice" },
			make("h3", null, make("span", { class: "rank" }, String(i + 1)), gpushim.swatch(a.cause), a.id, gpushim.several() ? make("span", { class: "dim" }, " device " + a.device) : null,
				make("span", { class: "gain" }, gain.faster, a.observed < 0.9 ? make("span", { class: "dim", title: "less than nine tenths of what is lost are proven" }, " (inferred)") : null)),
			make("p", { class: "do" }, a.text),
			make("p", null, a.why, make("span", { class: "dim" }, "; " + gain.then)),
			a.evidence.length ? make("ul", { class: "evidence dim" }, a.evidence.map(e => evidence(e, bus))) : null);
	}

	gpushim.panel({
		id: "causes", title: "Why idle, and what can be won back", order: 20,
		wants: data => data.report.devices.length > 0,
		make(section, data, bus) {
			const place = make("div"), show = devices => place.replaceChildren(table(data, devices));

			if (gpushim.several())
				section.append(choice(data, show));
			show(data.report.devices);
			section.append(place, ...[about(data)].filter(Boolean));
			bus.on("cause", id => {
				const row = place.querySelector(`tr[data-cause="${CSS.escape(id)}"]`);

				if (!row)
					return;
				row.hidden = false;
				row.scrollIntoView({ block: "center" });
				row.classList.add("flash");
				setTimeout(() => row.classList.remove("flash"), 1200);
			});
		},
	});

	gpushim.panel({
		id: "advice", title: "What to do", order: 21,
		wants: data => data.report.devices.length > 0,
		make(section, data, bus) {
			const list = gpushim.advice();

			if (!list.length)
				section.append(make("p", { class: "dim" }, "Nothing: no loss is a hundredth of the time."));
			section.append(make("div", { class: "advices" }, list.slice(0, 12).map((a, i) => advice(a, i, bus))));
		},
	});
})();
