# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of the page rest on: whatever goes wrong in a page, and whatever it asks for, is seen."""

import pytest

SCRIPTS = {
    "console.error": "console.error('oh no')",
    "Error: thrown": "setTimeout(() => { throw new Error('thrown'); }, 0)",
    "rejection: Error: refused": "Promise.reject(new Error('refused'))",
    "window.alert: 1": "alert(1)",
    "policy: script-src": "document.body.setAttribute('onclick', 'oh()')",
}


@pytest.fixture
def opened(browser, tmp_path):
    import chromium

    def get(body, policy="default-src 'none'; script-src 'unsafe-inline'"):
        path = tmp_path / "page.html"
        path.write_text(f"<!DOCTYPE html><html data-ready='true'><meta charset='utf-8'><meta http-equiv='Content-Security-Policy' content=\"{policy}\">"
                        f"<body><p>text</p>{body}</body></html>")
        return chromium.Page(browser, path, tmp_path).open()

    return get


@pytest.mark.parametrize("said", SCRIPTS)
def test_trouble_is_seen(opened, said):
    policy = "default-src 'none'; script-src 'nonce-ours'" if said.startswith("policy") else "default-src 'none'; script-src 'unsafe-inline'"
    page = opened(f"<script nonce='ours'>{SCRIPTS[said]}</script>", policy)
    page.until("return window.gone.length")
    assert any(said in trouble for trouble in page.troubles())


def test_a_good_page_is_not_blamed(opened):
    page = opened("<script>console.log('fine')</script>")
    assert page.troubles() == [] and page.requests() == [] and page.text() == "text"


@pytest.mark.parametrize("asks", ["<img src='https://example.com/a.png'>", "<link rel=stylesheet href='other.css'>", "<script>fetch('other.json').catch(() => 0)</script>"])
def test_a_request_is_seen(opened, asks):
    page = opened(asks, "default-src *; script-src 'unsafe-inline'")
    page.until("return document.readyState === 'complete'")
    assert len(page.requests()) == 1


def test_keys_clicks_and_schemes_arrive(opened):
    page = opened("<script>addEventListener('keydown', e => document.body.append(' ' + e.key));"
                  "addEventListener('click', e => document.body.append(' ' + e.clientX + ',' + e.clientY))</script>")
    page.press("w", "ESCAPE", "ARROW_LEFT")
    page.click(40, 50)
    assert page.text().split() == ["text", "w", "Escape", "ArrowLeft", "40,50"]
    assert page.js("return matchMedia('(prefers-color-scheme: dark)').matches") is False
    assert page.open(dark=True).js("return matchMedia('(prefers-color-scheme: dark)').matches") is True
