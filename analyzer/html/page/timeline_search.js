/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline_search.js: items by name: of kernels, copies, calls, ranges, causes. A name is looked at once, however many items have it. */
"use strict";

(function () {
	class Search {
		constructor(timeline) {
			this.t = timeline;
			this.clear();
			this.version = 0;
		}

		clear() {
			this.text = "";
			this.of = new Map(); /* lane → its hits' numbers, by time */
			this.names = null;
			this.classes = null;
			this.count = 0;
			this.all = 0; /* with those that were merged into others' items */
			this.at = null;
		}

		set(text) {
			const wanted = text.trim().toLowerCase();

			this.clear();
			this.version++;
			this.text = wanted;
			if (wanted) {
				this.names = Uint8Array.from(this.t.data.strings, s => s.toLowerCase().includes(wanted) ? 1 : 0);
				this.names[0] = 0;
				this.classes = Uint8Array.from(this.t.data.classes, c => (c.id + " " + c.title).toLowerCase().includes(wanted) ? 1 : 0);
				for (const lane of this.t.lanes)
					this.look(lane);
			}
			this.say();
			this.t.ask();
			gpushim.bus.emit("searched", wanted);
		}

		/* By its name; by its class where that is its name. */
		is(lane, i) {
			return lane.s && lane.s[i] ? this.names[lane.s[i]] || (lane.a && this.names[lane.a[i]]) : this.classes[lane.k[i]];
		}

		look(lane) {
			const hits = [];

			for (let i = 0; i < lane.n; i++)
				if (this.is(lane, i))
					hits.push(i);
			this.all += this.look_in_merged(lane, hits);
			if (hits.length)
				this.of.set(lane, Uint32Array.from(hits));
			this.count += hits.length;
		}

		/* Of a merged lane's names that have no item of their own the longest one's place is a hit. Returns how many there are of all that match. */
		look_in_merged(lane, hits) {
			const drawn = new Set(hits.map(i => lane.s[i]));
			let all = 0;

			if (!lane.names)
				return hits.length;
			for (const [name, count, begin] of lane.names) {
				if (!this.names[name])
					continue;
				all += count;
				if (!drawn.has(name))
					hits.push(Math.min(lane.n - 1, lane.after(begin)));
			}
			hits.sort((p, q) => p - q);
			let n = 0;
			for (const hit of hits)
				if (!n || hit !== hits[n - 1])
					hits[n++] = hit;
			hits.length = n;
			return Math.max(all, hits.length);
		}

		/* What to dim: null nothing. is(i): that item was found; any(i, k): one of those from i until k. */
		hits_of(lane) {
			const hits = this.of.get(lane);

			if (!this.count)
				return null;
			return {
				is: i => hits !== undefined && hits[gpushim.timeline_model.first(hits.length, h => hits[h] >= i)] === i,
				any: (i, k) => {
					const at = hits ? gpushim.timeline_model.first(hits.length, h => hits[h] >= i) : 0;

					return hits !== undefined && at < hits.length && hits[at] <= k;
				},
			};
		}

		/* In the order of time, of equal ones that of the lanes. dir: 1 or -1. From the last hit, else from the left of what is shown. */
		next(dir) {
			const t = this.t, from = this.at ? { ns: this.at.lane.b[this.at.item], lane: this.at.lane.index } : { ns: dir > 0 ? t.begin - 0.5 : t.end, lane: -1 };
			const later = (ns, lane) => ns > from.ns || (ns === from.ns && lane > from.lane);
			let best = null;

			for (const [lane, hits] of this.of) {
				const k = gpushim.timeline_model.first(hits.length, i => later(lane.b[hits[i]], lane.index));
				let i = dir > 0 ? k : k - 1;

				if (dir < 0 && i >= 0 && this.at && lane === this.at.lane && hits[i] === this.at.item)
					i--;
				if (i < 0 || i >= hits.length)
					continue;
				const ns = lane.b[hits[i]];
				const nearer = !best || (dir > 0 ? ns < best.ns || (ns === best.ns && lane.index < best.lane.index)
								 : ns > best.ns || (ns === best.ns && lane.index > best.lane.index));
				if (nearer)
					best = { ns, lane, item: hits[i] };
			}
			if (!best && this.at && this.count) { /* around the end */
				this.at = null;
				const view = [t.begin, t.end];
				[t.begin, t.end] = [0, t.span];
				this.next(dir);
				if (!this.at)
					[t.begin, t.end] = view;
				return;
			}
			if (!best)
				return;
			this.at = best;
			t.show(best.lane.b[best.item], best.lane.end(best.item), best.lane, 0.06);
			t.select_item(best.lane, best.item);
			this.say();
		}

		place() {
			let n = 0;

			for (const [lane, hits] of this.of)
				n += gpushim.timeline_model.first(hits.length, i => lane.b[hits[i]] > this.at.ns || (lane.b[hits[i]] === this.at.ns && lane.index > this.at.lane.index));
			return n;
		}

		say() {
			this.t.found.textContent = !this.text ? "" : !this.count ? "nothing of that name" :
				(this.at ? gpushim.count(this.place()) + " of " : "") + gpushim.count(this.count) + (this.count === 1 ? " hit" : " hits") +
				(this.all > this.count ? "; " + gpushim.count(this.all) + " with those drawn as one with others" : "");
		}

		/* Pixels of the overview with a hit in them. */
		marks(scale) {
			const seen = new Set();

			for (const [lane, hits] of this.of)
				for (const i of hits)
					seen.add(Math.floor(scale.x(lane.b[i])));
			return seen;
		}
	}

	gpushim.timeline_search = { Search };
})();
