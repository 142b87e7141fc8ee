/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_course.js: a device's memory over time, as a curve. Between two points it is as the first one says. */
"use strict";

(function () {
	const make = gpushim.make, HEIGHT = 230, LEFT = 74, RIGHT = 10, TOP = 24, BOTTOM = 22;

	class Course {
		constructor(device, columns, span, strings) {
			this.d = device;
			this.c = columns;
			this.span = span || 1;
			this.strings = strings;
			this.told = device.before !== undefined; /* how what is free lies is not on record */
			this.view = null;   /* what the timeline shows */
			this.cursor = null; /* ns */
			this.most = Math.max(device.peak_reserved, ...device.marks.map(m => m.reserved), 1);
			if (device.total && device.total < 4 * this.most)
				this.most = Math.max(this.most, device.total);
		}

		x(ns) { return LEFT + ns / this.span * (this.width - LEFT - RIGHT); }
		y(bytes) { return HEIGHT - BOTTOM - bytes / this.most * (HEIGHT - BOTTOM - TOP); }
		ns_at(x) { return Math.min(Math.max((x - LEFT) / (this.width - LEFT - RIGHT), 0), 1) * this.span; }

		/* The last point that is not later; -1 none. */
		at(ns) {
			let low = 0, high = this.c.n;

			while (low < high) {
				const middle = (low + high) >> 1;

				if (this.c.t[middle] <= ns)
					low = middle + 1;
				else
					high = middle;
			}
			return low - 1;
		}

		/* ---- drawing ---- */

		/* The way along one figure; down to the bottom where it is to be filled. */
		path(g, values, filled) {
			const end = this.x(this.span), bottom = this.y(0);

			g.beginPath();
			g.moveTo(this.x(this.c.t[0]), filled ? bottom : this.y(values[0]));
			for (let i = 0; i < this.c.n; i++) {
				const y = this.y(values[i]), to = i + 1 < this.c.n ? this.x(this.c.t[i + 1]) : end;

				g.lineTo(this.x(this.c.t[i]), y);
				g.lineTo(to, y);
			}
			if (filled) {
				g.lineTo(end, bottom);
				g.closePath();
			}
		}

		/* Powers of two, five at most. */
		axes(g) {
			let step = 1;

			while (this.most / step > 5)
				step *= 2;
			g.strokeStyle = gpushim.css("line");
			g.fillStyle = gpushim.css("dim");
			g.lineWidth = 1;
			g.textAlign = "right";
			for (let bytes = 0; bytes <= this.most; bytes += step) {
				const y = Math.round(this.y(bytes)) + 0.5;

				g.beginPath();
				g.moveTo(LEFT, y);
				g.lineTo(this.width - RIGHT, y);
				g.stroke();
				g.fillText(gpushim.bytes(bytes), LEFT - 8, y);
			}
			g.textAlign = "center";
			for (const mark of gpushim.timeline_marks(0, this.span, this.width - LEFT - RIGHT, 110).marks)
				if (this.x(mark.ns) < this.width - 30)
					g.fillText(mark.text, Math.max(this.x(mark.ns), LEFT + 4), HEIGHT - 9);
		}

		line(g, ns, colour, dash, from) {
			g.strokeStyle = colour;
			g.setLineDash(dash);
			g.beginPath();
			g.moveTo(this.x(ns), from);
			g.lineTo(this.x(ns), this.y(0));
			g.stroke();
			g.setLineDash([]);
		}

		/* Out of memory: a filled triangle; a retry: an open one. */
		marks(g) {
			for (const mark of this.d.marks) {
				const x = this.x(mark.until), colour = gpushim.css(mark.failed ? "warn" : "dim");

				this.line(g, mark.until, colour, mark.failed ? [] : [2, 3], TOP);
				g.beginPath();
				g.moveTo(x, TOP + 2);
				g.lineTo(x - 6, TOP - 8);
				g.lineTo(x + 6, TOP - 8);
				g.closePath();
				g.strokeStyle = g.fillStyle = colour;
				if (mark.failed)
					g.fill();
				g.stroke();
			}
		}

		/* The moment of the map below. */
		worst(g) {
			const w = this.d.worst, x = w ? this.x(w.t) : 0, text = "the map below";

			if (!w)
				return;
			const wide = g.measureText(text).width, right = x + wide + 14 > this.width;

			this.line(g, w.t, gpushim.css("text"), [5, 3], TOP);
			g.fillStyle = gpushim.css("card"); /* a mark may be there */
			g.fillRect(right ? x - wide - 13 : x + 7, TOP - 16, wide + 6, 15);
			g.fillStyle = gpushim.css("text");
			g.textAlign = right ? "right" : "left";
			g.fillText(text, x + (right ? -10 : 10), TOP - 8);
		}

		draw(g, width) {
			this.width = width;
			g.font = "12px " + getComputedStyle(document.body).fontFamily;
			g.textBaseline = "middle";
			this.axes(g);
			if (this.c.n)
				this.curves(g);
			if (this.view && this.view.end - this.view.begin < this.span * 0.98)
				this.shown(g);
			if (this.d.total && this.d.total <= this.most)
				this.limit(g);
			this.marks(g);
			this.worst(g);
			if (this.cursor !== null)
				this.line(g, this.cursor, gpushim.css("accent"), [], TOP);
		}

		/* What the timeline shows. */
		shown(g) {
			const x = this.x(this.view.begin), w = Math.max(this.x(this.view.end) - x, 1);

			g.fillStyle = g.strokeStyle = gpushim.css("accent");
			g.globalAlpha = 0.12;
			g.fillRect(x, TOP, w, HEIGHT - TOP - BOTTOM);
			g.globalAlpha = 0.8;
			g.strokeRect(x, TOP, w, HEIGHT - TOP - BOTTOM);
			g.globalAlpha = 1;
		}

		curves(g) {
			for (const [values, which] of [[this.c.r, "memory-free"], [this.c.a, "memory-block"]]) {
				this.path(g, values, true);
				g.fillStyle = gpushim.fill(g, which);
				g.fill();
			}
			for (const [values, which, width] of [[this.c.r, "memory-block", 1.2], ...(this.told ? [] : [[this.c.l, "memory-largest", 2]])]) {
				this.path(g, values, false);
				g.strokeStyle = gpushim.colour(which);
				g.lineWidth = width;
				g.stroke();
			}
			g.lineWidth = 1;
		}

		/* All that the device has. */
		limit(g) {
			const y = Math.round(this.y(this.d.total)) + 0.5;

			g.strokeStyle = gpushim.css("warn");
			g.setLineDash([8, 4]);
			g.beginPath();
			g.moveTo(LEFT, y);
			g.lineTo(this.width - RIGHT, y);
			g.stroke();
			g.setLineDash([]);
			g.fillStyle = gpushim.css("dim");
			g.textAlign = "left";
			g.fillText("the device has " + gpushim.bytes(this.d.total), LEFT + 4, y + 9);
		}

		/* ---- in words ---- */

		mark_lines(mark) {
			const b = gpushim.bytes, from = this.strings[mark.from];

			return [(mark.failed ? "out of memory" : "tried again, then had room") + ", " + gpushim.duration(mark.until),
				"thread " + mark.tid + " asked the " + mark.by + " for " + b(mark.asked) + (from ? " at " + from : ""),
				...(mark.call ? ["refused: " + this.strings[mark.call] + (mark.refusals > 1 ? ", " + gpushim.count(mark.refusals) + " times" : "")] : []),
				b(mark.allocated) + " in use, " + b(mark.reserved - mark.allocated) + " free" + (this.told ? "" : ", the largest piece " + b(mark.largest_free)),
				...(mark.given_back ? [b(mark.given_back) + " given back to the driver meanwhile"] : []),
				...(mark.device_total ? ["the device had " + b(mark.device_free) + " of " + b(mark.device_total) + " left"] : []),
				...(mark.failed ? [mark.enough ? "in one piece what was free would have been enough" : "what was free, wherever it lay, was too little"] : [])];
		}

		lines(ns) {
			const i = this.at(ns), b = gpushim.bytes, c = this.c, near = this.near(ns);

			if (near)
				return this.mark_lines(near);
			if (i < 0)
				return [gpushim.duration(ns), "nothing was held yet"];
			const free = c.r[i] - c.a[i];

			return [gpushim.duration(ns), "allocated " + b(c.a[i]), "reserved " + b(c.r[i]), "free " + b(free) + (this.told ? "" : ", the largest piece " + b(c.l[i])),
				...(free && !this.told ? ["fragmentation " + gpushim.fixed(1 - c.l[i] / free, 2)] : [])];
		}

		/* The mark that the pointer is at. */
		near(ns) {
			const far = 5 / (this.width - LEFT - RIGHT) * this.span;
			let best = null;

			for (const mark of this.d.marks)
				if (Math.abs(mark.until - ns) <= far && (!best || Math.abs(mark.until - ns) < Math.abs(best.until - ns)))
					best = mark;
			return best;
		}

		/* ---- mouse and keyboard ---- */

		/* Points and marks, one after the other. */
		step(by) {
			const times = [...this.c.t, ...this.d.marks.map(m => m.until)].sort((a, b) => a - b);
			const from = this.cursor === null ? this.d.worst ? this.d.worst.t : 0 : this.cursor;

			return by > 0 ? times.find(t => t > from) : times.reverse().find(t => t < from);
		}
	}

	gpushim.memory_course = function (device, columns, data, bus, said) {
		const course = new Course(device, columns, data.span_ns, data.strings);
		const canvas = make("canvas", { class: "memory-course", tabindex: 0, role: "application", "aria-label": "memory of device " + device.device + " over time: the left and right arrows go from change to change, Enter shows the time in the timeline" });
		const redraw = gpushim.canvas(canvas, HEIGHT, (g, width) => course.draw(g, width));
		const point = ns => {
			course.cursor = ns;
			redraw();
		};
		const show = ns => bus.emit("goto", { begin: Math.max(0, ns - data.span_ns / 50), end: Math.min(data.span_ns, ns + data.span_ns / 50) });

		canvas.addEventListener("mousemove", event => {
			point(course.ns_at(event.offsetX));
			gpushim.tip(event, course.lines(course.cursor));
		});
		canvas.addEventListener("mouseleave", event => {
			point(null);
			gpushim.tip(event, null);
		});
		canvas.addEventListener("click", event => show(course.ns_at(event.offsetX)));
		canvas.addEventListener("keydown", event => {
			const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key], ns = by ? course.step(by) : undefined;

			if (event.key === "Enter" && course.cursor !== null)
				show(course.cursor);
			else if (ns !== undefined) {
				point(ns);
				said(course.lines(ns));
			} else
				return;
			event.preventDefault();
			event.stopPropagation();
		});
		canvas.addEventListener("blur", () => point(null));
		bus.on("view", view => {
			course.view = view;
			redraw();
		});
		return { canvas, course };
	};
})();
