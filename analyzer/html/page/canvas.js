/* SPDX-License-Identifier: BSD-2-Clause */
/* canvas.js: a canvas that is as wide as its place and as sharp as the screen, and the one label beside the pointer. */
"use strict";

/* The canvas is as wide as the block that it is put into. draw(g, width, height) in CSS pixels: when its size or the theme changes, and when the returned function is called (once a frame at most). */
gpushim.canvas = function (canvas, height, draw) {
	const g = canvas.getContext("2d");
	let width = 0, asked = false;

	function paint() {
		const ratio = window.devicePixelRatio || 1, h = typeof height === "function" ? height() : height;

		asked = false;
		if (!width)
			return;
		if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(h * ratio)) {
			canvas.width = Math.round(width * ratio);
			canvas.height = Math.round(h * ratio);
			canvas.style.height = h + "px";
		}
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.clearRect(0, 0, width, h);
		draw(g, width, h);
	}

	function ask() {
		if (!asked) {
			asked = true;
			requestAnimationFrame(paint);
		}
	}

	canvas.style.width = "100%";
	canvas.style.display = "block";
	new ResizeObserver(() => {
		const now = canvas.clientWidth;

		if (now !== width) {
			width = now;
			ask();
		}
	}).observe(canvas);
	gpushim.on_theme(ask, canvas);
	return ask;
};

(function () {
	let tip = null;

	/* Lines beside the pointer; null takes them away. */
	gpushim.tip = function (event, lines) {
		if (!tip) {
			tip = gpushim.make("div", { id: "tip", role: "tooltip" });
			document.body.append(tip);
		}
		tip.hidden = !lines;
		if (!lines)
			return;
		tip.replaceChildren(...lines.map((line, i) => gpushim.make("div", { class: i ? "" : "tip-first" }, line)));
		const box = tip.getBoundingClientRect();
		const x = event.clientX + 14 + box.width > innerWidth ? event.clientX - 14 - box.width : event.clientX + 14;
		const y = event.clientY + 16 + box.height > innerHeight ? event.clientY - 12 - box.height : event.clientY + 16;

		tip.style.left = Math.max(4, x) + "px";
		tip.style.top = Math.max(4, y) + "px";
	};
})();
