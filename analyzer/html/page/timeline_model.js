/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline_model.js: the lanes' items, and questions about them whose cost does not depend on how many there are.
 *
 * A lane's items come by begin and do not overlap. Of every STRIDE-th item it is kept how long each class had run before it: so how long each
 * class ran in any stretch of time takes a binary search and less than STRIDE items at either end. */
"use strict";

(function () {
	const STRIDE = 16;

	/* The first of n for which is(i); n none. from: none before it is; the nearer that one is, the faster. */
	function first(n, is, from = 0) {
		const all = n;
		let low = from;

		for (let step = 1; from && low < n; step *= 2) {
			if (is(Math.min(n - 1, low + step))) {
				n = Math.min(n, low + step + 1);
				break;
			}
			low += step + 1;
		}
		while (low < n) {
			const middle = low + n >> 1;

			if (is(middle))
				n = middle;
			else
				low = middle + 1;
		}
		return Math.min(low, all);
	}

	class Lane {
		constructor(data, index) {
			const lane = data.lanes[index];

			this.index = index;
			this.data = data;
			this.group = data.strings[lane.group];
			this.name = data.strings[lane.name];
			this.kind = lane.kind;
			this.device = lane.device === undefined ? null : lane.device;
			this.row = lane.row;
			this.merged_ns = lane.merged_ns;
			this.slices = lane.slices;
			this.names = lane.names || null; /* of a merged lane: [name, how many, begin, length of the longest] */
			this.n = 0; /* until it is loaded */
			this.source = lane.items;
		}

		/* When it has come, its items are there. */
		async load() {
			const c = await gpushim.columns(this.source);

			this.b = c.b;
			this.d = c.d;
			this.k = c.k;
			this.s = c.s || null;
			this.c = c.c || null;
			this.e = c.e || null;
			this.g = c.g || null;
			this.a = c.a || null;
			this.l = c.l || null;
			this.o = c.o || null;
			this.v = c.v || null;
			this.most = this.v ? this.v.reduce((a, b) => Math.max(a, b), 1) : 1;
			this.n = c.n;
			this.sum_up();
		}

		sum_up() {
			const seen = new Map(), blocks = Math.ceil(this.n / STRIDE);

			this.slot = new Uint8Array(256);
			for (let i = 0; i < this.n; i++)
				if (!seen.has(this.k[i])) {
					this.slot[this.k[i]] = seen.size;
					seen.set(this.k[i], seen.size);
				}
			this.classes = [...seen.keys()];
			this.width = this.classes.length;
			this.sums = new Float64Array((blocks + 1) * this.width);
			const running = new Float64Array(this.width);
			for (let i = 0; i < this.n; i++) {
				if (i % STRIDE === 0)
					this.sums.set(running, i / STRIDE * this.width);
				running[this.slot[this.k[i]]] += this.weight(i);
			}
			if (this.n % STRIDE === 0)
				this.sums.set(running, this.n / STRIDE * this.width);
			this.totals = running;
			this.order = this.classes.map((_, w) => w).sort((p, q) => running[q] - running[p] || p - q); /* the one that runs longest first */
		}

		/* Lengths are of an item's own clock: where that runs slow it would reach over the next one, by parts of a thousand. */
		end(i) {
			const end = this.b[i] + this.d[i];

			return i + 1 < this.n && this.b[i + 1] < end ? this.b[i + 1] : end;
		}

		busy(i) { return this.e ? this.d[i] - this.e[i] : this.d[i]; }
		/* How high it is, as time: of a lane that tells how many there are at once, the share of the most there ever are. */
		weight(i) { return this.v ? this.busy(i) * this.v[i] / this.most : this.busy(i); }
		count(i) { return this.c ? this.c[i] : 1; }
		label(i) { return (this.s && this.s[i] ? this.data.strings[this.s[i]] : "") || gpushim.class(this.k[i]).title; }
		short(i) { return this.s && this.s[i] ? gpushim.short(this.s[i]) : this.label(i); }
		args(i) { return this.a && this.a[i] ? this.data.strings[this.a[i]] : ""; }

		/* The first item that ends after t; it is not before from. */
		after(t, from) { return first(this.n, i => this.end(i) > t, from); }

		/* How long each class had run before t, into out[this.width]. at: the first item that ends after t, where that is known. */
		run_before(t, out, at = this.after(t)) {
			let i = at - at % STRIDE;

			for (let w = 0, from = i / STRIDE * this.width; w < this.width; w++)
				out[w] = this.sums[from + w];
			for (; i < at; i++)
				out[this.slot[this.k[i]]] += this.weight(i);
			if (at < this.n && this.b[at] < t)
				out[this.slot[this.k[at]]] += this.weight(at) * (t - this.b[at]) / (this.end(at) - this.b[at]);
		}

		/* [[class, ns], …] that ran in [begin, end), the longest first. */
		within(begin, end) {
			const low = new Float64Array(this.width), high = new Float64Array(this.width);

			this.run_before(begin, low);
			this.run_before(end, high);
			return this.classes.map((k, w) => [k, high[w] - low[w]]).filter(x => x[1] > 0).sort((p, q) => q[1] - p[1]);
		}

		/* The item at t; else the longest of those within reach of it; -1 none. */
		at(t, reach) {
			let best = -1;
			const from = this.after(t - reach);

			if (from >= this.n)
				return -1;
			const under = this.after(t);
			if (under < this.n && this.b[under] <= t && this.d[under] > 2 * reach)
				return under;
			for (let i = from; i < this.n && i < from + 512 && this.b[i] <= t + reach; i++)
				if (best < 0 || this.d[i] > this.d[best])
					best = i;
			return best;
		}

		/* The pieces of a gap: [first, last] items; null: it has none here. Of merged items the one that holds it. */
		of_gap(gap) {
			if (!this.g)
				return null;
			let low = first(this.n, i => this.g[i] >= gap + 1);

			if (low < this.n && this.g[low] === gap + 1) {
				let high = low;

				while (high + 1 < this.n && this.g[high + 1] === gap + 1)
					high++;
				return [low, high];
			}
			low = Math.max(0, low - 1); /* merged into its neighbour */
			return this.merged_ns && low < this.n ? [low, low] : null;
		}
	}

	/* Groups of lanes, in the order of the data. */
	function groups_of(lanes) {
		const groups = [], by_name = new Map();

		for (const lane of lanes) {
			if (!by_name.has(lane.group)) {
				by_name.set(lane.group, { name: lane.group, lanes: [], open: true, device: lane.device });
				groups.push(by_name.get(lane.group));
			}
			by_name.get(lane.group).lanes.push(lane);
		}
		return groups;
	}

	gpushim.timeline_model = { Lane, groups_of, first };
})();
