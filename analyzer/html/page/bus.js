/* SPDX-License-Identifier: BSD-2-Clause */
/* bus.js: what panels tell each other, and the theme.
 *   select  { device, gap } a gap by its number, { lane, item }, { device, step }, or null: what was clicked
 *   view    { begin, end }  ns from zero: what the timeline shows
 *   goto    { begin, end }  the timeline is to show that
 *   search  text to be looked for; searched: text that the timeline looks for now
 *   theme   "light" or "dark" */
"use strict";

gpushim.bus = (function () {
	const listeners = {};

	return {
		on(event, fn) {
			(listeners[event] = listeners[event] || []).push(fn);
		},
		emit(event, value) {
			for (const fn of listeners[event] || []) {
				try {
					fn(value);
				} catch (error) {
					console.error(error);
				}
			}
		},
	};
})();

(function () {
	const dark = matchMedia("(prefers-color-scheme: dark)");
	let chosen = null; /* by the button; not kept: a page from a file has nowhere to keep it */

	gpushim.theme = () => chosen || (dark.matches ? "dark" : "light");

	/* What paints an element again goes with it: stories make many, and nobody says when one is gone. */
	const painters = new WeakMap();
	let painted = [];

	gpushim.on_theme = function (fn, element) {
		if (!element) {
			gpushim.bus.on("theme", fn);
			return;
		}
		painters.set(element, fn);
		painted.push(new WeakRef(element));
	};

	gpushim.bus.on("theme", () => {
		painted = painted.filter(reference => reference.deref());
		for (const reference of painted) {
			const element = reference.deref();

			if (element)
				painters.get(element)();
		}
	});

	function changed() {
		document.documentElement.dataset.theme = gpushim.theme();
		gpushim.fills_clear();
		gpushim.bus.emit("theme", gpushim.theme());
	}

	gpushim.theme_toggle = function () {
		chosen = gpushim.theme() === "dark" ? "light" : "dark";
		changed();
	};

	document.documentElement.dataset.theme = gpushim.theme();
	dark.addEventListener("change", changed);

	/* A colour of base.css by its name, for canvases. */
	gpushim.css = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
})();
