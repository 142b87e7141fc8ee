/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline_axis.js: where the time axis has its marks, and what is written at them. */
"use strict";

(function () {
	const UNITS = [["s", 1e9, 9], ["ms", 1e6, 6], ["us", 1e3, 3], ["ns", 1, 0]];

	/* The least of 1, 2, 5 times a power of ten that is not below ns. */
	function round_step(ns) {
		const power = Math.pow(10, Math.floor(Math.log10(Math.max(ns, 1))));

		for (const m of [1, 2, 5, 10])
			if (m * power >= ns)
				return Math.max(1, m * power);
		return 10 * power;
	}

	/* Of minutes there are sixty to the hour. */
	const MINUTE = 60e9, MINUTES = [1, 2, 5, 10, 20, 30, 60, 120, 240, 480, 720, 1440];

	function long_marks(begin, end, least) {
		const step = MINUTE * (MINUTES.find(m => m * MINUTE >= least) || Math.ceil(least / MINUTE / 1440) * 1440), marks = [];
		const text = minutes => (minutes >= 60 ? Math.floor(minutes / 60) + " h" : "") + (minutes >= 60 && minutes % 60 ? " " : "") + (minutes < 60 || minutes % 60 ? minutes % 60 + " min" : "");

		for (let ns = Math.ceil(begin / step) * step; ns <= end; ns += step)
			marks.push({ ns, text: text(Math.round(ns / MINUTE)) });
		return { step, base: 0, marks, base_text: "" };
	}

	function digits(step, unit) {
		return Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
	}

	function number(ns, step, unit) {
		return (ns / unit).toFixed(digits(step, unit));
	}

	/* The unit in which a step has few digits before and behind its point. */
	const unit_of = ns => UNITS.find(u => ns >= u[1]) || UNITS[3];

	/* { step, base, marks: [{ ns, text }] }: at least every `room` pixels. Where a mark would need many digits, it counts from base, which has
	 * a text of its own: "1.234 s". */
	gpushim.timeline_marks = function (begin, end, width, room) {
		const span = Math.max(end - begin, 1e-9), step = round_step(span / Math.max(1, width / room));
		if (span / Math.max(1, width / room) > 50e9)
			return long_marks(begin, end, span / Math.max(1, width / room));
		const from_base = end / step > 20000;
		const whole = from_base ? step * 1000 : 0;
		const base = whole ? Math.floor(begin / whole) * whole : 0;
		const unit = unit_of(from_base ? step : Math.max(step, Math.min(end, step * 100)));
		const marks = [];

		for (let ns = Math.ceil(begin / step - 1e-9) * step; ns <= end && marks.length < 500; ns += step)
			marks.push({ ns, text: (whole ? "+" : "") + number(ns - base, step, unit[1]) + " " + unit[0] });
		return { step, base, marks, base_text: whole ? number(base, whole, unit_of(base)[1]) + " " + unit_of(base)[0] : "" };
	};

	/* An instant, to the nanosecond where it needs to be: for what is said of one item. */
	gpushim.timeline_instant = function (ns) {
		const unit = unit_of(ns);

		return (ns / unit[1]).toFixed(unit[2]).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "") + " " + unit[0];
	};
})();
