/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline_draw.js: one lane as pixels. What is wide enough is a box with its name; what is not is added up pixel by pixel: so high as the share
 * of the pixel's time in which it ran, class upon class. So the cost is the pixels', whatever the number of items. */
"use strict";

(function () {
	const BOX = 3;     /* device pixels from which on an item is a box of its own */
	const LABEL = 20;  /* CSS pixels from which on a box has its name */

	function luminance(colour) {
		const v = parseInt(colour.slice(1), 16);
		const part = shift => {
			const c = (v >> shift & 255) / 255;

			return c <= 0.03928 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4);
		};

		return 0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0);
	}

	/* How each class looks now: made once for all that is drawn with one theme. */
	class Looks {
		constructor(g) {
			this.g = g;
			this.of = new Map();
		}

		get(k) {
			let look = this.of.get(k);

			if (!look) {
				const colour = gpushim.colour(k);

				look = { colour, fill: gpushim.fill(this.g, k), text: luminance(colour) > 0.179 ? "#000000" : "#ffffff",
					 plain: gpushim.class(k).pattern === "solid" };
				this.of.set(k, look);
			}
			return look;
		}
	}

	/* The view: [begin, end) ns on pixels [0, width). */
	class Scale {
		constructor(begin, end, left, width, ratio) {
			this.begin = begin;
			this.end = end;
			this.left = left;
			this.width = width;
			this.ratio = ratio;
			this.columns = Math.max(1, Math.round(width * ratio));
			this.per_column = (end - begin) / this.columns;
		}

		x(ns) { return this.left + (ns - this.begin) / (this.end - this.begin) * this.width; }
		ns(x) { return this.begin + (x - this.left) / this.width * (this.end - this.begin); }
		column(ns) { return (ns - this.begin) / this.per_column; }
	}

	/* One pixel column: classes upon each other, of the lane that which runs longest at the bottom. Equal neighbours become one rectangle. */
	class Columns {
		constructor(g, looks, lane, scale, y, height) {
			Object.assign(this, { g, scale, y, height });
			this.unit = 1 / scale.ratio;
			this.order = lane.order;
			this.colours = lane.order.map(w => looks.get(lane.classes[w]).colour);
			this.rows = new Float64Array(lane.width); /* of the column that is open, by place in order */
			this.now = new Float64Array(lane.width);
			this.rects = lane.order.concat(lane.order).map(() => []); /* x, y, width, height of each class; then of each, dimmed */
			this.from = this.to = -1;
		}

		add(column, shares, dim) {
			const n = this.order.length, now = this.now;
			let whole = 0, same = column === this.to && dim === this.dim;

			for (let i = 0; i < n; i++)
				whole += shares[i];
			if (!(whole > 0))
				return;
			const least = this.height > 4 ? 1 : 0; /* on a thin line every little thing would look like all of it */
			const high = Math.min(this.height, Math.max(least, Math.round(Math.min(1, whole) * this.height / this.unit) * this.unit));
			let sum = 0, last = 0;
			if (high <= 0)
				return;
			for (let i = 0; i < n; i++) { /* ends of parts are rounded, not parts: they always fill the whole */
				const end = Math.round(high * (sum += shares[this.order[i]]) / whole / this.unit) * this.unit;

				now[i] = end - last;
				last = end;
				same = same && now[i] === this.rows[i];
			}
			if (same) {
				this.to++;
				return;
			}
			this.flush();
			[this.rows, this.now] = [now, this.rows];
			this.from = column;
			this.to = column + 1;
			this.dim = dim;
		}

		flush() {
			const x = this.scale.left + this.from * this.unit, width = (this.to - this.from) * this.unit;
			let y = this.y + this.height;

			for (let i = 0; this.from >= 0 && i < this.order.length; i++) {
				const h = this.rows[i];

				if (h <= 0)
					continue;
				y -= h;
				this.rects[this.dim ? this.order.length + i : i].push(x, y, width, h);
			}
			this.from = this.to = -1;
		}

		/* All that was flushed, one colour after the other: to change it is what costs. */
		paint() {
			const n = this.order.length, g = this.g;

			this.rects.forEach((all, i) => {
				g.fillStyle = this.colours[i % n];
				g.globalAlpha = i < n ? 1 : 0.25;
				for (let k = 0; k < all.length; k += 4)
					g.fillRect(all[k], all[k + 1], all[k + 2], all[k + 3]);
			});
			g.globalAlpha = 1;
		}
	}

	/* A name that fits, or as much of it as does: "" where that says nothing. */
	const fitted = new Map();

	function fit(g, text, width) {
		const key = Math.floor(width) + "|" + g.font + "|" + text;
		let found = fitted.get(key);

		if (found !== undefined)
			return found;
		found = text;
		if (g.measureText(text).width > width) {
			let n = gpushim.timeline_model.first(text.length, i => g.measureText(text.slice(0, i + 1) + "…").width > width);

			found = n >= 3 ? text.slice(0, n) + "…" : "";
		}
		if (fitted.size > 5000)
			fitted.clear();
		fitted.set(key, found);
		return found;
	}

	function box(g, looks, lane, i, x, width, y, height, dim) {
		const look = looks.get(lane.k[i]), share = lane.d[i] > 0 ? lane.weight(i) / lane.d[i] : 1;
		const h = lane.e || lane.v ? Math.max(1, height * share) : height;

		if (h < height - 1) { /* many as one: how long they last, and below how long of that they run */
			g.globalAlpha = dim ? 0.08 : 0.2;
			g.fillStyle = look.colour;
			g.fillRect(x, y, width, height - h);
		}
		g.globalAlpha = dim ? 0.25 : 1;
		g.fillStyle = look.fill;
		g.fillRect(x, y + height - h, width, h);
		if (width >= LABEL && h >= 11) {
			const more = lane.count(i) > 1 ? lane.count(i) + " × " : "";
			const name = lane.kind === "idle" ? gpushim.class(lane.k[i]).id : lane.short(i), number = name.match(/^\D+ (\d+)$/);
			const whole = fit(g, more + name, width - 8);
			/* of "step 57" the number says more than "ste…" */
			const text = number && whole !== more + name ? fit(g, number[1], width - 6) : whole;

			if (text) {
				if (!look.plain) { /* text on lines cannot be read */
					g.fillStyle = look.colour;
					g.fillRect(x + 3, y + 1, Math.min(width - 6, g.measureText(text).width + 3), height - 2);
				}
				g.fillStyle = look.text;
				g.fillText(text, x + 4, y + height / 2 + 0.5);
			}
		}
		g.globalAlpha = 1;
	}

	/* Thin lines between boxes that touch, so that they are two. */
	function edge(g, x, y, height, paper) {
		g.fillStyle = paper;
		g.fillRect(x, y, 0.5, height);
	}

	/* hit: what a search found (timeline_search.js); null: there is nothing to dim. */
	gpushim.timeline_lane = function (g, looks, lane, scale, y, height, paper, hit) {
		const columns = new Columns(g, looks, lane, scale, y, height);
		let before = new Float64Array(lane.width), behind = new Float64Array(lane.width);
		const shares = new Float64Array(lane.width);
		const wide = BOX * scale.per_column;
		let last = 0;
		let known = -1; /* `before` is of that column's begin */

		for (let column = 0; column < scale.columns;) {
			const begin = scale.begin + column * scale.per_column;
			let t0 = begin, t1 = begin + scale.per_column, i = lane.after(t0, last), next;

			last = i;
			if (i < lane.n && lane.d[i] >= wide && lane.end(i) < t0 + 0.5 * scale.per_column) { /* that box is drawn */
				t0 = lane.end(i++);
				known = -1;
			}

			if (i >= lane.n || lane.b[i] >= scale.end)
				break;
			if (lane.b[i] >= t1) { /* nothing until there */
				column = Math.max(column + 1, Math.floor(scale.column(lane.b[i])));
				continue;
			}
			if (lane.d[i] >= wide && lane.b[i] < t0 + 0.5 * scale.per_column) {
				const from = Math.max(0, Math.round(scale.column(lane.b[i]))), to = Math.min(scale.columns, Math.round(scale.column(lane.end(i))));

				columns.flush();
				box(g, looks, lane, i, scale.left + from / scale.ratio, (to - from) / scale.ratio, y, height, hit && !hit.is(i));
				if (from > 0)
					edge(g, scale.left + from / scale.ratio, y, height, paper);
				column = Math.max(column + 1, to);
				continue;
			}
			if (known !== column)
				lane.run_before(t0, before, i);
			next = lane.after(t1, i);
			if (next < lane.n && lane.b[next] < t1 && lane.d[next] >= wide)
				t1 = Math.max(t0, lane.b[next]); /* that one is a box, from there on */
			lane.run_before(t1, behind, next);
			let any = false;
			for (let w = 0; w < lane.width; w++) {
				shares[w] = Math.max(0, behind[w] - before[w]) / scale.per_column;
				any = any || shares[w] > 0;
			}
			if (!any && i < next) /* of no length, but there */
				shares[lane.slot[lane.k[i]]] = 1e-6;
			columns.add(column, shares, hit && !hit.any(i, t1 < begin + scale.per_column ? next - 1 : next));
			[before, behind] = [behind, before];
			known = t1 === begin + scale.per_column ? column + 1 : -1;
			column++;
		}
		columns.flush();
		columns.paint();
	};

	gpushim.timeline_parts = { Looks, Scale, fit };
})();
