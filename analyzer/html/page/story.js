/* SPDX-License-Identifier: BSD-2-Clause */
/* story.js: the panel beside the page: the whole story of what was clicked. */
"use strict";

(function () {
	const make = gpushim.make;

	const offset = ns => (ns < 0 ? "−" : "+") + gpushim.duration(Math.abs(ns));
	const number = text => make("td", { class: "number" }, text);

	/* ---- a picture of a gap and what is around it --------------------------------------------------------------- */

	const ROW = 20, SPACE = 5;

	function picture(gap, strings) {
		const canvas = make("canvas", { class: "around", role: "img", "aria-label": "the device and the launching thread around the gap" });
		const length = gpushim.length(gap), begin = gap.begin_ns - 0.18 * length, end = gap.end_ns + 0.18 * length;
		let width = 1;
		const left = 62, x = ns => left + (ns - begin) / (end - begin) * (width - left);
		const boxes = [];

		function box(g, row, from, to, style, lines) {
			const a = Math.max(left, x(from)), b = Math.min(width, x(to));

			if (b <= left || a >= width)
				return;
			g.fillStyle = style;
			g.fillRect(a, row * (ROW + SPACE), Math.max(1, b - a), ROW);
			boxes.push({ row, a, b: Math.max(a + 2, b), lines });
		}

		gpushim.canvas(canvas, 3 * (ROW + SPACE), (g, w, h) => {
			width = w;
			boxes.length = 0;
			g.font = "11px system-ui, sans-serif";
			g.textBaseline = "middle";
			g.fillStyle = gpushim.css("dim");
			["device", "why idle", "thread"].forEach((t, i) => g.fillText(t, 0, i * (ROW + SPACE) + ROW / 2));
			g.fillStyle = gpushim.css("hover");
			g.fillRect(x(gap.begin_ns), 0, x(gap.end_ns) - x(gap.begin_ns), h);
			for (const op of gap.around)
				box(g, 0, op.begin_ns, op.end_ns, gpushim.fill(g, op.class), op_lines(op, gap, strings));
			for (const c of gap.causes)
				box(g, 1, c.begin_ns, c.end_ns, gpushim.fill(g, c.id), [c.id, gpushim.duration(gpushim.length(c)) + ", " + c.confidence]);
			for (const c of gap.calls)
				box(g, 2, c.begin_ns, c.end_ns, gpushim.fill(g, c.ends_gap ? "call" : "sync"), [strings[c.name], offset(c.begin_ns - gap.begin_ns) + ", " + gpushim.duration(gpushim.length(c))]);
		});
		canvas.addEventListener("mousemove", event => {
			const px = event.offsetX * width / canvas.clientWidth, row = Math.floor(event.offsetY / (ROW + SPACE));
			const hit = boxes.filter(b => b.row === row && px >= b.a - 1 && px <= b.b + 1).pop();

			gpushim.tip(event, hit ? hit.lines : null);
		});
		canvas.addEventListener("mouseleave", event => gpushim.tip(event, null));
		return make("div", null, canvas);
	}

	function op_name(op, strings) {
		const c = gpushim.class(op.class);

		if (op.name)
			return strings[op.name];
		return c.id === "copy" ? "a copy" : c.id === "memset" ? "a memset" : c.id === "hostfn" ? "a host function" : op.count > 1 ? "a graph" : "a kernel";
	}

	const op_short = (op, strings) => op.name ? gpushim.short(op.name) : op_name(op, strings);

	function op_lines(op, gap, strings) {
		return [op_name(op, strings), offset(op.begin_ns - gap.begin_ns) + ", " + gpushim.duration(gpushim.length(op)),
			(op.stream === undefined ? "" : "stream " + op.stream) + (op.bytes === undefined ? "" : ", " + gpushim.bytes(op.bytes)), op.call === undefined ? "" : "by " + strings[op.call]].filter(Boolean);
	}

	/* ---- pieces ------------------------------------------------------------------------------------------------- */

	/* Where in which file, but for what its state says. */
	function place(link) {
		const words = [link.file && !link.state.includes(link.file) ? link.file : null,
			link.offset !== undefined ? "at " + gpushim.bytes(link.offset) + (link.last_offset > link.offset ? " to " + gpushim.bytes(link.last_offset) : "") : null,
			link.bytes ? gpushim.bytes(link.bytes) + " asked for" : null].filter(Boolean);

		return words.length ? make("div", { class: "code dim" }, words.join(", ")) : null;
	}

	function link_line(link, i, n, gap) {
		const name = link.name || (link.tid === gap.tid && gpushim.data.strings[gap.thread]), who = name ? name + "[" + link.tid + "]" : "thread " + link.tid;
		const woken = !link.woken_by ? "" : link.woken_by === "interrupt" ? "woken by an interrupt" : "woken by " + (link.woken_by.includes("[") ? "" : "its ") + link.woken_by;

		return make("li", { class: "level" + (i === n - 1 ? " last" : "") },
			make("div", null, make("b", null, who), make("span", { class: "dim" }, " of process " + link.pid), " ", gpushim.state(link)),
			make("div", { class: "dim" }, [gpushim.duration(gpushim.length(link)), woken].filter(Boolean).join(", ")),
			place(link));
	}

	const BY = { "call": "in the call at", "look": "seen at", "between": "between calls at", "next-call": "before the call at", "launch-site": "before the launch at" };

	function stack(held) {
		const s = held.stack !== undefined && gpushim.stack(held.stack), named = gpushim.frame(held);

		if (!named)
			return null;
		const line = [(BY[held.by] || "at") + " ", make("span", { class: "code" }, named)];

		if (!s)
			return make("div", { class: "held" }, line);
		return make("details", { class: "held" }, make("summary", null, line),
			make("ol", { class: "stack code" }, s.frames.map((f, i) => make("li", { class: i === held.frame ? "named" : f.own ? "own" : null, title: f.file || f.module || null }, gpushim.frame(f) || "?")),
				s.truncated ? make("li", { class: "dim" }, "…") : null));
	}

	/* The longest of each stack: the same one is not told twice. */
	function stacks(c) {
		const most = new Map();

		for (const h of c.held || []) {
			const key = h.stack + " " + h.frame;

			if (h.stack !== undefined && (!most.has(key) || gpushim.length(most.get(key)) < gpushim.length(h)))
				most.set(key, h);
		}
		return [...most.values()].sort((a, b) => gpushim.length(b) - gpushim.length(a)).slice(0, 3).map(stack);
	}

	function piece(c, gap) {
		const told = (c.held || []).some(h => h.stack !== undefined);

		return make("article", { class: "piece" },
			make("h4", null, gpushim.swatch(c.id), make("span", { class: "id" }, c.id), make("span", { class: "dim" }, " " + c.confidence), make("span", { class: "length" }, gpushim.duration(gpushim.length(c)) + " · " + gpushim.percent(gpushim.length(c), gpushim.length(gap)))),
			make("p", null, gpushim.class(c.id).title, c.begin_ns > gap.begin_ns ? make("span", { class: "dim" }, ", from " + offset(c.begin_ns - gap.begin_ns) + " on") : null),
			c.chain.length ? make("ol", { class: "chain" }, c.chain.map((l, i) => link_line(l, i, c.chain.length, gap))) : null,
			c.evidence.length ? make("ul", { class: "evidence dim" }, c.evidence.filter(e => !told || !/^(at|in the call at|seen at) /.test(e)).map(e => make("li", null, e))) : null,
			stacks(c));
	}

	const PIECES = 12, LITTLE = 40; /* one part in so many of the gap */

	/* Those that matter, the longest first, as the picture has their order in time; the others in a line each, where they are asked for. */
	function pieces(gap) {
		const by_length = gap.causes.slice().sort((a, b) => gpushim.length(b) - gpushim.length(a));
		const kept = new Set(by_length.filter((c, i) => i === 0 || (i < PIECES && gpushim.length(c) >= gpushim.length(gap) / LITTLE)));
		const left = gap.causes.filter(c => !kept.has(c));

		return [...by_length.filter(c => kept.has(c)).map(c => piece(c, gap)), left.length ? short_pieces(left, gap) : null];
	}

	function short_pieces(left, gap) {
		return make("details", null, make("summary", null, "and " + left.length + (left.length > 1 ? " shorter pieces, " : " shorter piece, ") + gpushim.duration(left.reduce((a, c) => a + gpushim.length(c), 0))),
			make("table", { class: "small" }, make("tbody", null, left.slice(0, 200).map(c => make("tr", null, number(offset(c.begin_ns - gap.begin_ns)), make("td", null, gpushim.swatch(c.id), c.id,
				make("span", { class: "dim" }, " " + c.confidence + (c.evidence.length ? ": " + c.evidence[0] : ""))), number(gpushim.duration(gpushim.length(c))))))));
	}

	/* ---- what was around ---------------------------------------------------------------------------------------- */

	function around(gap, strings) {
		const rows = gap.around.map(op => ({ op, at: op.begin_ns }));
		const before = rows.filter(r => r.at < gap.begin_ns), after = rows.filter(r => r.at >= gap.begin_ns);
		const line = r => make("tr", null, number(offset(r.op.begin_ns - gap.begin_ns)), make("td", null, gpushim.swatch(r.op.class), make("span", { class: "code", title: op_name(r.op, strings) }, op_short(r.op, strings)),
			make("div", { class: "dim" }, op_lines(r.op, gap, strings).slice(2).join(", "))), number(gpushim.duration(gpushim.length(r.op))));

		return make("table", { class: "small" }, make("tbody", null, before.map(line),
			make("tr", { class: "the-gap" }, number("+0 ns"), make("td", null, "idle"), number(gpushim.duration(gpushim.length(gap)))), after.map(line)));
	}

	function calls(gap, strings) {
		if (!gap.calls.length)
			return null;
		return [make("h3", null, "What " + (strings[gap.thread] || "thread") + "[" + gap.tid + "] called"),
			gap.calls_before ? make("p", { class: "dim" }, "the last " + gap.calls.length + " of " + (gap.calls.length + gap.calls_before)) : null,
			make("table", { class: "small" }, make("tbody", null, gap.calls.map(c => make("tr", { class: c.ends_gap ? "the-gap" : null }, number(offset(c.begin_ns - gap.begin_ns)),
				make("td", { class: "code" }, strings[c.name], c.result ? make("span", { class: "warn" }, " result " + c.result) : null, c.ends_gap ? make("span", { class: "dim" }, " ends the gap") : null), number(gpushim.duration(gpushim.length(c)))))))];
	}

	/* What owns little of the gap is no reason to do anything. */
	function to_do(gap) {
		const length = gpushim.length(gap), list = gpushim.gap_causes(gap).filter((c, i) => i === 0 || c[1] >= length / 100);

		return [make("h3", null, "What to do"), make("ul", { class: "todo" }, list.map(c => make("li", null, gpushim.swatch(c[0]), make("b", null, c[0]), ": " + gpushim.class(c[0]).advice)))];
	}

	/* ---- the stories -------------------------------------------------------------------------------------------- */

	function whole(gap, data) {
		const device = gpushim.device(gap.device), strings = data.strings, ranked = gpushim.gap_causes(gap);

		return [
			make("p", { class: "lead" }, make("strong", null, gpushim.duration(gpushim.length(gap))), " idle, " + gpushim.duration(gap.begin_ns - device.begin_ns) + " after the device's first work: " + gpushim.mainly(ranked, gpushim.length(gap), 3) + "."),
			picture(gap, strings),
			gap.doubt ? make("p", { class: "warn" }, "Records about it may be missing (gpushim info says which): all causes are inferences.") : null,
			make("h3", null, "Why"), pieces(gap), to_do(gap),
			make("h3", null, "Around it"), around(gap, strings), calls(gap, strings),
			make("p", { class: "dim" }, "begin " + gap.begin_ns + " ns ± " + gpushim.duration(gap.begin_error_ns) + ", known by " + gap.known_by + "; end " + gap.end_ns + " ns ± " + gpushim.duration(gap.end_error_ns) + ". In the terminal: gpushim report --why " + gap.gap),
		];
	}

	/* One that is not told: its pieces, from the timeline's lane. */
	async function short(what, data) {
		const found = [];

		for (const lane of data.lanes || []) {
			if (lane.kind !== "idle" || lane.device !== what.device)
				continue;
			const items = await gpushim.columns(lane.items);

			for (let i = 0; items.g && i < items.n; i++)
				if (items.g[i] === what.gap + 1)
					found.push({ id: gpushim.class(items.k[i]).id, ns: items.d[i] });
		}
		const length = found.reduce((a, p) => a + p.ns, 0);

		return [length ? make("p", { class: "lead" }, make("strong", null, gpushim.duration(length)), " idle") : null,
			make("table", { class: "small" }, make("tbody", null, found.map(p => make("tr", null, make("td", null, gpushim.swatch(p.id), p.id, make("div", { class: "dim" }, gpushim.class(p.id).title)), number(gpushim.duration(p.ns)), number(gpushim.percent(p.ns, length)))))),
			make("p", null, "Its whole story is not in this page, which tells the longest gaps: ", make("span", { class: "code" }, "gpushim report --why " + what.gap))];
	}

	function step(what, data, bus) {
		const a = what.about, end = a.begin + a.length;
		const gaps = data.gaps.filter(g => g.device === what.device && g.at_ns < end && g.at_ns + gpushim.length(g) > a.begin).sort((x, y) => gpushim.length(y) - gpushim.length(x)).slice(0, 8);

		return [make("p", { class: "lead" }, make("strong", null, gpushim.duration(a.length)), a.outlier ? ", " + gpushim.duration(a.length - a.median) + " longer than half of the steps" : ", half of the steps take " + gpushim.duration(a.median)),
			make("p", null, "idle " + gpushim.duration(a.idle) + ", " + gpushim.percent(a.idle, a.length)),
			make("table", { class: "small" }, make("tbody", null, a.causes.map(c => make("tr", null, make("td", null, gpushim.swatch(c[0]), c[0], make("div", { class: "dim" }, gpushim.class(c[0]).title)), number(gpushim.duration(c[1])), number(gpushim.percent(c[1], a.idle)))))),
			gaps.length ? make("h3", null, "Its longest gaps") : null,
			make("ul", { class: "plain" }, gaps.map(g => make("li", null, make("button", { type: "button", class: "link", onclick: () => bus.emit("select", { device: g.device, gap: g.gap }) }, "gap " + g.gap), " " + gpushim.duration(gpushim.length(g)) + ": " + gpushim.mainly(gpushim.gap_causes(g), gpushim.length(g), 2))))];
	}

	/* Anything else of the timeline: what its lane says of it. */
	async function item(what, data) {
		const lane = data.lanes[what.lane], items = await gpushim.columns(lane.items), i = what.item, c = gpushim.class(items.k[i]);
		const text = column => column && column[i] ? data.strings[column[i]] : "", several = items.c && items.c[i] > 1;
		const rows = [["begin", gpushim.duration(items.b[i]) + " into the recording"], [several ? "together" : "length", gpushim.duration(items.d[i])], several ? ["stands for", gpushim.count(items.c[i]) + " of them, drawn as one"] : null,
			items.l && items.l[i] ? ["launched", gpushim.duration(items.l[i] - 1) + " before it began"] : null, ["on", data.strings[lane.name]], ["of", data.strings[lane.group]]];

		return [make("p", { class: "lead" }, gpushim.swatch(items.k[i]), c.title), make("p", { class: "code name" }, text(items.s)), text(items.a) ? make("p", { class: "code" }, text(items.a)) : null,
			make("table", { class: "small" }, make("tbody", null, rows.filter(Boolean).map(r => make("tr", null, make("td", { class: "dim" }, r[0]), make("td", null, r[1])))))];
	}

	function title(what) {
		if (what.gap !== undefined)
			return "Gap " + what.gap + (gpushim.several() ? " of device " + what.device : "");
		return what.about ? what.about.name.replace(/^./, c => c.toUpperCase()) + (gpushim.several() ? " on device " + what.device : "") : "Selected";
	}

	/* ---- the panel ---------------------------------------------------------------------------------------------- */

	/* The gap before, or behind, among those that are told. */
	function neighbour(gap, by) {
		const list = gpushim.data.gaps.filter(g => g.device === gap.device).sort((a, b) => a.begin_ns - b.begin_ns), i = list.indexOf(gap) + by;

		return i >= 0 && i < list.length ? list[i] : null;
	}

	function buttons(what, bus, close) {
		const gap = what.gap !== undefined && gpushim.gap(what.gap), out = [];
		const go = (text, label, target) => make("button", { type: "button", "aria-label": label, title: label, disabled: !target, onclick: () => bus.emit("select", { device: target.device, gap: target.gap }) }, text);

		if (gap)
			out.push(make("button", { type: "button", onclick: () => bus.emit("goto", { begin: gap.at_ns, end: gap.at_ns + gpushim.length(gap) }) }, "show in timeline"), go("‹", "the gap before", neighbour(gap, -1)), go("›", "the gap behind", neighbour(gap, 1)));
		out.push(make("button", { type: "button", class: "close", "aria-label": "close", title: "close (Esc)", onclick: close }, "×"));
		return make("div", { class: "buttons" }, out);
	}

	gpushim.panel({
		id: "story-panel", order: 95, place: "story",
		make(section, data, bus) {
			const aside = document.getElementById("story");
			let shown = 0;

			aside.setAttribute("aria-label", "the story of what was clicked");
			const close = () => bus.emit("select", null);

			async function tell(what) {
				const mine = ++shown;

				aside.hidden = !what;
				document.body.classList.toggle("story-open", !!what);
				if (!what)
					return;
				const gap = what.gap !== undefined && gpushim.gap(what.gap);
				const body = gap ? whole(gap, data) : what.gap !== undefined ? await short(what, data) : what.about ? step(what, data, bus) : what.lane !== undefined ? await item(what, data) : [];

				if (mine !== shown) /* something else was clicked meanwhile */
					return;
				section.replaceChildren(make("div", { class: "story-head" }, make("h2", null, title(what)), buttons(what, bus, close)), make("div", { class: "story-body" }, body));
				aside.scrollTop = 0;
			}

			bus.on("select", what => tell(what).catch(error => {
				console.error(error);
				section.replaceChildren(make("p", { class: "trouble" }, "this story could not be told: " + error.message));
			}));
			document.addEventListener("keydown", event => {
				if (event.key === "Escape" && !aside.hidden)
					close();
			});
		},
	});
})();
