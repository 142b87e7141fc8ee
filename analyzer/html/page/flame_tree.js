/* SPDX-License-Identifier: BSD-2-Clause */
/* flame_tree.js: idle time as a tree (html_flame.c): each node's time with all below it, its children by their time, and what matches a search. */
"use strict";

(function () {
	class Tree {
		constructor(flame, data) {
			this.n = flame.n;
			this.text = i => this.cause_of(i) < 0 ? data.strings[flame.s[i]] : data.classes[this.cause_of(i)].id;
			this.short = i => this.cause_of(i) < 0 ? gpushim.short(flame.s[i]) : this.text(i);
			this.from = flame.classes_from;
			this.kind = flame.k;
			this.string = flame.s;
			this.parent = Int32Array.from(flame.p, (back, i) => i - back);
			this.total = Float64Array.from(flame.v);
			this.longest = Array.from(flame.m, (ns, i) => ({ ns, gap: flame.g[i] - 1, leaf: i })); /* of it in one gap, that gap's number, and what says so */
			this.depth = new Uint16Array(this.n);
			for (let i = this.n - 1; i > 0; i--) {
				this.total[this.parent[i]] += this.total[i];
				if (this.longest[i].ns > this.longest[this.parent[i]].ns)
					this.longest[this.parent[i]] = this.longest[i];
			}
			for (let i = 1; i < this.n; i++)
				this.depth[i] = this.depth[this.parent[i]] + 1;
			this.children = this.lists();
			this.hit = null;
			this.strings = data.strings;
			this.classes = data.classes;
		}

		/* Of each node those below it, the most time first. */
		lists() {
			const lists = Array.from({ length: this.n }, () => []);

			for (let i = 1; i < this.n; i++)
				lists[this.parent[i]].push(i);
			for (const list of lists)
				list.sort((a, b) => this.total[b] - this.total[a] || a - b);
			return lists;
		}

		/* The class of a cause, -1: it is none. */
		cause_of(i) {
			return this.kind[i] >= this.from ? this.kind[i] - this.from : -1;
		}

		is_own(i) {
			return this.kind[i] === 1;
		}

		/* [node, …] from the root to it. */
		way(i) {
			const way = [i];

			while (i > 0)
				way.unshift(i = this.parent[i]);
			return way;
		}

		/* The number of its device. */
		device(i) {
			const way = this.way(i);

			return way.length > 1 ? Number(this.text(way[1]).replace(/\D+/, "")) : null;
		}

		/* Of a node, [class, ns], the most time first. */
		causes(i) {
			const sums = new Map(), left = [i];

			while (left.length) {
				const at = left.pop(), cause = this.cause_of(at);

				if (cause >= 0)
					sums.set(cause, (sums.get(cause) || 0) + this.total[at]);
				for (const child of this.children[at])
					left.push(child);
			}
			return [...sums].sort((a, b) => b[1] - a[1]);
		}

		/* The depth of what is below it and has at least so much time. */
		deepest(i, least) {
			let most = this.depth[i];
			const left = [i];

			while (left.length) {
				const at = left.pop();

				most = Math.max(most, this.depth[at]);
				for (const child of this.children[at])
					if (this.total[child] >= least)
						left.push(child);
			}
			return most;
		}

		/* Nodes whose name has that text; their time, none counted twice. */
		search(text) {
			const wanted = text.trim().toLowerCase(), found = { nodes: 0, ns: 0 };

			this.hit = null;
			if (!wanted)
				return found;
			const names = Uint8Array.from(this.strings, s => s.toLowerCase().includes(wanted) ? 1 : 0);
			const within = new Uint8Array(this.n); /* it or one above it matches */

			this.hit = new Uint8Array(this.n);
			for (let i = 1; i < this.n; i++) {
				this.hit[i] = names[this.string[i]];
				within[i] = within[this.parent[i]] | this.hit[i];
				found.nodes += this.hit[i];
				found.ns += this.hit[i] && !within[this.parent[i]] ? this.total[i] : 0;
			}
			return found;
		}
	}

	gpushim.flame_tree = Tree;
})();
