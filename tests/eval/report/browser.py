"""A headless Chromium for tests, through its own debugging protocol; it listens on loopback only."""

import asyncio
import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import aiohttp
import axe_core_python
import pytest

AXE = Path(axe_core_python.__file__).parent / "axe.min.js"
"""The accessibility checker."""

PATIENCE = 120
"""Seconds for anything to happen: machines are busy."""


def chromium():
    """The program, or None where there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def may_be_missing():
    """Where G2D2_BROWSER is `required`, as in CI, a browser that is missing fails tests instead of skipping them."""
    return os.environ.get("G2D2_BROWSER") != "required"


NEEDS_BROWSER = [
    pytest.mark.skipif(chromium() is None and may_be_missing(), reason="no Chromium here"),
    pytest.mark.timeout(600),
]
"""Marks of modules that open pages."""


class Navigated(Exception):
    """The page that was asked is being left for another one."""


class Browser:
    """One browser with one page."""

    def __init__(self, folder, dark=False):
        assert chromium() is not None, "G2D2_BROWSER is required, and no Chromium is on PATH"
        self.loop = asyncio.new_event_loop()
        self.problems, self.requests, self._number = [], [], 0
        words = [chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--no-first-run", "--disable-extensions", "--disable-background-networking",
                 "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"]  # fmt: skip
        environment = os.environ | {"HOME": str(folder)}
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        port = self._port(Path(folder, "DevToolsActivePort"))
        self._do(self._connect(port))
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[feature])

    def _port(self, file):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if file.exists() and len(lines := file.read_text().split()) == 2:
                return int(lines[0])
            time.sleep(0.05)
        raise TimeoutError("Chromium did not start")

    async def _connect(self, port):
        self.session = aiohttp.ClientSession()
        async with self.session.get(f"http://127.0.0.1:{port}/json") as answer:
            page = next(target for target in await answer.json() if target["type"] == "page")
        self.socket = await self.session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0)

    def _do(self, work):
        return self.loop.run_until_complete(asyncio.wait_for(work, PATIENCE))

    def send(self, method, **params):
        """Call a method of the protocol and return its result; what the page says meanwhile is kept."""
        return self._do(self._call(method, params))

    async def _call(self, method, params):
        self._number += 1
        await self.socket.send_json({"id": self._number, "method": method, "params": params})
        while True:
            message = json.loads((await self.socket.receive()).data)
            if message.get("id") == self._number:
                if "navigated" in message.get("error", {}).get("message", ""):
                    raise Navigated
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def _note(self, message):
        kind, params = message.get("method"), message.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"].get("exception", {}).get("description", str(params)))
        elif kind == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(str([one.get("description", one.get("value")) for one in params["args"]]))
        elif kind == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"])
        elif kind == "Network.requestWillBeSent" and not params["request"]["url"].startswith("data:"):
            self.requests.append(params["request"]["url"])

    def size(self, width, height, phone=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def open(self, path):
        self.send("Page.navigate", url=Path(path).as_uri())
        self.wait("document.documentElement?.dataset.ready === 'true'")

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, condition):
        end = time.monotonic() + PATIENCE
        while not self._holds(condition):
            assert time.monotonic() < end, f"never true: {condition}"
            time.sleep(0.05)

    def _holds(self, condition):
        try:
            return self.run(condition)
        except Navigated:  # asked between two pages
            return False

    def choose(self, name, value):
        """As a reader does with a select element."""
        self.run(f"(() => {{ const s = document.getElementById({name!r}); s.value = {value!r};"
                 "s.dispatchEvent(new Event('change', {bubbles: true})); })()")  # fmt: skip
        self.wait("document.documentElement.dataset.ready === 'true'")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            text = "\r" if key == "Enter" and kind == "keyDown" else ""
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, text=text,
                      windowsVirtualKeyCode={"Enter": 13, "Escape": 27, "Tab": 9}[key])  # fmt: skip

    def screenshot(self, path, whole=False):
        answer = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(answer["data"]))

    def close(self):
        self._do(self.socket.close())
        self._do(self.session.close())
        self.loop.close()
        self.process.terminate()
        self.process.wait(PATIENCE)

    def nothing_went_wrong(self):
        """The console is empty and nothing was fetched."""
        self.run("0")  # what the page said last has then arrived
        assert self.problems == []
        assert [url for url in self.requests if not url.startswith("file:")] == []


def count(browser, selector):
    return browser.run(f"document.querySelectorAll({selector!r}).length")


def table(browser, figure):
    """The numbers under a chart, as its transforms made them."""
    lines = f"[...document.querySelectorAll('{figure} details tbody tr')]"
    return browser.run(f"{lines}.map((line) => [...line.children].map((node) => node.textContent))")


def caption(browser, figure):
    return browser.run(f"document.querySelector('{figure} figcaption').textContent")
