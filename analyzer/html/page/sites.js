/* SPDX-License-Identifier: BSD-2-Clause */
/* sites.js: idle time by the statement that held the launching thread. */
"use strict";

(function () {
	const make = gpushim.make, FEW = 12;

	function row(site, idle, bus) {
		const ranked = gpushim.ranked(site.causes), named = gpushim.frame(site), told = gpushim.gap(site.longest_gap);

		return make("tr", null,
			make("td", { class: "code", title: site.file || site.module || null }, named || make("span", { class: "dim" }, "no stack says")),
			gpushim.several() ? make("td", { class: "number" }, String(site.device)) : null,
			make("td", { class: "number" }, gpushim.duration(site.idle_ns)), make("td", { class: "number" }, gpushim.percent(site.idle_ns, idle)),
			make("td", { class: "number narrow-hide" }, gpushim.count(site.gaps)),
			make("td", null, ranked.length ? [gpushim.swatch(ranked[0][0]), gpushim.mainly(ranked, site.idle_ns, 2)] : null),
			make("td", { class: "number" }, told ? make("button", { type: "button", class: "link", onclick: () => bus.emit("select", { device: site.device, gap: site.longest_gap }) }, "gap " + site.longest_gap) : String(site.longest_gap)));
	}

	gpushim.panel({
		id: "sites", title: "Idle time by call site", order: 55,
		wants: data => data.report.call_sites.some(s => gpushim.frame(s)),
		make(section, data, bus) {
			const sites = data.report.call_sites.slice().sort((a, b) => b.idle_ns - a.idle_ns);
			const idle = Object.fromEntries(data.report.devices.map(d => [d.device, d.idle_ns]));
			const body = make("tbody"), show = n => body.replaceChildren(...sites.slice(0, n).map(s => row(s, idle[s.device], bus)));

			show(FEW);
			section.append(make("p", { class: "dim note" }, "The statement of the program's own that the launching thread was at."),
				make("div", { class: "scroll" }, make("table", null, make("thead", null, make("tr", null, make("th", null, "statement"), gpushim.several() ? make("th", { class: "number" }, "device") : null,
					make("th", { class: "number" }, "idle"), make("th", { class: "number" }, "of idle"), make("th", { class: "number narrow-hide" }, "gaps"), make("th", null, "mainly"), make("th", { class: "number" }, "longest"))), body)),
				...(sites.length > FEW ? [gpushim.more("all " + gpushim.count(sites.length), () => show(sites.length))] : []));
		},
	});
})();
