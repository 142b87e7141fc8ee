/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_map.js: where everything lay at the worst moment: the ranges that the driver gave, by address, each with its pieces. Ranges follow each
 * other as words do; a long one goes on in the next line. */
"use strict";

(function () {
	const make = gpushim.make, ROW = 22, SPACE = 6, LEFT = 122, RIGHT = 6, LINES = 26, LEAST = 3;
	const KINDS = ["memory-free", "memory-whole", "memory-block", "memory-mixed", "memory-largest"]; /* html_memory.c */
	const SOURCES = { allocated: "allocated of the driver", mapped: "mapped by the program (virtual memory)", pooled: "the driver's pool", unseen: "its allocation is not on record" };

	class Map {
		constructor(worst, cells) {
			this.w = worst;
			this.c = cells;
			this.several = new Set(worst.rows.map(r => r.pid)).size > 1;
			this.boxes = [];  /* of the last layout: { row, cell, x, y, w, offset, first, last } */
			this.labels = [];
			this.lines = 1;
			this.focus = -1;  /* a cell */
			this.width = 0;
		}

		/* Bytes of a line, so that there are not too many lines; pieces get three pixels at least while there is room. */
		layout(width) {
			const room = width - LEFT - RIGHT, all = this.w.rows.reduce((sum, r) => sum + r.bytes, 0);

			this.width = width;
			const most = Math.min(LINES, 2 + Math.ceil(this.c.n / 6)); /* few pieces need few lines */

			this.scale = room * Math.max(most * 0.85, 1) / Math.max(all, 1);
			for (let turn = 0; turn < 6; turn++) {
				this.place(room);
				if (this.lines <= most)
					break;
				this.scale *= 0.8;
			}
		}

		place(room) {
			let x = 0, line = 0, cell = 0;

			this.boxes = [];
			this.labels = [];
			this.w.rows.forEach((row, r) => {
				const whole = row.bytes * this.scale;
				let offset = 0;

				if (x && x + Math.min(whole, room) > room) {
					x = 0;
					line++;
				}
				if (!x)
					this.labels.push({ line, text: row.address, pid: row.pid });
				for (let k = 0; k < row.cells; k++, cell++) {
					let left = Math.max(this.c.b[cell] * this.scale, row.cells === 1 ? LEAST : 0.5), first = true;

					while (left > 0) {
						if (x >= room - 0.5) {
							x = 0;
							line++;
						}
						const w = Math.min(left, room - x);

						this.boxes.push({ row: r, cell, x: LEFT + x, y: line * ROW, w, offset, first, begins: first && k === 0, ends: w === left && k === row.cells - 1 });
						x += w;
						left -= w;
						first = false;
					}
					offset += this.c.b[cell];
				}
				x += SPACE;
			});
			this.lines = line + 1;
		}

		/* ---- drawing ---- */

		draw(g, width) {
			if (width !== this.width)
				this.layout(width);
			this.css = Object.fromEntries(["dim", "text", "card", "accent"].map(name => [name, gpushim.css(name)])); /* each asks for a style */
			g.font = "12px " + getComputedStyle(document.body).fontFamily;
			g.textBaseline = "middle";
			for (const b of this.boxes)
				this.box(g, b);
			g.fillStyle = this.css.dim;
			g.textAlign = "left";
			for (const l of this.labels)
				g.fillText(l.text, 0, l.line * ROW + ROW / 2 - 2);
		}

		box(g, b) {
			const kind = this.c.k[b.cell], focus = b.cell === this.focus, h = ROW - 4;

			g.fillStyle = gpushim.fill(g, KINDS[kind]);
			g.fillRect(b.x, b.y, Math.max(b.w - (b.w > 4 ? 0.8 : 0), 0.5), h);
			g.strokeStyle = this.css.dim;
			g.lineWidth = 1;
			g.beginPath();
			for (const [at, side] of [[b.x, b.begins], [b.x + b.w, b.ends]])
				if (side) {
					g.moveTo(at, b.y - 1);
					g.lineTo(at, b.y + h + 1);
				}
			g.stroke();
			if (focus || kind === 4) {
				g.strokeStyle = this.css[focus ? "accent" : "text"];
				g.lineWidth = 2;
				g.strokeRect(b.x, b.y, Math.max(b.w, 2), h);
			}
			if (b.first && b.w > 40)
				this.size(g, b, kind, h);
		}

		size(g, b, kind, h) {
			const text = (kind === 4 && b.w > 140 ? "largest free: " : "") + gpushim.bytes(this.c.b[b.cell]), w = g.measureText(text).width;

			if (w + 12 > b.w)
				return;
			g.fillStyle = this.css.card;
			g.globalAlpha = 0.88;
			g.fillRect(b.x + 4, b.y + 2, w + 6, h - 4);
			g.globalAlpha = 1;
			g.fillStyle = this.css.text;
			g.textAlign = "left";
			g.fillText(text, b.x + 7, b.y + h / 2 + 0.5);
		}

		at(x, y) {
			return this.boxes.find(b => y >= b.y && y < b.y + ROW - 2 && x >= b.x - 1 && x < b.x + Math.max(b.w, LEAST)) || null;
		}

		/* ---- in words ---- */

		words(b) {
			const row = this.w.rows[b.row], c = this.c, bytes = gpushim.bytes, kind = c.k[b.cell];
			const from = BigInt(row.address) + BigInt(b.offset), to = from + BigInt(c.b[b.cell]);
			const what = ["free", "allocated: nobody says what is within", "allocated", "", "the largest free piece"][kind];

			return [c.c[b.cell] > 1 ? gpushim.count(c.c[b.cell]) + " pieces, " + bytes(c.u[b.cell]) + " of " + bytes(c.b[b.cell]) + " allocated" : bytes(c.b[b.cell]) + " " + what,
				"0x" + from.toString(16) + " to 0x" + to.toString(16),
				"in a range of " + bytes(row.bytes) + " at " + row.address + ", " + gpushim.percent(row.used, row.bytes) + " of it allocated",
				SOURCES[row.source] + (row.pool === undefined ? "" : " " + row.pool) + (this.several ? ", process " + row.pid : "")];
		}
	}

	gpushim.memory_map = function (device, cells, said) {
		const map = new Map(device.worst, cells);
		const canvas = make("canvas", { class: "memory-map", tabindex: 0, role: "application", "aria-label": "memory of device " + device.device + " by address: the left and right arrows go from piece to piece" });
		let redraw = null;
		const frame = make("div", { class: "memory-frame" }, canvas);

		redraw = gpushim.canvas(canvas, () => {
			if (frame.clientWidth && frame.clientWidth !== map.width)
				map.layout(frame.clientWidth);
			return map.lines * ROW + 2;
		}, (g, width) => map.draw(g, width));
		canvas.addEventListener("mousemove", event => {
			const b = map.at(event.offsetX, event.offsetY);

			gpushim.tip(event, b ? map.words(b) : null);
		});
		canvas.addEventListener("mouseleave", event => gpushim.tip(event, null));
		canvas.addEventListener("keydown", event => {
			const by = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];

			if (!by || !cells.n)
				return;
			map.focus = Math.min(Math.max(map.focus + by, 0), cells.n - 1);
			said(map.words(map.boxes.find(b => b.cell === map.focus)));
			event.preventDefault();
			event.stopPropagation();
			redraw();
		});
		canvas.addEventListener("blur", () => {
			map.focus = -1;
			redraw();
		});
		return { frame, map, kinds: KINDS };
	};
})();
