/* SPDX-License-Identifier: BSD-2-Clause */
/* flame.js: idle time by the stack of the thread that should have launched work, from the outermost frame down; at the ends the causes. A click shows
 * a part at full width. */
"use strict";

(function () {
	const make = gpushim.make, ROW = 20, LEAST = 0.6, TEXT = 28; /* px: of a row; of what is drawn; of what has a name */

	class Flame {
		constructor(tree, idle) {
			this.t = tree;
			this.idle = idle;
			this.focus = -1;
			this.boxes = []; /* of the last drawing: { i, x, y, w }; i -1: n frames that are too narrow, of so many ns */
			this.show(0);
			this.widths = new Map();
		}

		/* At full width; the rows that it takes are those of frames that can be seen on a wide screen. */
		show(i) {
			this.root = i;
			this.rows = 1 + this.t.deepest(i, this.t.total[i] * LEAST / 2000);
		}

		/* ---- drawing ---- */

		/* As much of a text as there is room for. */
		fit(g, text, room) {
			const key = text;

			if (!this.widths.has(key))
				this.widths.set(key, g.measureText(text).width);
			const width = this.widths.get(key);

			if (width <= room)
				return text;
			let n = Math.floor(text.length * room / width);

			while (n > 2 && g.measureText(text.slice(0, n) + "…").width > room)
				n--;
			return n > 2 ? text.slice(0, n) + "…" : "";
		}

		box(g, i, x, y, w, above) {
			const cause = this.t.cause_of(i), hit = this.t.hit && this.t.hit[i];
			const wide = Math.max(w - (w > 3 ? 1 : 0), LEAST);

			g.globalAlpha = above ? 0.55 : this.t.hit && !hit ? 0.45 : 1;
			g.fillStyle = cause >= 0 ? gpushim.fill(g, cause) : this.css[this.t.is_own(i) ? "flame-own" : "flame-other"];
			g.fillRect(x, y, wide, ROW - 1);
			g.globalAlpha = 1;
			if (hit || i === this.focus) {
				g.strokeStyle = this.css[i === this.focus ? "accent" : "text"];
				g.lineWidth = i === this.focus ? 2 : 1.5;
				g.strokeRect(x + 1, y + 1, Math.max(wide - 2, 0.5), ROW - 3);
			}
			if (w > TEXT)
				this.name(g, i, x, y, wide, cause >= 0);
			this.boxes.push({ i, x, y, w });
		}

		/* On a cause's pattern the name has a ground of its own. */
		name(g, i, x, y, w, on_pattern) {
			const text = this.fit(g, this.says(i), w - 10);

			if (!text)
				return;
			if (on_pattern) {
				g.fillStyle = this.css.card;
				g.globalAlpha = 0.9;
				g.fillRect(x + 3, y + 2, Math.min(g.measureText(text).width + 6, w - 5), ROW - 5);
				g.globalAlpha = 1;
			}
			g.fillStyle = this.css[on_pattern ? "text" : "flame-text"];
			g.fillText(text, x + 5.5, y + ROW / 2);
		}

		says(i) {
			return i ? this.t.short(i) : "idle: " + gpushim.duration(this.t.total[0]);
		}

		/* Those above the part that is shown at full width, then what is below. */
		draw(g, width) {
			const way = this.t.way(this.root);

			this.boxes = [];
			this.css = Object.fromEntries(["flame-own", "flame-other", "flame-text", "text", "card", "line", "dim", "accent"].map(name => [name, gpushim.css(name)])); /* each asks for a style */
			g.font = "12px " + getComputedStyle(document.body).fontFamily;
			g.textBaseline = "middle";
			way.slice(0, -1).forEach(i => this.box(g, i, 0, this.t.depth[i] * ROW, width, true));
			this.below(g, this.root, 0, width);
		}

		below(g, root, x, width) {
			const scale = width / (this.t.total[root] || 1), left = [[root, x]];

			while (left.length) {
				const [i, from] = left.pop();
				let at = from;

				this.box(g, i, from, this.t.depth[i] * ROW, this.t.total[i] * scale, false);
				const children = this.t.children[i];

				for (let k = 0; k < children.length; k++) {
					const w = this.t.total[children[k]] * scale;

					if (w < LEAST) { /* the rest has even less */
						this.narrow(g, children.slice(k), at, (this.t.depth[i] + 1) * ROW, scale);
						break;
					}
					left.push([children[k], at]);
					at += w;
				}
			}
		}

		/* Each would be less than a line. */
		narrow(g, rest, x, y, scale) {
			const ns = rest.reduce((sum, i) => sum + this.t.total[i], 0), w = ns * scale;

			if (w < 1)
				return;
			g.fillStyle = this.css.line;
			g.fillRect(x, y, Math.max(w - 1, 1), ROW - 1);
			this.boxes.push({ i: -1, x, y, w, n: rest.length, ns });
			g.fillStyle = this.css.dim;
			if (w > TEXT)
				g.fillText(this.fit(g, "… " + gpushim.count(rest.length) + " more", w - 10), x + 5.5, y + ROW / 2);
		}

		at(x, y) {
			return this.boxes.find(b => y >= b.y && y < b.y + ROW && x >= b.x && x < b.x + b.w) || null;
		}

		/* ---- in words ---- */

		lines(i) {
			if (this.told !== i) { /* the pointer moves within one for a while */
				this.told = i;
				this.told_lines = this.tell(i);
			}
			return this.told_lines;
		}

		tell(i) {
			const t = this.t, cause = t.cause_of(i), lines = [];
			const parts = t.causes(i);

			lines.push(i ? t.text(i) : "all idle time");
			if (cause >= 0)
				lines.push(t.classes[cause].title);
			lines.push(gpushim.duration(t.total[i]) + " (" + gpushim.count(t.total[i]) + " ns), " + gpushim.percent(t.total[i], this.idle) + " of all idle time" +
				   (i && t.parent[i] ? ", " + gpushim.percent(t.total[i], t.total[t.parent[i]]) + " of the frame above" : ""));
			if (t.is_own(i))
				lines.push("the program's own code");
			if (cause < 0)
				for (const [c, ns] of parts.slice(0, 6))
					lines.push(t.classes[c].id + " " + gpushim.duration(ns) + ", " + gpushim.percent(ns, t.total[i]));
			if (cause < 0 && parts.length > 6)
				lines.push("and " + (parts.length - 6) + " causes more");
			return lines;
		}
	}

	/* ---- mouse and keyboard ---- */

	function listen(f, canvas, zoom, focus) {
		const under = event => f.at(event.offsetX, event.offsetY);

		canvas.addEventListener("mousemove", event => {
			const box = under(event);

			canvas.style.cursor = box && box.i >= 0 ? "pointer" : "default";
			gpushim.tip(event, !box ? null : box.i >= 0 ? f.lines(box.i) : [gpushim.count(box.n) + " frames more", gpushim.duration(box.ns) + ", " + gpushim.percent(box.ns, f.idle) + " of all idle time: each is too narrow to be drawn"]);
		});
		canvas.addEventListener("mouseleave", event => gpushim.tip(event, null));
		canvas.addEventListener("click", event => {
			const box = under(event);

			if (box && box.i >= 0)
				zoom(box.i);
		});
		canvas.addEventListener("keydown", event => {
			const next = key(f, event.key);

			if (next === undefined || event.ctrlKey || event.metaKey || event.altKey)
				return;
			event.preventDefault();
			event.stopPropagation(); /* the timeline has keys of its own */
			if (next.gap !== undefined)
				show_gap(longest(f.t, next.gap));
			if (next.zoom !== undefined)
				zoom(next.zoom);
			if (next.focus !== undefined)
				focus(next.focus);
		});
		canvas.addEventListener("focus", () => focus(f.focus < 0 ? f.root : f.focus));
		canvas.addEventListener("blur", () => focus(-1));
	}

	/* The gap in which it took longest, where its story is told; else null. */
	function longest(t, i) {
		const l = t.longest[i];

		return l.gap >= 0 && gpushim.gap(l.gap) ? { gap: l.gap, ns: l.ns, device: t.device(l.leaf) } : null;
	}

	function show_gap(l) {
		if (l)
			gpushim.bus.emit("select", { device: l.device, gap: l.gap });
	}

	/* What a key does from where one is; undefined: it is not one of ours. */
	function key(f, name) {
		const t = f.t, at = f.focus < 0 ? f.root : f.focus;
		const siblings = at === f.root ? [at] : t.children[t.parent[at]], place = siblings.indexOf(at);

		switch (name) {
		case "ArrowDown":
			return { focus: t.children[at].length ? t.children[at][0] : at };
		case "ArrowUp":
			return at === f.root && at ? { zoom: t.parent[at], focus: t.parent[at] } : { focus: t.parent[at] };
		case "ArrowRight":
			return { focus: siblings[Math.min(place + 1, siblings.length - 1)] };
		case "ArrowLeft":
			return { focus: siblings[Math.max(place - 1, 0)] };
		case "Enter":
		case " ":
			return { zoom: at, focus: at };
		case "g":
			return { gap: at };
		case "Backspace":
			return { zoom: t.parent[f.root], focus: t.parent[f.root] };
		case "Escape":
			return f.root ? { zoom: 0, focus: 0 } : undefined;
		default:
			return undefined;
		}
	}

	/* ---- the panel ---- */

	function legend(t) {
		const causes = t.causes(0).map(([c]) => make("span", { class: "flame-key", title: t.classes[c].title }, gpushim.swatch(c), t.classes[c].id));

		return make("div", { class: "flame-legend" },
			make("span", { class: "flame-key" }, make("span", { class: "flame-box own" }), "the program's own code"),
			make("span", { class: "flame-key" }, make("span", { class: "flame-box" }), "other code"), causes);
	}

	function panel(section, f, bus, left_out) {
		const canvas = make("canvas", { class: "flame", tabindex: 0, role: "application", "aria-label": "idle time by stack: arrows go from frame to frame, Enter shows one at full width, Backspace goes back" });
		const said = make("p", { class: "flame-said dim", role: "status" }), found = make("span", { class: "flame-found dim", role: "status" });
		const trail = make("span", { class: "flame-trail" }), where = make("span", { class: "flame-where" }), place = make("div", { class: "flame-scroll" }, canvas);
		const redraw = gpushim.canvas(canvas, () => ROW * f.rows, (g, width) => f.draw(g, width));
		const rest = "Click a frame to see it at full width; Tab and the arrows go there, too, and g shows the gap with the most of it.";

		const focus = i => {
			f.focus = i;
			said.textContent = i < 0 ? rest : f.lines(i).join(" · ");
			redraw();
		};
		const zoom = i => {
			f.show(i);
			trail.replaceChildren(...f.t.way(i).flatMap((k, n) => [n ? " › " : "", make("button", { type: "button", class: "link", disabled: k === i, onclick: () => zoom(k) }, k ? f.t.text(k) : "all")]));
			trail.hidden = !i;
			const l = i ? longest(f.t, i) : null;

			where.replaceChildren(...(l ? ["longest: ", make("button", { type: "button", class: "link", onclick: () => show_gap(l) }, "gap " + l.gap), " (" + gpushim.duration(l.ns) + ")"] : []));
			redraw();
		};

		listen(f, canvas, zoom, focus);
		bus.on("searched", text => {
			const hits = f.t.search(text || "");

			found.textContent = f.t.hit ? "“" + text.trim() + "”: " + gpushim.count(hits.nodes) + (hits.nodes === 1 ? " frame, " : " frames, ") + gpushim.percent(hits.ns, f.idle) + " of idle time" : "";
			redraw();
		});
		section.append(make("p", { class: "dim note" }, "The wider, the more idle time. From the program's begin downwards: where the launching thread was while the device waited; at the ends, why it waited." +
				    (left_out ? " Of " + gpushim.count(left_out) + " stacks with little time the frames are left out." : "")),
			make("div", { class: "flame-bar" }, trail, where, found), place, said, legend(f.t));
		focus(-1);
		zoom(0);
		gpushim.flame = { zoom, redraw, boxes: () => f.boxes.filter(b => b.i >= 0).map(b => ({ name: f.says(b.i), ns: f.t.total[b.i], ...b })), root: () => f.says(f.root) }; /* for tests */
	}

	gpushim.panel({
		id: "flame", title: "Idle time by stack", order: 50,
		wants: data => data.flame && data.flame.stacks > 0,
		async make(section, data, bus) {
			const flame = await gpushim.columns(data.flame), tree = new gpushim.flame_tree(flame, data);

			panel(section, new Flame(tree, tree.total[0]), bus, flame.left_out);
		},
	});
})();
