/* SPDX-License-Identifier: BSD-2-Clause */
/* boot.js: reads the data and makes the panels, in their order. */
"use strict";

(function () {
	const make = gpushim.make;

	function trouble(section, error) {
		console.error(error);
		section.replaceChildren(make("h2", null, section.dataset.title),
					make("p", { class: "trouble" }, "this part could not be drawn: " + error.message));
	}

	/* One that fails takes none of the others with it. */
	async function make_panel(panel, data, place) {
		const section = make("section", { id: panel.id, "data-title": panel.title });

		place.append(section);
		if (panel.title)
			section.append(make("h2", null, panel.title));
		try {
			await panel.make(section, data, gpushim.bus);
		} catch (error) {
			trouble(section, error);
		}
	}

	function show(panels, data) {
		return Promise.all(panels.map(p => make_panel(p, data, document.getElementById(p.place || "panels"))));
	}

	async function boot() {
		const data = JSON.parse(document.getElementById("data").textContent);

		if (data.schema !== "gpushim.page/1")
			throw new Error("not a page's data: " + data.schema);
		gpushim.data = data;
		gpushim.classes_set(data.classes);
		document.title = data.title ? data.title + " · gpushim" : "gpushim";
		await show(gpushim.panels.filter(p => !p.wants || p.wants(data)).sort((a, b) => a.order - b.order), data);
		document.documentElement.dataset.ready = "true"; /* all panels are there: tests wait for it */
	}

	boot().catch(error => {
		console.error(error);
		document.getElementById("panels").append(make("p", { class: "trouble" }, "this page could not be read: " + error.message));
	});
})();
