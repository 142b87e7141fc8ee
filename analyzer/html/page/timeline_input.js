/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline_input.js: pointer and keyboard of the timeline. */
"use strict";

(function () {
	const make = gpushim.make, GUTTER = gpushim.timeline_gutter, CLICK = 4, REACH = 3;
	const KEYS = [
		["w, +", "zoom in"], ["s, −", "zoom out"], ["a, ←", "move left"], ["d, →", "move right"],
		["f", "show the marked stretch or what is selected, then everything"], ["n, p", "next and previous gap that can be seen at this zoom"],
		["↑, ↓", "the lane above, below"], [", .", "the item before, behind, in that lane"], ["/", "find by name; Enter and Shift+Enter go from hit to hit"], ["Esc", "clear what is marked, selected or searched for"],
		["Ctrl+wheel", "zoom around the pointer"], ["Shift+wheel", "move"], ["drag", "move"], ["Shift+drag", "mark a stretch: what was idle in it"], ["double click", "show an item as wide as fits"],
	];

	/* ---- keyboard ---- */

	function help(t) {
		if (!t.help) {
			t.help = make("dialog", { class: "timeline-help", "aria-label": "keys of the timeline" },
				make("h3", null, "Keys"), make("dl", null, KEYS.map(([key, what]) => [make("dt", null, key), make("dd", null, what)])),
				make("button", { type: "button", onclick: () => t.help.close() }, "close"));
			t.section.append(t.help);
		}
		if (t.help.open)
			t.help.close();
		else
			t.help.showModal();
	}

	/* Those narrower than this would not be seen: on a run of a million gaps the next one would be any. */
	function next_gap(t, dir) {
		const s = t.selected, lane = s && s.gap !== undefined ? s.lane : t.lanes.find(l => l.kind === "idle" && l.n && t.rows.some(r => r.lane === l));
		const least = 2 * t.scale.per_column;

		if (!lane || !lane.g)
			return;
		for (const wide of [least, 0]) {
			const start = s && s.lane === lane ? s.item : dir > 0 ? lane.after(t.begin) - 1 : lane.after(t.end);

			for (let i = start + dir; i >= 0 && i < lane.n; i += dir) {
				if (s && s.gap === lane.g[i] - 1)
					continue;
				const found = t.gap_at(lane, lane.g[i] - 1);

				if (found && found.end - found.begin >= wide) {
					t.selected = found;
					t.show(found.begin, found.end, lane);
					t.tell();
					t.bus.emit("select", { device: lane.device, gap: found.gap });
					return;
				}
			}
		}
	}

	function fit(t) {
		const of = t.range || t.selected, room = of ? (of.end - of.begin) * (t.range ? 0 : 0.25) : 0;
		const begin = of ? of.begin - room : 0, end = of ? of.end + room : t.span, before = [t.begin, t.end];

		t.view(begin, end);
		if (before[0] === t.begin && before[1] === t.end)
			t.view(0, t.span);
	}

	/* The item of a lane that is nearest to the middle of what is shown, or to what is selected. */
	function to_lane(t, dir) {
		const open = t.rows.filter(r => r.lane && r.lane.n).map(r => r.lane), s = t.selected;
		const at = s ? (s.begin + s.end) / 2 : (t.begin + t.end) / 2;
		const lane = open[s ? Math.max(0, Math.min(open.length - 1, open.indexOf(s.lane) + dir)) : 0];

		if (lane)
			choose(t, lane, Math.min(lane.n - 1, lane.after(at)));
	}

	function choose(t, lane, i) {
		t.select_item(lane, i);
		t.show(lane.b[i], lane.end(i), lane);
	}

	function to_item(t, dir) {
		const s = t.selected;

		if (!s)
			to_lane(t, 0);
		else if (s.item + dir >= 0 && s.item + dir < s.lane.n)
			choose(t, s.lane, s.item + dir);
	}

	function escape(t) {
		if (t.search.text) {
			t.box.value = "";
			t.search.set("");
		}
		t.clear();
	}

	const middle = t => t.pointer !== undefined && t.pointer > t.begin && t.pointer < t.end ? t.pointer : (t.begin + t.end) / 2;
	const ACTIONS = {
		"w": t => t.zoom(1 / 1.5, middle(t)), "+": t => t.zoom(1 / 1.5, middle(t)), "=": t => t.zoom(1 / 1.5, middle(t)),
		"s": t => t.zoom(1.5, middle(t)), "-": t => t.zoom(1.5, middle(t)), "_": t => t.zoom(1.5, middle(t)),
		"a": t => t.pan(-0.2), "ArrowLeft": t => t.pan(-0.2), "d": t => t.pan(0.2), "ArrowRight": t => t.pan(0.2),
		"ArrowUp": t => to_lane(t, -1), "ArrowDown": t => to_lane(t, 1), ",": t => to_item(t, -1), ".": t => to_item(t, 1),
		"f": fit, "n": t => next_gap(t, 1), "p": t => next_gap(t, -1), "/": t => t.box.focus(), "?": help, "Escape": escape,
	};
	const ONLY_HERE = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]; /* elsewhere they move the page */

	function act(t, key) {
		if (!ACTIONS[key])
			return false;
		ACTIONS[key](t);
		return true;
	}

	function keyboard(t) {
		document.addEventListener("keydown", event => {
			const on = document.activeElement, free = !on || on === document.body || on === t.canvas;

			if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || (t.help && t.help.open))
				return;
			if (!free && event.key !== "Escape" && (/^(INPUT|TEXTAREA|SELECT)$/.test(on.tagName) || on.isContentEditable))
				return;
			if (ONLY_HERE.includes(event.key) && on !== t.canvas)
				return;
			if (act(t, event.key))
				event.preventDefault();
		});
		t.box.addEventListener("keydown", event => {
			if (event.key === "Enter") {
				t.search_now();
				t.search.next(event.shiftKey ? -1 : 1);
				event.preventDefault();
			} else if (event.key === "Escape") {
				t.canvas.focus({ preventScroll: true });
			}
		});
		let waiting = 0;
		t.search_now = () => {
			clearTimeout(waiting);
			if (t.search.text !== t.box.value.trim().toLowerCase())
				t.search.set(t.box.value);
		};
		t.box.addEventListener("input", () => {
			clearTimeout(waiting);
			waiting = setTimeout(t.search_now, 150);
		});
	}

	/* ---- pointer ---- */

	function under(t, event) {
		const box = t.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top + t.scroll.scrollTop;
		const row = t.rows ? t.rows.find(r => y >= r.y - 1 && y < r.y + r.height + 2) : null;
		const hit = { x, ns: t.scale.ns(x), row };

		if (row && row.lane && row.lane.n && x >= GUTTER)
			hit.item = row.lane.at(hit.ns, REACH * (t.end - t.begin) / t.scale.width);
		return hit;
	}

	function hover(t, event) {
		const hit = under(t, event);

		t.pointer = hit.x >= GUTTER ? hit.ns : undefined;
		t.canvas.style.cursor = hit.row && hit.row.group ? "pointer" : hit.item >= 0 ? "pointer" : "default";
		if (hit.item >= 0)
			gpushim.tip(event, gpushim.timeline_say.item(t, hit.row.lane, hit.item));
		else if (hit.row && hit.x < GUTTER)
			gpushim.tip(event, hit.row.group ? [hit.row.group.name] : gpushim.timeline_say.lane(hit.row.lane));
		else
			gpushim.tip(event, null);
	}

	function click(t, event) {
		const hit = under(t, event);

		if (hit.row && hit.row.group) {
			t.toggle(hit.row.group);
		} else if (hit.item >= 0) {
			t.range = null;
			t.select_item(hit.row.lane, hit.item);
		} else {
			t.clear();
		}
	}

	/* drag: what a move of the pointer does from here on. */
	function lanes(t) {
		let drag = null;

		t.canvas.addEventListener("pointerdown", event => {
			if (event.button !== 0)
				return;
			t.canvas.focus({ preventScroll: true });
			t.canvas.setPointerCapture(event.pointerId);
			drag = { x: event.clientX, moved: false, begin: t.begin, marks: event.shiftKey, from: t.scale.ns(event.clientX - t.canvas.getBoundingClientRect().left) };
		});
		t.canvas.addEventListener("pointermove", event => {
			if (!drag) {
				hover(t, event);
				return;
			}
			if (!drag.moved && Math.abs(event.clientX - drag.x) < CLICK)
				return;
			drag.moved = true;
			gpushim.tip(event, null);
			if (drag.marks) {
				mark(t, drag.from, t.scale.ns(event.clientX - t.canvas.getBoundingClientRect().left));
			} else {
				const begin = drag.begin - (event.clientX - drag.x) / t.scale.width * (t.end - t.begin);

				t.view(begin, begin + (t.end - t.begin));
			}
		});
		t.canvas.addEventListener("pointerup", event => {
			if (drag && !drag.moved)
				click(t, event);
			drag = null;
		});
		t.canvas.addEventListener("pointercancel", () => { drag = null; });
		t.canvas.addEventListener("pointerleave", event => { t.pointer = undefined; gpushim.tip(event, null); });
		t.canvas.addEventListener("dblclick", event => {
			const hit = under(t, event);

			if (hit.item >= 0)
				t.show(hit.row.lane.b[hit.item], hit.row.lane.end(hit.item), null, 0.8, true);
		});
	}

	function mark(t, a, b) {
		t.range = { begin: Math.max(0, Math.min(a, b)), end: Math.min(t.span, Math.max(a, b)) };
		t.tell();
	}

	/* Over the lanes the wheel moves the page, as elsewhere; with Ctrl (which a pinch sets, too) it zooms, sideways or with Shift it moves. */
	function wheel(t) {
		t.frame.addEventListener("wheel", event => {
			const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
			const x = event.clientX - t.canvas.getBoundingClientRect().left, unit = event.deltaMode === 1 ? 16 : 1;

			if (event.ctrlKey || event.metaKey)
				t.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * unit * 0.003))), t.scale.ns(Math.max(GUTTER, x)));
			else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY))
				t.pan(sideways * unit / t.scale.width);
			else
				return;
			event.preventDefault();
		}, { passive: false });
	}

	/* On the axis a drag marks a stretch; on the overview it takes the view along. */
	function strips(t) {
		const drag_on = (canvas, down, move) => {
			let from = null;
			const x_of = event => event.clientX - canvas.getBoundingClientRect().left;

			canvas.addEventListener("pointerdown", event => {
				canvas.setPointerCapture(event.pointerId);
				from = down(x_of(event));
			});
			canvas.addEventListener("pointermove", event => {
				if (from !== null)
					move(from, x_of(event));
			});
			canvas.addEventListener("pointerup", () => { from = null; });
			canvas.addEventListener("pointercancel", () => { from = null; });
		};
		const centre = (offset, x) => {
			const at = t.overview.scale.ns(x) - offset, half = (t.end - t.begin) / 2;

			t.view(at - half, at + half);
		};

		drag_on(t.axis, x => t.scale.ns(x), (from, x) => mark(t, from, t.scale.ns(x)));
		drag_on(t.map, x => {
			const at = t.overview.scale.ns(x), inside = at >= t.begin && at <= t.end && t.end - t.begin < t.span;
			const offset = inside ? at - (t.begin + t.end) / 2 : 0;

			if (!inside)
				centre(0, x);
			return offset;
		}, centre);
	}

	function listen(t) {
		keyboard(t);
		lanes(t);
		wheel(t);
		strips(t);
	}

	gpushim.timeline_input = { listen, act };
})();
