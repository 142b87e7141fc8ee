# SPDX-License-Identifier: BSD-2-Clause
"""A headless Chromium that opens a page from file:// with the network cut off, and keeps all that goes wrong in it."""

import json
import shutil
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

SECONDS = 90  # a page that is not drawn by then hangs; a busy machine is slow

# Before any script of the page: what the console is told and what nobody caught.
WATCH = """
window.gone = [];
const tell = what => (...all) => { window.gone.push(what + ": " + all.map(one => one && one.stack || String(one)).join(" ")); };
for (const level of ["error", "warn", "assert"]) {
	const own = console[level];
	console[level] = (...all) => { if (level !== "assert" || !all[0]) tell("console." + level)(...all); own.apply(console, all); };
}
addEventListener("error", event => tell("error")(event.error || event.message));
addEventListener("unhandledrejection", event => tell("rejection")(event.reason));
addEventListener("securitypolicyviolation", event => tell("policy")(event.violatedDirective, event.blockedURI, event.sourceFile + ":" + event.lineNumber));
for (const name of ["alert", "confirm", "prompt", "open"])
	window[name] = (...all) => { tell("window." + name)(...all); return null; };
"""


def start(folder: Path):
    """folder: for its profile and the driver's log."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run", "disable-background-networking",
                 "disable-component-update", "disable-sync", "disable-extensions", "hide-scrollbars", "force-device-scale-factor=1",
                 "force-color-profile=srgb", "host-resolver-rules=MAP * ~NOTFOUND", f"user-data-dir={folder / 'profile'}"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"), log_output=str(folder / "chromedriver.log"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(SECONDS)
    driver.set_page_load_timeout(SECONDS)
    watch(driver)
    return driver


def watch(driver):
    """The pages of the tab that it is at."""
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})


class Page:
    """A page that is open and drawn."""

    def __init__(self, driver, path: Path, shots: Path):
        self.driver, self.path, self.shots = driver, path, shots

    def open(self, width=1400, height=900, dark=False):
        self.driver.get("about:blank")
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.size(width, height)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}, {"name": "prefers-reduced-motion", "value": "reduce"}]})
        self.driver.get(self.path.as_uri())
        self.until("return document.documentElement.dataset.ready === 'true' || window.gone.length > 0")
        return self

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def js(self, script, *args):
        return self.driver.execute_script(script, *args)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector="body"):
        return self.find(selector).text

    def until(self, script, *args):
        """The script's value as soon as it is true."""
        return WebDriverWait(self.driver, SECONDS, 0.02).until(lambda _: self.js(script, *args), f"never so: {script}; {self.troubles()}")

    def press(self, *keys):
        for key in keys:
            self.key(getattr(Keys, key, key))

    def key(self, key):
        webdriver.ActionChains(self.driver, duration=0).send_keys(key).perform()

    def click(self, x, y):
        """At a place of the window."""
        actions = ActionBuilder(self.driver, duration=0)
        actions.pointer_action.move_to_location(int(x), int(y))
        actions.pointer_action.click()
        actions.perform()

    def troubles(self):
        """What went wrong since it was opened."""
        seen = self.js("return window.gone || []")
        return seen + [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """The addresses that were asked for, but for the page itself and what it has in itself."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith(("data:", "blob:", "about:")) and url.partition("#")[0] != self.path.as_uri()]

    def shot(self, name, whole=False):
        """The window, or the whole page, as a picture."""
        self.shots.mkdir(parents=True, exist_ok=True)
        if whole:
            height = self.js("return document.documentElement.scrollHeight")
            width, before = self.js("return [innerWidth, innerHeight]")
            self.size(width, min(height, 12000))
            self.js("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.driver.get_screenshot_as_file(str(self.shots / f"{name}.png"))
        if whole:
            self.size(width, before)
        return self.shots / f"{name}.png"
