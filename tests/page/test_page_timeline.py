# SPDX-License-Identifier: BSD-2-Clause
"""The page's timeline under the pointer and the keyboard: what it shows then, and what it says. What it holds: test_page_lanes.py."""

import page_data
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

VIEW = "const v = gpushim.timeline.view(); return [v.begin, v.end]"
LANE = "return gpushim.timeline.lanes().findIndex(l => l.kind === arguments[0] && l.n > 0)"


@pytest.fixture
def ranks(open_page):
    return open_page("ranks")


def view(page):
    return page.js(VIEW)


def frame(page, element=".timeline-lanes"):
    page.js("document.querySelector('#timeline').scrollIntoView()")
    return page.js("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.left, b.top, b.width, b.height]", element)


def drag(page, begin, end, shift=False):
    from selenium.webdriver.common.actions.action_builder import ActionBuilder

    actions = ActionBuilder(page.driver, duration=0)
    if shift:
        actions.key_action.key_down(Keys.SHIFT)
        actions.pointer_action.pause(0)
    for move in (lambda a: a.move_to_location(*map(int, begin)), lambda a: a.pointer_down(), lambda a: a.move_to_location(*map(int, end)), lambda a: a.pointer_up()):
        actions.key_action.pause(0)
        move(actions.pointer_action)
    if shift:
        actions.pointer_action.pause(0)
        actions.key_action.key_up(Keys.SHIFT)
    actions.perform()
    page.js("gpushim.timeline.redraw()")


def wheel(page, x, y, by, **keys):
    page.js("document.querySelector('.timeline-lanes').dispatchEvent(new WheelEvent('wheel', Object.assign({ clientX: arguments[0], clientY: arguments[1],"
            "deltaY: arguments[2], bubbles: true, cancelable: true }, arguments[3]))); gpushim.timeline.redraw()", x, y, by, keys)


def click_item(page, lane, item):
    """As a person would: where it is drawn."""
    page.js("document.querySelector('#timeline').scrollIntoView()")
    place = page.js("return gpushim.timeline.place(arguments[0], arguments[1])", lane, item)
    page.click(place["x"], place["y"])
    return page.js("return gpushim.timeline.selected()")


def test_the_wheel_zooms_around_the_pointer(ranks):
    left, top, width, _ = frame(ranks)
    before = view(ranks)
    x = left + 190 + (width - 196) * 0.25
    wheel(ranks, x, top + 60, -300, ctrlKey=True)
    after = view(ranks)
    assert after[1] - after[0] < 0.6 * (before[1] - before[0])
    at = [begin + (end - begin) * 0.25 for begin, end in (before, after)]
    assert at[0] == pytest.approx(at[1], rel=1e-3), "what is under the pointer stays there"
    wheel(ranks, x, top + 60, 400)
    assert view(ranks) == after, "without Ctrl the page scrolls"
    wheel(ranks, x, top + 60, 100, shiftKey=True)
    moved = view(ranks)
    assert moved[0] > after[0] and moved[1] - moved[0] == pytest.approx(after[1] - after[0])
    for _ in range(20):
        wheel(ranks, x, top + 60, 3000, ctrlKey=True)
    assert view(ranks) == before, "no further out than all of it"


def test_a_drag_moves(ranks):
    span = ranks.js("return gpushim.data.span_ns")
    left, top, width, _ = frame(ranks)
    ranks.js("gpushim.timeline.goto(arguments[0], arguments[1])", 0.4 * span, 0.5 * span)
    drag(ranks, (left + 600, top + 60), (left + 500, top + 60))
    begin, end = view(ranks)
    assert begin == pytest.approx(0.4 * span + 0.1 * span * 100 / (width - 196), rel=1e-3) and end - begin == pytest.approx(0.1 * span)
    assert ranks.js("return gpushim.timeline.selected()") is None, "a drag is no click"


def test_a_marked_stretch_says_what_was_idle_in_it(ranks, made):
    left, top, width, _ = frame(ranks)
    drag(ranks, (left + 190, top + 60), (left + width - 6, top + 60), shift=True)
    said = ranks.text(".timeline-said")
    report = made("ranks").report()
    assert said.startswith("marked: ")
    for device in report["devices"]:
        assert f"device {device['device']} · " in said
    import figures

    first = report["devices"][3]
    (line,) = [line for line in said.splitlines() if line.startswith("device 3")]
    assert f"idle {figures.duration(first['idle_ns'])}" in line and f"input-storage {figures.duration(first['causes']['input-storage'])}" in line
    ranks.js("gpushim.timeline.goto(0, 1000)")
    ranks.press("f")
    begin, end = view(ranks)
    assert begin < 1e6 and end > 0.98 * ranks.js("return gpushim.data.span_ns"), "f shows what is marked"
    ranks.press("ESCAPE")
    assert not ranks.text(".timeline-said").startswith("marked")


def test_work_leads_to_its_launch_and_back(ranks, made):
    data = page_data.of_page(made("ranks").path)
    stream, calls = ranks.js(LANE, "stream"), ranks.js(LANE, "thread")
    work, launches = (page_data.columns(data["lanes"][lane]["items"]) for lane in (stream, calls))
    found = click_item(ranks, stream, 40)
    assert (found["lane"], found["item"], found["flows"]) == (stream, 40, 1)
    name = data["strings"][work["s"][40]]
    assert ranks.text(".timeline-said").startswith(name) and "the line leads from its launch" in ranks.text(".timeline-said")
    launch = launches["b"].index(work["b"][40] - (work["l"][40] - 1))
    found = click_item(ranks, calls, launch)
    assert (found["item"], found["flows"]) == (launch, 1) and "cuLaunchKernel" in ranks.text(".timeline-said")


def test_groups_fold(ranks):
    left, top, _, _ = frame(ranks)
    lanes = lambda: [lane["y"] for lane in ranks.js("return gpushim.timeline.lanes()") if lane["group"].startswith("device 0")]
    assert min(lanes()) > 0
    ranks.click(left + 60, top + 10)
    ranks.js("gpushim.timeline.redraw()")
    assert set(lanes()) == {-1}
    ranks.click(left + 60, top + 10)
    ranks.js("gpushim.timeline.redraw()")
    assert min(lanes()) > 0


def test_of_many_devices_the_one_that_matters_is_open(ranks):
    """With more devices than can be looked at together: the straggler's lanes and its process's, all others folded."""
    open_groups = "return gpushim.timeline.lanes().filter(l => l.y >= 0).map(l => l.group.split(' · ')[0]).filter((g, i, all) => all.indexOf(g) === i)"
    assert len(ranks.js(open_groups)) > 4
    straggler = ranks.js("return gpushim.data.report.ranks.stragglers[0].device")
    pid = next(rank["pid"] for rank in ranks.js("return gpushim.data.report.ranks.ranks") if rank["device"] == straggler)
    ranks.js("""
        const data = gpushim.data, section = document.createElement("section");
        for (let n = 10; n < 16; n++) { /* more devices than are open together */
            const strings = data.strings.push("device " + n + " · H200 · rank " + n) - 1;
            data.lanes.push(Object.assign({}, data.lanes.find(l => l.kind === "idle"), { group: strings, device: n }));
        }
        document.querySelector("#timeline").replaceWith(section);
        return gpushim.panels.find(p => p.id === "timeline").make(section, data, gpushim.bus);""")
    ranks.until("return gpushim.timeline.lanes().every(l => l.n > 0)")
    ranks.js("gpushim.timeline.redraw()")
    assert ranks.js(open_groups) == [f"device {straggler}", f"process {pid}"]


def test_arrows_go_from_lane_to_lane_and_stops_from_item_to_item(ranks):
    ranks.find(".timeline-lanes").click()
    ranks.press("ESCAPE", "ARROW_DOWN")
    first = ranks.js("return gpushim.timeline.selected()")
    ranks.press("ARROW_DOWN")
    second = ranks.js("return gpushim.timeline.selected()")
    assert second["lane"] > first["lane"]
    ranks.press(".")
    third = ranks.js("return gpushim.timeline.selected()")
    assert (third["lane"], third["item"]) == (second["lane"], second["item"] + 1) or third["gap"] is not None
    begin, end = view(ranks)
    assert begin <= third["begin"] and third["end"] <= end, "what is chosen is shown"


def test_an_address_of_a_canvas(ranks):
    """Who cannot see it hears what it is, and what is chosen in it."""
    canvas = ranks.find(".timeline-lanes")
    assert canvas.get_attribute("tabindex") == "0" and canvas.get_attribute("aria-label").startswith("timeline")
    assert ranks.find(f"#{canvas.get_attribute('aria-describedby')}").get_attribute("aria-live") == "polite"
    assert all(button.get_attribute("aria-label") for button in ranks.driver.find_elements(By.CSS_SELECTOR, ".timeline-bar button"))


@pytest.mark.parametrize("begin, end, texts, base", [
    (0, 10e9, ["0 s", "1 s", "2 s"], ""), (0, 4.6e9, ["0.0 s", "0.5 s", "1.0 s"], ""), (0, 120, ["0 ns", "10 ns", "20 ns"], ""), (0, 600e9, ["0 s", "50 s", "100 s"], ""),
    (0, 5400e9, ["0 min", "10 min", "20 min", "30 min", "40 min", "50 min", "1 h", "1 h 10 min"], ""), (0, 40 * 86400e9, ["0 min", "96 h"], ""),
    (1.04e9, 1.1e9, ["1040 ms", "1045 ms"], ""), (3600e9, 3600e9 + 500e3, ["+0 us", "+50 us", "+100 us"], "3600.00 s")])
def test_marks_of_the_axis(ranks, begin, end, texts, base):
    axis = ranks.js("return gpushim.timeline_marks(arguments[0], arguments[1], 1200, 92)", begin, end)
    assert [mark["text"] for mark in axis["marks"]][:len(texts)] == texts and axis["base_text"] == base
    assert len({mark["text"] for mark in axis["marks"]}) == len(axis["marks"]) <= 13
    assert all(begin - 1 <= mark["ns"] <= end for mark in axis["marks"])


def test_pixels_hold_all_of_the_time(ranks):
    """What is added up pixel by pixel is what the items say: no view loses or invents any."""
    found = ranks.js("""
        const data = gpushim.data, out = [];
        return (async () => {
            for (let i = 0; i < data.lanes.length; i++) {
                const lane = new gpushim.timeline_model.Lane(data, i);
                await lane.load();
                let sum = 0, whole = 0;
                for (let k = 0; k < lane.n; k++) whole += lane.weight(k);
                for (let k = 0; k < 997; k++)
                    for (const [, ns] of lane.within(data.span_ns * k / 997, data.span_ns * (k + 1) / 997)) sum += ns;
                out.push([lane.kind, sum, whole]);
            }
            return out;
        })();""")
    assert len(found) > 20
    for kind, pixels, whole in found:
        assert pixels == pytest.approx(whole, rel=1e-4, abs=2), kind


def test_short_columns_are_read_as_the_browser_reads_them(open_page):
    """By our own code and by the browser's: every column of a page, whatever its length, and what zlib makes of random and of equal bytes."""
    import base64
    import random
    import zlib

    page, chance = open_page("demo"), random.Random(7)
    texts = [bytes(chance.randrange(top) for _ in range(n)) for n in (0, 1, 2, 100, 5000) for top in (1, 2, 20, 256)]
    texts += [bytes(i * i >> 3 & 255 for i in range(n)) for n in (300, 40000)] + [b"abc" * 30000]
    packed = [base64.b64encode(zlib.compress(text, level)).decode() for text in texts for level in (0, 1, 6, 9)]
    wrong, looked = page.js("""
        const found = [], columns = [...arguments[0]];
        const look = value => {
            if (value && typeof value === "object") typeof value.z === "string" ? columns.push(value.z) : Object.values(value).forEach(look);
        };
        look(gpushim.data);
        return (async () => {
            for (const base64 of columns) {
                const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
                const theirs = new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
                const ours = gpushim.inflate_short(bytes);
                if (ours.length !== theirs.length || ours.some((v, i) => v !== theirs[i])) found.push([base64.slice(0, 60), ours.length, theirs.length]);
            }
            return [found, columns.length];
        })();""", packed)
    assert wrong == [] and looked > len(packed) + 20


def test_sums_of_any_number_of_items(ranks):
    """Against adding up one by one, at any two instants; and what looks from a place on finds what looks at all."""
    wrong = ranks.js("""
        const { Lane, first } = gpushim.timeline_model, wrong = [];
        let seed = 1;
        const random = n => (seed = seed * 16807 % 2147483647) % n;
        for (const n of [1, 2, 15, 16, 17, 31, 32, 33, 48, 64, 100, 160]) {
            const lane = Object.create(Lane.prototype), b = new Float64Array(n), d = new Float64Array(n), k = new Uint8Array(n);
            let at = 0;
            for (let i = 0; i < n; i++) {
                b[i] = at += random(20);
                at += d[i] = random(3) ? random(30) : 0;
                k[i] = random(3);
            }
            Object.assign(lane, { b, d, k, n, e: null, v: null });
            lane.sum_up();
            for (let round = 0; round < 60; round++) {
                const t0 = random(at + 20) - 10, t1 = t0 + random(at + 20);
                const naive = [0, 0, 0];
                for (let i = 0; i < n; i++)
                    naive[k[i]] += Math.max(0, Math.min(t1, b[i] + d[i]) - Math.max(t0, b[i]));
                const found = [0, 0, 0];
                for (const [c, ns] of lane.within(t0, t1)) found[c] = ns;
                if (naive.some((v, c) => Math.abs(v - found[c]) > 1e-6)) wrong.push([n, t0, t1, naive, found]);
                const whole = lane.after(t1), low = lane.after(t0);
                if (lane.after(t1, low) !== whole || whole > n) wrong.push([n, t0, t1, low, whole]);
            }
        }
        return wrong;""")
    assert wrong == []


def test_a_search_finds_what_was_merged(open_page):
    """A name that no item has any more, as others ran longer around it: its longest one's place."""
    page = open_page("many")
    found = page.js("""
        const data = gpushim.data, stream = data.lanes.findIndex(l => l.kind === "stream"), lane = new gpushim.timeline_model.Lane(data, stream);
        return lane.load().then(() => {
            const begin = lane.b[5000] + 1, strings = data.strings;
            strings.push("rare_kernel");
            data.lanes[stream].names.push([strings.length - 1, 7, begin, 1]);
            return [gpushim.timeline.search("rare_kernel"), document.querySelector(".timeline-found").textContent];
        });""")
    assert found == [1, "1 hit; 7 with those drawn as one with others"]
    page.find("#search").send_keys(Keys.ENTER)
    assert page.js("return gpushim.timeline.selected().item") == 5000


def test_a_million_are_drawn_by_pixels(open_page):
    """Without times, which a busy machine spoils: so many boxes and columns are drawn, whatever the number of items."""
    page = open_page("many")
    page.js("""window.drawn = 0;
        const own = CanvasRenderingContext2D.prototype.fillRect;
        CanvasRenderingContext2D.prototype.fillRect = function (...all) { drawn++; own.apply(this, all); };""")
    for share in (1, 0.1, 0.001):
        drawn = page.js("drawn = 0; gpushim.timeline.goto(0, gpushim.data.span_ns * arguments[0]); drawn = 0; gpushim.timeline.redraw(); return drawn", share)
        width, lanes = page.js("return [document.querySelector('.timeline-lanes').width, gpushim.timeline.lanes().length]")
        assert 0 < drawn < 4 * width * lanes
    assert page.js("return gpushim.timeline.items()") > 1_000_000
