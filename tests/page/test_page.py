# SPDX-License-Identifier: BSD-2-Clause
"""`report --html` in a browser: it loads without an error and asks for nothing (conftest.py looks at the end of each test), shows what the report says,
and does what is asked of it by mouse and keyboard."""

import re

import conftest
import figures
import page_traces
import pytest


LOOKS = [(kind, width, scheme) for kind in conftest.KINDS for width in (1400, 800) for scheme in ("light", "dark")
         if kind != "many" or (width, scheme) == (1400, "light")]  # it takes a while


@pytest.mark.parametrize("kind, width, scheme", LOOKS)
def test_it_loads(open_page, made, kind, width, scheme):
    page = open_page(kind, width=width, dark=scheme == "dark")
    assert page.all(".trouble") == []
    page.shot(f"{kind}-{width}-{scheme}", whole=True)
    assert page.js("return document.documentElement.scrollWidth <= innerWidth"), "nothing stands out at the right"


def test_figures_are_written_as_the_report_writes_them(open_page):
    """Ties, too: C rounds them to even."""
    page = open_page("hostile")
    values = [0, 1, 999, 1000, 1049, 1050, 1150, 1250, 1350, 2250, 3750, 12_345, 999_949, 999_950, 1_250_000, 999_949_999, 999_950_000, 1_125_000_000, 1_375_000_000,
              2_625_000_000, 999_999_999_999, 10**12, 1_000_500_000_000, 1_001_500_000_000, -1250]
    assert page.js("return arguments[0].map(gpushim.duration)", values) == [figures.duration(value) for value in values]
    sizes = [0, 1023, 1024, 1280, 1_048_524, 1_048_525, 5 * 2**20 + 2**18, 3 * 2**40]
    assert page.js("return arguments[0].map(gpushim.bytes)", sizes) == [figures.size(value) for value in sizes]
    parts = [(1, 8), (1, 16), (1, 32), (3, 80), (1, 3), (0, 0), (7, 7), (1, 800), (3, 800)]
    assert page.js("return arguments[0].map(([part, whole]) => gpushim.percent(part, whole))", parts) == [figures.percent(*part) for part in parts]
    counts = [0, 999, 1000, 1_234_567]
    assert page.js("return arguments[0].map(gpushim.count)", counts) == [f"{value:,}" for value in counts]


# ---- what is clicked -------------------------------------------------------------------------------------------------------------

def longest(report):
    gaps = [(gap["end_ns"] - gap["begin_ns"], -number, gap) for number, gap in
            enumerate(gap for device in report["devices"] for gap in device["gaps"])]
    length, number, gap = max(gaps, key=lambda one: one[:2])
    return -number, length, gap


def click_on(page, number):
    """On the gap, in the timeline."""
    page.js("document.querySelector('.timeline-lanes').scrollIntoView({ block: 'center' })")
    place = page.js("return gpushim.timeline.find(arguments[0])", number)
    assert place, "the gap is not to be seen"
    page.click(place["x"], place["y"])
    page.until("return !document.getElementById('story').hidden")
    assert page.js("return gpushim.timeline.selected().gap") == number


def said(page):
    return " ".join(page.text("#story").split())


def check_story(page, number, length, gap):
    """The panel says what the report says of this gap."""
    text = said(page)
    assert re.match(rf"Gap {number}\b", text) and figures.duration(length) in text
    assert f"begin {gap['begin_ns']} ns ±" in text and f"end {gap['end_ns']} ns ±" in text and f"gpushim report --why {number}" in text
    pieces = sorted(gap["causes"], key=lambda piece: piece["end_ns"] - piece["begin_ns"])[-12:]
    for piece in [piece for piece in pieces if piece is pieces[-1] or piece["end_ns"] - piece["begin_ns"] >= length / 40]:  # the others are folded away
        ns = piece["end_ns"] - piece["begin_ns"]
        assert f"{piece['id']} {piece['confidence']}" in text and f"{figures.duration(ns)} · {figures.percent(ns, length)}" in text
        for link in piece["chain"]:
            assert f"{link.get('name', '')}[{link['tid']}]" in text and " ".join(link["state"].split()) in text
        for evidence in piece["evidence"]:
            assert " ".join(evidence.split()) in text or evidence.startswith(("at ", "in the call at ", "seen at "))


@pytest.mark.parametrize("kind", ["demo", "ranks"])
def test_a_click_on_a_gap_shows_its_story(open_page, made, kind):
    page = open_page(kind)
    number, length, gap = longest(made(kind).report())
    assert not page.find("#story").is_displayed()
    click_on(page, number)
    check_story(page, number, length, gap)
    page.shot(f"{kind}-story")
    page.press("ESCAPE")
    assert not page.find("#story").is_displayed() and page.js("return gpushim.timeline.selected()") is None


def test_a_click_on_one_of_a_million_gaps(open_page):
    """The longest, which is told whole, and one of those that are not, which --why tells."""
    page = open_page("many")
    assert page.js("return gpushim.data.gaps_all") == conftest.GAPS and page.js("return gpushim.timeline.items()") > conftest.GAPS
    gap = page.js("return gpushim.data.gaps.slice().sort((a, b) => gpushim.length(b) - gpushim.length(a) || a.gap - b.gap)[0]")
    click_on(page, gap["gap"])
    check_story(page, gap["gap"], gap["end_ns"] - gap["begin_ns"], gap)
    page.shot("many-story")
    number = page.js("const told = new Set(gpushim.data.gaps.map(g => g.gap)); let n = 654321; while (told.has(n)) n++; return n")
    click_on(page, number)
    page.until("return document.getElementById('story').textContent.includes(arguments[0])", f"gpushim report --why {number}")
    causes = [c.text for c in page.all("#story tbody tr")]
    assert causes and re.match(rf"Gap {number} ", said(page)) and page.js("const s = gpushim.timeline.selected(); return s.end - s.begin") > 0
    page.shot("many-gap")


def test_the_list_of_gaps_shows_the_same_story(open_page, made):
    page = open_page("demo")
    number, length, gap = longest(made("demo").report())
    page.find("#gaps tbody tr button, #gaps tbody tr").click()
    page.until("return !document.getElementById('story').hidden")
    check_story(page, number, length, gap)
    assert page.js("return gpushim.timeline.selected().gap") == number


# ---- figures ---------------------------------------------------------------------------------------------------------------------

ROWS = "return [...document.querySelectorAll(arguments[0])].map(row => [...row.children].map(cell => cell.innerText.trim()))"


def check_causes(page, devices):
    """The table, of these devices together."""
    page.js("document.querySelectorAll('#causes .more').forEach(button => button.click())")  # what is folded
    span, idle = (sum(device[part] for device in devices) for part in ("span_ns", "idle_ns"))
    shown = {row[0].split("\n")[0]: row for row in page.js(ROWS, "#causes table.causes tbody tr")}
    causes = {one: sum(device["causes"][one] for device in devices) for one in devices[0]["causes"]}
    assert [one for one in shown if one in causes] == sorted([one for one, ns in causes.items() if ns], key=lambda one: -causes[one])
    for one, row in shown.items():
        group = next(group for group in ("causes", "copy", "comm") if one in devices[0][group])
        ns = sum(device[group][one] for device in devices)
        assert row[2:5] == [figures.duration(ns), figures.percent(ns, span), figures.percent(ns, idle) if group == "causes" else ""]


@pytest.mark.parametrize("kind", ["demo", "ranks"])
def test_a_reader_sees_the_figures_of_the_report(open_page, made, kind):
    page, report = open_page(kind), made(kind).report()
    devices = report["devices"]
    span, idle = (sum(device[part] for device in devices) for part in ("span_ns", "idle_ns"))
    assert page.text("#idle") == figures.percent(idle, span)
    assert [row.text for row in page.all(".bar-idle")] == [f"idle {figures.percent(device['idle_ns'], device['span_ns'])}" for device in devices]
    check_causes(page, devices)
    for number, button in enumerate(page.all("#causes .choice button")[1:]):
        button.click()
        check_causes(page, [devices[number]])
    steps = page.text("#steps")
    for usual in report["steps_usual"]:
        assert f"{usual['steps']} steps, half of them within {figures.duration(usual['median']['length_ns'])};" in steps
        assert all(f"{one['name']} took {figures.duration(one['excess_ns'])} longer than half of them" in steps for one in usual["outliers"][:3])
    gaps = [(device, gap) for device in devices for gap in device["gaps"]]
    rows = page.js(ROWS, "#gaps tbody tr")
    lengths = sorted((gap["end_ns"] - gap["begin_ns"] for _, gap in gaps), reverse=True)
    assert [row[-3] for row in rows] == [figures.duration(ns) for ns in lengths[:len(rows)]] and len(rows) == 12
    for row in rows:
        device, gap = gaps[int(row[0])]
        assert row[-4] == figures.duration(gap["begin_ns"] - device["begin_ns"]) and row[-3] == figures.duration(gap["end_ns"] - gap["begin_ns"])
    for row, rank in zip(page.js(ROWS, "#ranks tbody tr"), report["ranks"]["ranks"]):
        whole = next(device for device in devices if device["device"] == rank["device"])
        assert row[2:] == [*(figures.percent(ns, whole["span_ns"]) for ns in (rank["compute_ns"], rank["wait_ns"], rank["transfer_ns"], whole["idle_ns"])),
                           figures.percent(rank["last"], rank["timed"]), figures.duration(rank["cost_ns"])]
    assert page.text("#trust").split() == ["How", "far", "to", "trust", "this", *made(kind).text("--trust").split()[5:]]


# ---- search ----------------------------------------------------------------------------------------------------------------------

def search(page, text):
    page.js("document.getElementById('search').focus(); document.getElementById('search').value = ''")
    page.key(text)
    page.press("ENTER")
    page.until("return document.querySelector('.timeline-found').textContent !== ''")
    return page.text(".timeline-found")


@pytest.mark.parametrize("kind, text, name", [("demo", "gemm_back", "gemm_backward__3700us"), ("many", "ADAM", "adam_apply(float*, float const*"),
                                              ("ranks", "attention_bw", "void attention_bw<0>(float*, float const*)")])
def test_search_finds_a_kernel(open_page, kind, text, name):
    page = open_page(kind)
    whole = page.js("return gpushim.timeline.view()")
    assert re.fullmatch(r"1 of [0-9,]+ hits\b.*", search(page, text))
    view = page.js("return gpushim.timeline.view()")
    assert view["end"] - view["begin"] < (whole["end"] - whole["begin"]) / 10, "it goes there"
    page.until("return !document.getElementById('story').hidden")
    assert name in said(page)
    page.press("ENTER")
    assert page.text(".timeline-found").startswith("2 of ")
    page.shot(f"{kind}-search")
    assert search(page, "no such kernel") == "nothing of that name"


# ---- names of strangers ------------------------------------------------------------------------------------------------------------

def test_hostile_names_stay_text(open_page, made):
    """Each is found, and shown, as the text that it is; none has become an element. No alert: conftest.py hears of it."""
    page = open_page("hostile")
    elements = page.js("return [...document.querySelectorAll('script, img, iframe, object, link, base, form')].map(e => e.tagName)")
    assert set(elements) == {"SCRIPT"} and len(elements) == made("hostile").path.read_text().count("<script")
    strings = page.js("return gpushim.data.strings")
    for raw in page_traces.HOSTILE:
        clean = "".join(c if c.isprintable() and c not in "\u202e\u2066" else "?" for c in raw.decode(errors="replace")).replace("\ufffd", "?")
        (known,) = [one for one in strings if one.replace("\ufffd", "?") == clean or one == clean][:1] or [None]
        assert known is not None, f"{clean!r} is not among {strings}"
        assert re.fullmatch(r"1 of [0-9,]+ hits\b.*", search(page, known)), known
        page.until("return !document.getElementById('story').hidden")
        assert known in page.text("#story")
    page.shot("hostile-search")


# ---- keyboard -----------------------------------------------------------------------------------------------------------------------

def test_the_keyboard_moves_the_timeline(open_page):
    page = open_page("demo")
    view = lambda: page.js("const v = gpushim.timeline.view(); return [v.begin, v.end]")
    page.js("gpushim.timeline.goto(0.3 * gpushim.data.span_ns, 0.5 * gpushim.data.span_ns)")
    width = lambda: view()[1] - view()[0]
    before = view()
    page.press("w", "w")
    assert width() < 0.5 * (before[1] - before[0])
    page.press("s", "s")
    assert view() == pytest.approx(before, rel=1e-6)
    page.press("d")
    assert view()[0] > before[0] and width() == pytest.approx(before[1] - before[0], rel=1e-6)
    page.press("a", "-", "+")
    assert view() == pytest.approx(before, rel=1e-6)
    page.press("n")
    first = page.js("return gpushim.timeline.selected().gap")
    page.until("return !document.getElementById('story').hidden")
    page.press("n", "p")
    assert page.js("return gpushim.timeline.selected().gap") == first and said(page).startswith(f"Gap {first} ")
    page.press("f")
    assert width() < before[1] - before[0]
    page.press("ESCAPE", "f")
    assert view() == [0, page.js("return gpushim.data.span_ns")]
    page.press("/")
    assert page.js("return document.activeElement.id") == "search"
    page.key("wasd")
    assert view() == [0, page.js("return gpushim.data.span_ns")], "letters in the box are text"
    page.press("ESCAPE", "?")
    assert page.find("dialog[open]").text.startswith("Keys")
    page.shot("demo-keys")
    page.press("ESCAPE")
    assert page.all("dialog[open]") == []


def test_all_is_reached_by_tab_and_seen_to_be(open_page):
    page = open_page("demo")
    count, seen = page.js("return document.querySelectorAll('button:not(:disabled), input, canvas[tabindex], summary, [tabindex=\"0\"], a[href]').length"), []
    for _ in range(2 * count):
        page.press("TAB")
        here = page.js("""const e = document.activeElement, s = getComputedStyle(e);
            return [e === document.body ? "" : e.id || e.className || e.textContent, s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1.5 || s.boxShadow !== "none"];""")
        if here[0] == "":
            break
        assert here[1], f"{here[0]}: its focus cannot be seen"
        seen.append(here[0])
    assert {"theme", "search", "timeline-lanes"} <= set(seen)


# ---- looks -------------------------------------------------------------------------------------------------------------------------

CONTRAST = """
const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
const parse = text => { const n = text.match(/[0-9.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
function behind(element) {
	const layers = [];
	for (let e = element; e; e = e.parentElement) {
		const c = parse(getComputedStyle(e).backgroundColor);
		layers.push(c);
		if (c[3] === 1) break;
	}
	return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
}
const low = [];
for (const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); walker.nextNode();) {
	const node = walker.currentNode, e = node.parentElement;
	if (!node.textContent.trim() || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
	const ground = behind(e), a = light(over(parse(getComputedStyle(e).color), ground)), b = light(ground);
	const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
	if (ratio < 4.5 && !e.closest(":disabled")) low.push(ratio.toFixed(2) + " " + node.textContent.trim().slice(0, 40));
}
return low;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["demo", "ranks"])
def test_text_can_be_read(open_page, made, kind, scheme):
    page = open_page(kind, dark=scheme == "dark")
    number, _, _ = longest(made(kind).report())
    page.js("gpushim.bus.emit('select', { device: gpushim.gap(arguments[0]).device, gap: arguments[0] })", number)
    page.until("return !document.getElementById('story').hidden")
    assert page.js(CONTRAST) == []


def test_the_button_changes_the_scheme(open_page):
    page = open_page("demo", dark=False)
    ground = lambda: page.js("return getComputedStyle(document.body).backgroundColor")
    light = ground()
    page.find("#theme").click()
    assert page.js("return document.documentElement.dataset.theme") == "dark" and ground() != light
    page.find("#theme").click()
    assert page.js("return document.documentElement.dataset.theme") == "light" and ground() == light


def test_the_demo_is_that_of_make_demo(root):
    """scripts/demo.sh records the same, and makes its page."""
    script = (root / "scripts/demo.sh").read_text().replace("\\\n", " ")
    (options,) = re.findall(r'python3 "\$train" --steps "\$\{STEPS:-30\}" (.*)', script)
    assert options.split() == [str(word) for word in page_traces.DEMO]
    assert '"$build/gpushim" report "$out" --html "$page"\n' in script
