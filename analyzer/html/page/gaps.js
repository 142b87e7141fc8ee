/* SPDX-License-Identifier: BSD-2-Clause */
/* gaps.js: the longest gaps, a line each; a click tells the whole story. */
"use strict";

(function () {
	const make = gpushim.make, FEW = 12, MORE = 200;

	/* A button that is gone when it was used. */
	gpushim.more = function (text, fn) {
		const button = make("button", { type: "button", class: "more", onclick: () => { button.remove(); fn(); } }, text);

		return button;
	};

	/* "python[12] in read ← loader[13] on a CPU" */
	gpushim.chain_line = function (cause) {
		const state = s => / \/| \.\.\./.test(s) ? s.replace(/ \S*\/([^/]+)$/, " …/$1") : s; /* without the folders */

		return cause.chain.length > 1 ? cause.chain.map(l => (l.name || "thread") + "[" + l.tid + "] " + state(gpushim.state(l))).join(" ← ") : "";
	};

	/* All of it in one strip. */
	gpushim.pieces = function (gap, width) {
		const canvas = make("canvas", { class: "pieces", "aria-hidden": "true" });
		const paint = () => {
			const g = canvas.getContext("2d"), whole = gpushim.length(gap);

			canvas.width = 2 * width;
			canvas.height = 24;
			canvas.style.width = width + "px";
			g.setTransform(2, 0, 0, 2, 0, 0);
			for (const c of gap.causes) {
				const from = (c.begin_ns - gap.begin_ns) / whole * width;

				g.fillStyle = gpushim.fill(g, c.id);
				g.fillRect(from, 0, Math.max(gpushim.length(c) / whole * width, 0.5), 12);
			}
		};

		paint();
		gpushim.on_theme(paint, canvas);
		return canvas;
	};

	function row(gap, bus) {
		const device = gpushim.device(gap.device), ranked = gpushim.gap_causes(gap), c = gpushim.main_cause(gap);
		const select = () => bus.emit("select", { device: gap.device, gap: gap.gap });
		const tr = make("tr", { class: "pick", tabindex: "0", "data-gap": gap.gap, onclick: select, onkeydown: e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); select(); } } },
			make("td", { class: "number" }, String(gap.gap)),
			gpushim.several() ? make("td", { class: "number" }, String(gap.device)) : null,
			make("td", { class: "number narrow-hide" }, gpushim.duration(gap.begin_ns - device.begin_ns)),
			make("td", { class: "number" }, make("b", null, gpushim.duration(gpushim.length(gap)))),
			make("td", { class: "narrow-hide" }, gpushim.pieces(gap, 90)),
			make("td", null, make("div", null, gpushim.mainly(ranked, gpushim.length(gap), 2)), c ? make("div", { class: "dim clip" }, gpushim.chain_line(c) || c.evidence[0]) : null));

		return tr;
	}

	gpushim.panel({
		id: "gaps", title: "Longest gaps", order: 40,
		wants: data => data.gaps.length > 0,
		make(section, data, bus) {
			const gaps = data.gaps.slice().sort((a, b) => gpushim.length(b) - gpushim.length(a) || a.gap - b.gap);
			const body = make("tbody"), show = n => body.replaceChildren(...gaps.slice(0, n).map(g => row(g, bus)));

			show(FEW);
			section.append(make("p", { class: "dim note" }, "A click tells a gap's whole story. " + (gaps.length < data.gaps_all ? gpushim.count(gaps.length) + " of " + gpushim.count(data.gaps_all) + " gaps are told here; of any other: gpushim report --why NUMBER." : "")),
				make("div", { class: "scroll" }, make("table", { class: "gaps" }, make("thead", null, make("tr", null, make("th", { class: "number" }, "gap"), gpushim.several() ? make("th", { class: "number" }, "device") : null,
					make("th", { class: "number narrow-hide" }, "at"), make("th", { class: "number" }, "idle"), make("th", { class: "narrow-hide" }, ""), make("th", null, "why"))), body)),
				...(gaps.length > FEW ? [gpushim.more("the " + gpushim.count(Math.min(MORE, gaps.length)) + " longest", () => show(MORE))] : []));
			bus.on("select", what => {
				for (const tr of body.children)
					tr.classList.toggle("selected", !!what && Number(tr.dataset.gap) === what.gap);
			});
		},
	});
})();
