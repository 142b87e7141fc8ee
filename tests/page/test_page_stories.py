# SPDX-License-Identifier: BSD-2-Clause
"""The page's panels beside the timeline, by mouse and keyboard: the strip of steps, the map of ranks, advice, the story of what was chosen."""

import subprocess

import figures
import page_data
import page_traces
import pytest

LONGEST = "return gpushim.data.gaps.slice().sort((a, b) => gpushim.length(b) - gpushim.length(a) || a.gap - b.gap)[0].gap"


@pytest.fixture
def demo(open_page):
    return open_page("demo")


def story(page):
    page.until("return !document.getElementById('story').hidden")
    return page.text("#story")


def step_text(page, name):
    """The story, once it is of this step."""
    page.until("return document.querySelector('#story h2') && document.querySelector('#story h2').textContent === arguments[0]", name)
    return page.text("#story")


def check_step(text, step, usual):
    length = step["end_ns"] - step["begin_ns"]
    assert figures.duration(length) in text and f"idle {figures.duration(step['idle_ns'])}, {figures.percent(step['idle_ns'], length)}" in text
    for one, ns in step["causes"].items():
        assert not ns or f"{figures.duration(ns)} {figures.percent(ns, step['idle_ns'])}" in text


def test_the_keyboard_goes_from_step_to_step(demo, made):
    """Each tells its figures, which are the report's, and the timeline shows it."""
    report = made("demo").report()
    demo.js("document.querySelector('.strip').focus()")
    for number in range(3):
        demo.press("ARROW_RIGHT")
        step = report["steps"][number]
        check_step(step_text(demo, step["name"].capitalize()), step, report["steps_usual"][0])
        begin, end = demo.js("const v = gpushim.timeline.view(); return [v.begin, v.end]")
        at = step["begin_ns"] - int(demo.js("return gpushim.data.zero_ns"))
        assert begin <= at and at + step["end_ns"] - step["begin_ns"] <= end
    demo.press("ARROW_LEFT")
    step_text(demo, report["steps"][1]["name"].capitalize())


def test_a_click_on_a_step(demo, made):
    """Where it is drawn; its longest gap leads to that gap's story."""
    steps = made("demo").report()["steps"]
    demo.js("document.querySelector('#steps').scrollIntoView()")
    left, top, width, height = demo.js("const b = document.querySelector('.strip').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]")
    number = len(steps) // 2
    demo.click(left + width * (number + 0.5) / len(steps), top + height / 2)
    text = step_text(demo, steps[number]["name"].capitalize())
    assert "Its longest gaps" in text
    button = demo.find("#story .plain button")
    name = button.text
    button.click()
    demo.until("return document.querySelector('#story h2').textContent.toLowerCase() === arguments[0]", name)


def test_a_drag_shows_some_of_the_steps(demo, made):
    from selenium.webdriver.common.action_chains import ActionChains

    steps = made("demo").report()["steps"]
    strip = demo.find(".strip")
    demo.js("document.querySelector('#steps').scrollIntoView()")
    width = strip.size["width"]
    ActionChains(demo.driver, duration=0).move_to_element_with_offset(strip, int(-width / 4), 0).click_and_hold().move_by_offset(int(width / 4), 0).release().perform()
    assert not demo.find("#story").is_displayed(), "a drag is no click"
    demo.click(*demo.js("const b = document.querySelector('.strip').getBoundingClientRect(); return [b.left + 2, b.top + b.height / 2]"))
    title = demo.until("return document.querySelector('#story h2') && document.querySelector('#story h2').textContent").lower()
    assert abs([step["name"] for step in steps].index(title) - len(steps) / 4) <= 1


def test_outliers_are_those_of_the_report(open_page, made):
    """The longest, with what there is more of than usual: what report --json says of them."""
    page, report = open_page("ranks"), made("ranks").report()
    for strip, usual in zip(page.all(".steps"), report["steps_usual"], strict=True):
        rows = [row.text for row in strip.find_elements("css selector", ".outliers li") if "marks these" not in row.text]
        assert f"{usual['steps']:,} steps, half of them within {figures.duration(usual['median']['length_ns'])};" in strip.text
        worst = sorted(usual["outliers"], key=lambda one: -one["excess_ns"])[:len(rows)]
        assert rows and len(rows) <= len(usual["outliers"])
        for row, one in zip(rows, worst):
            more = {**one["causes_excess_ns"], "device at work": one["busy_excess_ns"]}
            name, ns = max(more.items(), key=lambda item: item[1])
            assert f" took {figures.duration(one['excess_ns'])} longer than half of them: {name} {figures.duration(ns)}" in row


def test_the_map_of_ranks_by_keyboard(open_page, made):
    """The rank that comes late, in the step that takes longest: its figures; Enter shows its longest gap."""
    page = open_page("ranks")
    (late,) = [row for row in page.js("return gpushim.data.ranks.rows") if row["rank"] == 3]
    values = {key: page_data.column(late[key]) for key in ("length", "idle", "wait", "late")}
    page.js("document.querySelector('.heat').focus()")
    page.press(*["ARROW_DOWN"] * 3, *["ARROW_RIGHT"] * 15)
    said = page.text("#ranks .said")
    assert said == (f"rank 3 · node-b, step 15 · the others waited for it {figures.duration(values['late'][15])} · it waited for others {figures.duration(values['wait'][15])}"
                    f" · idle {figures.duration(values['idle'][15])} · length of the step {figures.duration(values['length'][15])}")
    page.press("ENTER")
    text = story(page)
    assert "of device 3" in text and "input-storage" in text
    straggler = made("ranks").report()["ranks"]["stragglers"][0]
    assert f"rank 3 (node-b, device 3) came last to {100 * straggler['share']:.1f} % of the collectives" in page.text("#ranks .straggler")
    page.shot("ranks-map")


def test_measures_of_the_map(open_page):
    """Another measure paints another picture, and says what its darkest colour means."""
    page = open_page("ranks")
    seen = set()
    for button in page.all("#ranks .choice button"):
        button.click()
        assert [b.get_attribute("aria-pressed") for b in page.all("#ranks .choice button")].count("true") == 1
        page.js("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        seen.add((page.js("return document.querySelector('.heat').toDataURL()"), page.text("#ranks .ramp-place")))
    assert len({picture for picture, _ in seen}) == len(seen) == 4


def test_advice_leads_to_its_proof(demo, made):
    """The first one stands in the head, too."""
    first = made("demo").report()["advice"][0]
    assert first["text"] in demo.text("#answer .first") and first["text"] in demo.text("#advice .advice")
    assert f"at most {100 * first['ceiling']:.1f} % faster" in demo.text("#advice .advice .gain") or first["ceiling"] >= 1
    button = demo.find("#advice .evidence button")
    number = demo.js("return /gap (\\d+)/.exec(arguments[0].parentElement.textContent)[1]", button)
    button.click()
    assert story(demo).startswith(f"Gap {number}")


def test_a_story_leads_to_the_next(demo, made):
    """By time, among those that are told; the list marks which it is; Esc ends it."""
    gaps = sorted(demo.js("return gpushim.data.gaps.map(g => [g.begin_ns, g.gap])"))
    number = demo.js(LONGEST)
    at = [gap for _, gap in gaps].index(number)
    demo.js("gpushim.bus.emit('select', { device: 0, gap: arguments[0] })", number)
    for label, by in (("the gap behind", 1), ("the gap before", 0)):
        demo.find(f"#story button[aria-label='{label}']").click()
        demo.until("return document.querySelector('#story h2').textContent === arguments[0]", f"Gap {gaps[at + by][1]}")
    assert [row.get_attribute("data-gap") for row in demo.all("#gaps tr.selected")] == [str(number)]
    demo.press("ESCAPE")
    assert not demo.find("#story").is_displayed() and demo.all("#gaps tr.selected") == []


def test_a_stack_opens(demo):
    """The statement is named in it, among whoever called it."""
    demo.js("gpushim.bus.emit('select', { device: 0, gap: arguments[0] })", demo.js(LONGEST))
    demo.find("#story details.held summary").click()
    named = demo.text("#story .stack .named")
    assert named.startswith("train.py:") and named in demo.text("#story details.held summary")


def test_a_part_that_fails_takes_no_other_with_it(build, gpushim, root, tmp_path, browser):
    """Here the data of the steps is not what it should be: its place says so, and all else is drawn."""
    import chromium

    trace = page_traces.written(build, tmp_path / "trace", (root / "tests/golden/nvtx-phases/trace.txt").read_bytes())
    subprocess.run([gpushim, "report", trace, "--html", tmp_path / "page.html"], check=True)
    before, steps = (tmp_path / "page.html").read_text().split('"steps":[{', 1)
    (tmp_path / "page.html").write_text(before + '"steps":[{' + steps.replace('"z":"', '"z":"!', 1))
    page = chromium.Page(browser, tmp_path / "page.html", build / "check/page").open()
    page.until("return document.documentElement.dataset.ready === 'true'")
    (trouble,) = page.all(".trouble")
    assert trouble.text.startswith("this part could not be drawn: ")
    assert page.all("#causes tbody tr") and page.all("#gaps tbody tr") and page.text("#trust")
