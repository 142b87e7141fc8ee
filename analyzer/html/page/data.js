/* SPDX-License-Identifier: BSD-2-Clause */
/* data.js: the page's data as scripts want it, and figures as the text report writes them.
 * Names come from traces: they go into the page by textContent and fillText, and in no other way. */
"use strict";

const gpushim = { panels: [] };

/* { id, title, order, wants: data => …, make: (section, data, bus) => …, place: "head" where it is none of the column's } */
gpushim.panel = panel => { gpushim.panels.push(panel); };

/* A name by its number, where there is little room: of a long C++ name what tells most. */
gpushim.short = n => gpushim.data.short[n] || gpushim.data.strings[n];

/* ---- packed columns (html_pack.h) -------------------------------------------------------------------------------------- */

(function () {
	const NEGATIVE = 0.5; /* zigzag: odd values are negative */

	function bytes_of(base64) {
		const text = atob(base64);
		const bytes = new Uint8Array(text.length);

		for (let i = 0; i < text.length; i++)
			bytes[i] = text.charCodeAt(i);
		return bytes;
	}

	const SHORT = 2000; /* characters: what is longer is quicker by a stream of the browser's */

	async function inflate(base64) {
		if (base64.length <= SHORT)
			return gpushim.inflate_short(bytes_of(base64));
		const stream = new Blob([bytes_of(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));

		return new Uint8Array(await new Response(stream).arrayBuffer());
	}

	function count(bytes) {
		let n = 0;

		for (let i = 0; i < bytes.length; i++)
			n += bytes[i] < 128 ? 1 : 0;
		return n;
	}

	/* Whole numbers up to 2^53: nanoseconds of a hundred days. */
	function varints(bytes, type) {
		const values = new Float64Array(count(bytes));
		let at = 0, last = 0;

		for (let i = 0; i < values.length; i++) {
			let v = 0, scale = 1;

			for (; bytes[at] >= 128; scale *= 128)
				v += (bytes[at++] - 128) * scale;
			v += bytes[at++] * scale;
			if (type === "zigzag")
				v = v % 2 ? -(v + 1) * NEGATIVE : v * NEGATIVE;
			else if (type === "delta")
				v = last += v;
			values[i] = v;
		}
		return values;
	}

	const unpacked = new WeakMap();

	/* A promise: a Uint8Array of a column of bytes, else a Float64Array. A column is unpacked once. */
	gpushim.column = function (column) {
		if (!unpacked.has(column))
			unpacked.set(column, inflate(column.z).then(bytes => column.t === "u8" ? bytes : varints(bytes, column.t)));
		return unpacked.get(column);
	};

	/* { b: COL, n: 3, … } → the same with its columns unpacked. */
	gpushim.columns = async function (object) {
		const out = {};

		await Promise.all(Object.keys(object).map(async key => {
			const value = object[key];

			out[key] = value && typeof value === "object" && typeof value.z === "string" ? await gpushim.column(value) : value;
		}));
		return out;
	};
})();

/* ---- figures, as text.c writes them -------------------------------------------------------------------------------------- */

(function () {
	/* As printf rounds: what lies exactly between two goes to the even one, where toFixed takes the larger. */
	gpushim.fixed = function (value, digits) {
		const scale = 10 ** digits, below = Math.floor(value * scale);

		if (value * 2 ** (digits + 1) % 2 !== 1)
			return value.toFixed(digits);
		return ((below % 2 ? below + 1 : below) / scale).toFixed(digits);
	};
	const fixed = gpushim.fixed;

	gpushim.duration = function (ns) {
		const abs = Math.abs(ns), sign = ns < 0 ? "-" : "";

		if (abs < 1000)
			return sign + fixed(abs, 0) + " ns";
		if (abs < 999.95e3)
			return sign + fixed(abs / 1e3, 1) + " us";
		if (abs < 999.95e6)
			return sign + fixed(abs / 1e6, 1) + " ms";
		return sign + fixed(abs / 1e9, abs < 1000e9 ? 2 : 0) + " s";
	};

	gpushim.count = n => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

	gpushim.percent = (part, whole) => fixed(whole > 0 ? part * 100 / whole : 0, 1) + " %";

	gpushim.bytes = function (bytes) {
		const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
		let unit = 0;

		for (; bytes >= 1023.95 && unit < 6; unit++)
			bytes /= 1024;
		return fixed(bytes, unit ? 1 : 0) + " " + units[unit];
	};
})();

/* ---- classes: what things are called and how they are drawn (html_classes.def) ------------------------------------------ */

(function () {
	let classes = [], by_id = {}, made = new Map();

	gpushim.classes_set = function (list) {
		classes = list;
		by_id = {};
		list.forEach((c, i) => { by_id[c.id] = i; });
	};

	/* By number or by id; a kind of copy or of communication has its class's look. */
	gpushim.class = function (which) {
		if (typeof which === "number")
			return classes[which];
		return classes[by_id[which]] || classes[by_id[which.split("-")[0]]] || classes[by_id.unexplained];
	};

	gpushim.class_number = id => by_id[id];
	gpushim.causes = () => classes.filter(c => c.kind === "idle");

	gpushim.colour = which => gpushim.class(which)[gpushim.theme()];

	/* What is drawn on it: lines and dots of a pattern. */
	function ink(colour) {
		const v = parseInt(colour.slice(1), 16);
		const light = (0.299 * (v >> 16) + 0.587 * (v >> 8 & 255) + 0.114 * (v & 255)) / 255;

		return light > 0.55 ? "rgba(0,0,0,0.32)" : "rgba(255,255,255,0.45)";
	}

	const SIZE = 8;
	const draw = {
		forward: g => { for (const x of [-SIZE, 0, SIZE]) line(g, x, SIZE, x + SIZE, 0); },
		back: g => { for (const x of [-SIZE, 0, SIZE]) line(g, x, 0, x + SIZE, SIZE); },
		cross: g => { draw.forward(g); draw.back(g); },
		horizontal: g => line(g, 0, SIZE / 2, SIZE, SIZE / 2),
		vertical: g => line(g, SIZE / 2, 0, SIZE / 2, SIZE),
		dots: g => { for (const [x, y] of [[2, 2], [6, 6]]) { g.beginPath(); g.arc(x, y, 1.1, 0, 7); g.fill(); } },
	};

	function line(g, x0, y0, x1, y1) {
		g.beginPath();
		g.moveTo(x0, y0);
		g.lineTo(x1, y1);
		g.stroke();
	}

	function tile(which) {
		const c = gpushim.class(which), canvas = document.createElement("canvas"), g = canvas.getContext("2d");

		canvas.width = canvas.height = SIZE;
		g.fillStyle = gpushim.colour(which);
		g.fillRect(0, 0, SIZE, SIZE);
		g.strokeStyle = g.fillStyle = ink(gpushim.colour(which));
		g.lineWidth = 1.3;
		if (draw[c.pattern])
			draw[c.pattern](g);
		return canvas;
	}

	/* A fillStyle: its colour with its pattern, for what is at least a few pixels wide. */
	gpushim.fill = function (g, which) {
		const c = gpushim.class(which);

		if (c.pattern === "solid")
			return gpushim.colour(which);
		if (!made.has(c.id))
			made.set(c.id, tile(which));
		return g.createPattern(made.get(c.id), "repeat");
	};

	gpushim.fills_clear = () => made.clear();

	/* A small square that says which class is meant. */
	gpushim.swatch = function (which) {
		const canvas = document.createElement("canvas"), g = canvas.getContext("2d");

		canvas.width = canvas.height = 2 * SIZE;
		canvas.className = "swatch";
		canvas.setAttribute("aria-hidden", "true");
		const paint = () => {
			g.fillStyle = gpushim.fill(g, which);
			g.fillRect(0, 0, 2 * SIZE, 2 * SIZE);
		};
		paint();
		gpushim.on_theme(paint, canvas);
		return canvas;
	};
})();

/* ---- the page's elements ------------------------------------------------------------------------------------------------ */

/* make("td", { class: "number" }, "text", child, …): texts stay texts. */
gpushim.make = function (tag, attributes, ...children) {
	const element = document.createElement(tag);

	for (const [name, value] of Object.entries(attributes || {})) {
		if (name.startsWith("on"))
			element.addEventListener(name.slice(2), value);
		else if (value !== null && value !== undefined && value !== false)
			element.setAttribute(name, value === true ? "" : value);
	}
	for (const child of children.flat(Infinity))
		if (child !== null && child !== undefined)
			element.append(child);
	return element;
};
