/* SPDX-License-Identifier: BSD-2-Clause */
/* trust.js: how far the figures can be trusted: the text report's own sentences. */
"use strict";

(function () {
	const make = gpushim.make, GOOD = { losses: "none" };

	gpushim.panel({
		id: "trust", title: "How far to trust this", order: 90,
		make(section, data) {
			const doubtful = ["losses", "damage", "missing", "beginning", "end", "left out"];

			section.append(make("dl", { class: "trust" }, data.trust.map(t => [make("dt", null, t.label),
				make("dd", { class: doubtful.includes(t.label) && t.text !== GOOD[t.label] ? "warn" : null }, t.text)])));
		},
	});

	gpushim.panel({
		id: "about", order: 99, place: "foot",
		make(section, data) {
			section.append(make("p", { class: "dim" }, "gpushim " + data.version + ". One file, no network. Click a gap anywhere for its story; the same figures for programs: gpushim report --json."));
		},
	});
})();
