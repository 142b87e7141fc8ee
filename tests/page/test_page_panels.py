# SPDX-License-Identifier: BSD-2-Clause
"""The page's tree of idle time and its device memory under the pointer and the keyboard."""

import memory_trace
import page_data
import page_traces
import pytest
from conftest import Made

BOXES = "return gpushim.flame.boxes()"


def settle(page):
    page.js("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def place(page, selector):
    page.js("document.querySelector(arguments[0]).scrollIntoView({ block: 'center' })", selector)
    return page.js("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.left, b.top, b.width, b.height]", selector)


def move(page, x, y):
    from selenium.webdriver.common.actions.action_builder import ActionBuilder  # only where there is a browser

    actions = ActionBuilder(page.driver, duration=0)
    actions.pointer_action.move_to_location(int(x), int(y))
    actions.perform()


def box_of(page, name):
    settle(page)
    return max((b for b in page.js(BOXES) if b["name"] == name), key=lambda b: b["w"])


def seen_at(page, box):
    left, top, _, _ = place(page, "canvas.flame")
    return left + box["x"] + min(box["w"] / 2, 30), top + box["y"] + 9


@pytest.fixture
def python_page(build, gpushim, root, tmp_path, browser):
    """Opens the page of a hand-written trace, and looks at its troubles in the end."""
    import chromium

    opened = []

    def get(text):
        made = Made(gpushim, page_traces.written(build, tmp_path / "trace", text), tmp_path / "page.html")
        opened.append(chromium.Page(browser, made.path, build / "check/page").open())
        return opened[-1], page_data.of_page(made.path)

    yield get
    for page in opened:
        assert page.troubles() == []
        assert page.requests() == []


@pytest.fixture
def stacks(python_page, root):
    return python_page((root / "tests/golden/stacks-python/trace.txt").read_bytes())


def test_flame_is_drawn_to_scale(stacks):
    page, data = stacks
    _, _, width, _ = place(page, "canvas.flame")
    settle(page)
    boxes, idle = page.js(BOXES), sum(d["idle_ns"] for d in data["report"]["devices"])
    assert boxes[0]["ns"] == idle and abs(boxes[0]["w"] - width) < 2
    assert all(abs(b["w"] - b["ns"] / idle * width) < 2 for b in boxes)
    assert {"device 0", "<module> (train.py:88)", "train (train.py:61)", "load_batch (train.py:41)", "host-sleep"} <= {b["name"] for b in boxes}


def test_flame_by_mouse(stacks):
    page, data = stacks
    box = box_of(page, "load_batch (train.py:41)")
    move(page, *seen_at(page, box))
    tip = page.until("return !document.querySelector('#tip').hidden && document.querySelector('#tip').textContent")
    assert tip.startswith("load_batch (train.py:41)") and f"({box['ns']:,} ns)" in tip and "host-sleep" in tip and "the program's own code" in tip
    page.click(*seen_at(page, box))
    settle(page)
    zoomed = box_of(page, "load_batch (train.py:41)")
    assert zoomed["w"] > 0.95 * place(page, "canvas.flame")[2] and page.js("return gpushim.flame.root()") == "load_batch (train.py:41)"
    page.click(*seen_at(page, box_of(page, "device 0")))  # what is above it leads back
    settle(page)
    assert page.js("return gpushim.flame.root()") == "device 0"


def test_flame_by_keyboard(stacks):
    page, _ = stacks
    page.js("document.querySelector('canvas.flame').focus()")
    said = "return document.querySelector('#flame .flame-said').textContent"
    assert page.js(said).startswith("all idle time")
    page.press("ARROW_DOWN", "ARROW_DOWN")
    assert page.js(said).startswith("<module> (train.py:88)")
    page.press("ENTER")
    assert page.js("return gpushim.flame.root()") == "<module> (train.py:88)"
    page.press("BACKSPACE")
    assert page.js("return gpushim.flame.root()") == "device 0"
    page.press("ESCAPE")
    assert page.js("return gpushim.flame.root()").startswith("idle: ")


def test_flame_leads_to_the_gap(stacks):
    """Of a part at full width, the gap with most of it."""
    page, data = stacks
    page.click(*seen_at(page, box_of(page, "load_batch (train.py:41)")))
    settle(page)
    (gap,) = {g["gap"] for g in data["gaps"] for cause in g["causes"] for held in cause["held"] if held.get("function") == "load_batch"}
    assert page.text("#flame .flame-where").startswith(f"longest: gap {gap} (")
    page.find("#flame .flame-where button").click()
    page.until("return document.querySelector('#story').textContent.includes('host-sleep')")
    page.js("gpushim.bus.emit('select', null); document.querySelector('canvas.flame').focus()")
    page.press("g")
    page.until("return !document.querySelector('#story').hidden && document.querySelector('#story').textContent.includes('host-sleep')")


def test_flame_finds_what_the_timeline_looks_for(stacks):
    page, data = stacks
    page.js("gpushim.bus.emit('search', 'LOAD_batch')")
    settle(page)
    text = page.text("#flame .flame-found")
    box, idle = box_of(page, "load_batch (train.py:41)"), sum(d["idle_ns"] for d in data["report"]["devices"])
    assert text == f"“load_batch”: 1 frame, {page.js('return gpushim.percent(arguments[0], arguments[1])', box['ns'], idle)} of idle time"
    page.js("gpushim.bus.emit('search', '')")
    settle(page)
    assert page.text("#flame .flame-found") == ""


@pytest.fixture
def memory(python_page):
    return python_page(memory_trace.text())


def test_memory_over_time(memory):
    page, data = memory
    (device,) = data["memory"]
    figures = {e.get_attribute("data-figure"): int(e.get_attribute("data-value")) for e in page.all("#memory [data-figure]")}
    assert figures == {"memory.0.peak_allocated_bytes": device["peak_allocated"], "memory.0.peak_reserved_bytes": device["peak_reserved"]}
    assert "Out of memory once." in page.text("#memory")
    assert "160.0 MiB were asked for." in page.text("#memory") and "In one piece what was free would have been enough." in page.text("#memory")
    left, top, width, _ = place(page, "canvas.memory-course")
    (mark,) = device["marks"]
    move(page, left + 74 + mark["until"] / data["span_ns"] * (width - 84), top + 100)
    tip = page.until("return !document.querySelector('#tip').hidden && document.querySelector('#tip').textContent")
    assert tip.startswith("out of memory, 385.9 ms") and "refused: cuMemAlloc_v2, 2 times" in tip and "in one piece what was free would have been enough" in tip
    move(page, left + 74 + 0.5 * (width - 84), top + 100)
    tip = page.until("const t = document.querySelector('#tip').textContent; return t.includes('fragmentation') && t")
    course = page_data.columns(device["course"])
    at = max(i for i in range(course["n"]) if course["t"][i] <= 0.5 * data["span_ns"])
    near = {page.js("return gpushim.bytes(arguments[0])", course["a"][i]) for i in range(at - 6, at + 7)}
    assert any(f"allocated {text}reserved" in tip for text in near), (tip, near)


def test_memory_map_by_mouse_and_keyboard(memory):
    page, data = memory
    (device,) = data["memory"]
    worst = device["worst"]
    cells = page_data.columns(worst["cells"])
    page.js("document.querySelector('canvas.memory-map').focus()")
    said = "return document.querySelector('#memory .flame-said').textContent"
    page.press("HOME")
    first = page.js(said)
    assert f"{worst['rows'][0]['address']} to " in first and "allocated of the driver" in first
    for _ in range(cells["k"].index(4)):
        page.driver.execute_script("document.querySelector('canvas.memory-map').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }))")
    assert page.js(said).startswith("66.0 MiB the largest free piece · 0x")
    left, top, _, _ = place(page, "canvas.memory-map")
    move(page, left + 130, top + 9)
    tip = page.until("const t = document.querySelector('#tip'); return !t.hidden && t.textContent.includes('in a range of') && t.textContent")
    assert f"at {worst['rows'][0]['address']}, 100.0 % of it allocated" in tip or worst["rows"][0]["used"] < worst["rows"][0]["bytes"]


def test_of_many_devices_those_in_trouble_come_first(python_page):
    lines = ["process 100 exited=1 end=90ms", "thread 100 main", *(f"device {k} uuid={k + 1}" for k in range(12)), "stream 1",
             "launch t=1000us..1002us stream=1 seq=1 kernel=step", "sync-stream t=1005us..4010us stream=1 seq=1"]
    lines += [f"alloc t={5000 + 10 * k}us..{5005 + 10 * k}us pointer={0x10000000 * (k + 1):#x} bytes={(k + 1) << 20} device={k}" for k in range(12)]
    page, _ = python_page("\n".join([*lines, "alloc t=7000us..7005us bytes=40M result=2 device=3"]) + "\n")
    shown = "return [...document.querySelectorAll('.memory-device')].map(e => Number(e.dataset.device))"
    assert page.js(shown) == [3, 11, 10, 9, 8, 7, 6, 5]
    page.find("#memory button.more").click()
    assert page.until(shown.replace("return ", "const list = ") + "; return list.length === 12 && list") == [3, 11, 10, 9, 8, 7, 6, 5, 4, 2, 1, 0]
