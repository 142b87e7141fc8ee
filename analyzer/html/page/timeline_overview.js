/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline_overview.js: the whole run in one strip: of each device what was idle, by cause, upon what was not; and which part is shown below. */
"use strict";

(function () {
	const MOST_DEVICES = 64, LABELLED = 8, GUTTER = gpushim.timeline_gutter;

	/* "device 3 · NVIDIA H200 · rank 3 · node-b": of several the model is the least of news. */
	const short = name => name.split(" · ").filter((_, i) => i !== 1).join(" · ");

	class Overview {
		constructor(timeline, canvas) {
			this.t = timeline;
			this.canvas = canvas;
			this.picture = null; /* all but the frame: made again when size, theme or hits change */
		}

		changed() {
			this.picture = null;
		}

		lanes() { return this.t.lanes.filter(l => l.kind === "idle" && l.n).slice(0, MOST_DEVICES); }

		/* Of many devices each has a thin line: where one is not like the others it stands out. */
		strip_height() {
			const n = this.lanes().length;

			return n <= 2 ? 22 : n <= LABELLED ? 14 : Math.max(2, Math.floor(128 / n));
		}

		gap() { return this.lanes().length <= LABELLED ? 2 : 0; }

		height() {
			const n = Math.max(1, this.lanes().length);

			return n * (this.strip_height() + this.gap()) - this.gap() + 12;
		}

		label(lanes, i) {
			const total = lane => lane.totals.reduce((a, b) => a + b, 0);

			if (lanes.length === 1)
				return "the whole run";
			if (lanes.length <= LABELLED)
				return short(lanes[i].group);
			return lanes.every(l => total(l) <= total(lanes[i])) ? "most idle: " + short(lanes[i].group) : "";
		}

		paint(width, height, key) {
			const t = this.t, ratio = devicePixelRatio || 1, canvas = document.createElement("canvas"), g = canvas.getContext("2d");
			const scale = new gpushim.timeline_parts.Scale(0, t.span, GUTTER, Math.max(10, width - GUTTER - 6), ratio);
			const looks = new gpushim.timeline_parts.Looks(g), lanes = this.lanes(), strip = this.strip_height();

			canvas.width = Math.round(width * ratio);
			canvas.height = Math.round(height * ratio);
			g.setTransform(ratio, 0, 0, ratio, 0, 0);
			g.font = "11px system-ui, sans-serif";
			g.textBaseline = "middle";
			lanes.forEach((lane, i) => {
				const y = 4 + i * (strip + this.gap());

				g.fillStyle = t.css.dim;
				g.fillText(gpushim.timeline_parts.fit(g, this.label(lanes, i), GUTTER - 30), 22, y + strip / 2);
				g.fillStyle = gpushim.colour("compute");
				g.globalAlpha = 0.28;
				g.fillRect(GUTTER, y, scale.width, strip);
				g.globalAlpha = 1;
				gpushim.timeline_lane(g, looks, lane, scale, y, strip, t.css.card, null);
			});
			if (!lanes.length) {
				g.fillStyle = t.css.line;
				g.fillRect(GUTTER, 4, scale.width, strip);
			}
			g.fillStyle = t.css.accent;
			for (const x of t.search.marks(scale))
				g.fillRect(x, height - 6, 1.5, 5);
			this.picture = { canvas, key };
		}

		draw() {
			const t = this.t, width = t.width, height = this.height(), g = t.size(this.canvas, width, height);
			const key = [width, height, devicePixelRatio, gpushim.theme(), t.search.version, this.lanes().length].join();
			const scale = new gpushim.timeline_parts.Scale(0, t.span, GUTTER, Math.max(10, width - GUTTER - 6), 1);

			if (!this.picture || this.picture.key !== key)
				this.paint(width, height, key);
			g.drawImage(this.picture.canvas, 0, 0, width, height);
			this.scale = scale;
			const x0 = scale.x(t.begin), x1 = Math.max(scale.x(t.end), x0 + 3);

			g.fillStyle = t.css.card;
			g.globalAlpha = 0.55;
			g.fillRect(GUTTER, 2, x0 - GUTTER, height - 10);
			g.fillRect(x1, 2, GUTTER + scale.width - x1, height - 10);
			g.globalAlpha = 1;
			g.strokeStyle = t.css.accent;
			g.lineWidth = 1.5;
			g.strokeRect(x0, 2, x1 - x0, height - 9);
			if (t.selected) {
				g.fillStyle = t.css.warn;
				g.fillRect(scale.x((t.selected.begin + t.selected.end) / 2) - 1, 0, 2, height);
			}
		}
	}

	gpushim.timeline_overview = { Overview, short };
})();
