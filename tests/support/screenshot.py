"""Take the screenshot of the README: a failed rollout of the demo, on Jaeger's own page.

`make screenshot` runs it. It needs the Jaeger of `make backends`, Chromium, and a build of Jaeger's
web page (https://github.com/jaegertracing/jaeger-ui, `npm ci && npm run build`), which the Go
module does not contain:

    JAEGER_UI_ASSETS=DIR    the folder of the build, with index.html in it
    CHROMIUM=PATH           by default /usr/bin/chromium
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from failgraph.readers import Trace, read
from real_backends import FOLDER, Jaeger, jaeger
from real_programs import HOW_TO_GET, find

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "jaeger.png"
ROLLOUT = "sandbox-killed"
WIDTH = 1280  # pixels: below that, names of spans are cut


def main() -> None:
    """Run the demo against a Jaeger of its own and save the page of one rollout."""
    assets = Path(os.environ.get("JAEGER_UI_ASSETS", ""))
    if not (assets / "index.html").is_file():
        sys.exit("JAEGER_UI_ASSETS must be a folder with a build of Jaeger's web page")
    if find("jaeger") is None:
        sys.exit(f"jaeger is missing: {HOW_TO_GET['jaeger']}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page = FOLDER / "jaeger" / "page.yaml"
        links = ROOT / "collector-config" / "jaeger-ui.json"
        variables = {"JAEGER_UI_ASSETS": str(assets), "JAEGER_UI": str(links)}
        with jaeger(folder, page, **variables) as backend:
            take_picture(root_cause_page(backend, run_demo(backend, folder / "traces.jsonl")))


def run_demo(backend: Jaeger, file: Path) -> Trace:
    """Run the demo, send its traces to `backend`, and return the trace of the rollout to show."""
    settings = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{backend.otlp_http}",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "FAILGRAPH_JAEGER_URL": backend.query,
    }
    command = [sys.executable, "-m", "failgraph", "demo", "-o", str(file)]
    subprocess.run(command, env={**os.environ, **settings}, stdout=subprocess.DEVNULL, check=True)
    (trace,) = [trace for trace in read(file).traces if ROLLOUT in trace.rollout_ids]
    return trace


def root_cause_page(backend: Jaeger, trace: Trace) -> str:
    """Return the address of the trace's page, opened at the span of the root cause."""
    (root,) = [event.event_id for event in trace.report.events.values() if event.cause_id is None]
    span_id = trace.failures[root].stands_on.span_id
    # Without "-span_id" the page also opens spans that only name this one in an attribute.
    return f"{backend.query}/trace/{trace.trace_id}?uiFind={span_id}%20-span_id"


def take_picture(address: str) -> None:
    """Open the page, expand the first event of the open span, and save the part down to its end."""
    chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 1600})
        page.goto(address)
        page.locator(".AccordianLogs--content [role=switch]").first.click()
        page.mouse.move(0, 0)  # else the row under the pointer is highlighted
        page.wait_for_timeout(1000)  # animations
        details = page.locator(".detail-row").bounding_box()
        assert details is not None
        height = details["y"] + details["height"]
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": height}
        page.screenshot(path=PICTURE, clip=clip)
        browser.close()
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
