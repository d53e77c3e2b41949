"""Headless Chromium for the tests: its DevTools protocol over a pipe, so that neither a port nor a
package is needed. `open_page` loads a file and collects console messages, exceptions, violations of
the page's policy and requests.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
    "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 120.0  # seconds for one answer, on machines with many jobs


def find_chromium() -> str | None:
    """The program, or None where it is not installed."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """A browser process; `open_page` gives pages."""

    def __init__(self, program: str, profile: Path) -> None:
        read_theirs, self._write = os.pipe()
        self._read, write_theirs = os.pipe()
        arguments = [program, *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        # the protocol is spoken on descriptors 3 (to the browser) and 4 (from it)
        shell = f'exec "$@" 3<&{read_theirs} 4>&{write_theirs}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *arguments],
            pass_fds=(read_theirs, write_theirs),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(profile)},
        )
        os.close(read_theirs)
        os.close(write_theirs)
        self._buffer, self._last = b"", 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send one command and wait for its answer; events are kept."""
        self._last += 1
        number = self._last
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self._next(until)
            if answer.get("id") != number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def wait(self, method: str, session: str) -> dict[str, Any]:
        """The first event of this name in the session, past or coming."""
        until = time.monotonic() + PATIENCE
        while True:
            for event in self.events:
                if event.get("method") == method and event.get("sessionId") == session:
                    return event["params"]
            self.events.append(self._next(until))

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready = select.select([self._read], [], [], max(0.0, until - time.monotonic()))[0]
            chunk = os.read(self._read, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError("the browser does not answer")
            self._buffer += chunk
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def open_page(
        self, path: Path, *, width: int = 1200, height: int = 900, dark: bool = False
    ) -> Page:
        """Load a file as a reader would and wait until it is drawn."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        page = Page(self, attached["sessionId"], path)
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            page.call(f"{domain}.enable")
        phone = width < 600
        page.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=phone,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        page.call("Page.navigate", url=path.absolute().as_uri())
        self.wait("Page.loadEventFired", page.session)
        return page

    def close(self) -> None:
        """End the process that was started here."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)


class Page:
    """One tab."""

    def __init__(self, browser: Chromium, session: str, path: Path) -> None:
        self._browser, self.session, self.path = browser, session, path

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command to this tab."""
        return self._browser.call(method, self.session, **parameters)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of the page's script; an exception there is one here."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            detail = answer["exceptionDetails"]
            raise RuntimeError(detail.get("exception", {}).get("description", detail["text"]))
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """A key on the keyboard."""
        text = {"text": "\r"} if key == "Enter" else {}
        codes = {"Enter": 13, "Tab": 9, "ArrowRight": 39, "ArrowLeft": 37, "ArrowUp": 38}
        for kind in ("keyDown", "keyUp"):
            pressed = {"type": kind, "key": key, "code": key} | (text if kind == "keyDown" else {})
            self.call("Input.dispatchKeyEvent", windowsVirtualKeyCode=codes.get(key, 0), **pressed)

    def move_to(self, x: float, y: float) -> None:
        """The pointer to this place of the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def _seen(self, method: str) -> list[dict[str, Any]]:
        self.evaluate("0")  # events that were on their way have arrived after an answer
        return [
            event["params"]
            for event in self._browser.events
            if event.get("method") == method and event.get("sessionId") == self.session
        ]

    def complaints(self) -> list[str]:
        """Console errors and warnings, exceptions, log entries and blocked resources."""
        console = [
            f"console.{said['type']}: {[part.get('value') for part in said['args']]}"
            for said in self._seen("Runtime.consoleAPICalled")
            if said["type"] in ("error", "warning", "assert")
        ]
        thrown = [
            said["exceptionDetails"]["text"] for said in self._seen("Runtime.exceptionThrown")
        ]
        logged = [
            said["entry"]["text"]
            for said in self._seen("Log.entryAdded")
            if said["entry"]["level"] in ("error", "warning")
        ]
        issues = [said["issue"]["code"] for said in self._seen("Audits.issueAdded")]
        return console + thrown + logged + [code for code in issues if "Policy" in code]

    def requests(self) -> list[str]:
        """Addresses asked for beside the page itself; data inside the page are no request."""
        asked = [said["request"]["url"] for said in self._seen("Network.requestWillBeSent")]
        own = self.path.absolute().as_uri()
        return [url for url in asked if url != own and not url.startswith(("data:", "blob:"))]

    def screenshot(self, path: Path, *, whole: bool = True) -> Path:
        """A picture of the page, to the bottom."""
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))
        return path

    def close(self) -> None:
        """Close the tab."""
        self.call("Page.close")
