"""The page, opened from disk in a real browser with no network."""

import os
import shutil

import pytest
import torch
from playwright.sync_api import sync_playwright

from fedreg.engines import vectorized
from fedreg.experiments.experiment import load
from fedreg.report.page import page, write_page
from fedreg.runs.comparison import compare, jobs
from fedreg.runs.record import find
from fedreg.studies.convergence import table

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and "CI" not in os.environ, reason="no chromium here: apt-get install chromium"
)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    experiment = load("digits", ["plan.rounds=5", "plan.epochs=2", "network.name=linear"])
    todo = jobs(
        experiment, ["sgd", "fedavg", "fedreg"], [0, 1], vectorized(), torch.device("cpu"), [], out, False, "digits"
    )
    assert all(event.failure is None for event in compare(todo))
    return find([out])


@pytest.fixture(scope="module")
def path(records, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(path, records, table(records, "sgd"), "sgd")
    return path


@pytest.fixture(scope="module")
def browser():
    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync"]  # fmt: skip
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture(params=[(1280, 900), (390, 800)], ids=["wide", "narrow"])
def view(browser, path, request):
    """The page in a window of this size; anything said on the console, or asked of the network, is an error."""
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
    view = context.new_page()
    complaints = []
    view.on("console", lambda message: complaints.append(message.text))
    view.on("pageerror", lambda error: complaints.append(str(error)))
    view.on(
        "request",
        lambda request: None if request.url.startswith(("file:", "data:")) else complaints.append(request.url),
    )
    view.goto(path.as_uri())
    view.wait_for_selector("#seconds .scatterlayer path.js-line")
    yield view
    assert complaints == []
    context.close()


def test_the_curves_are_drawn(view):
    for chart in ("rounds", "megabytes", "seconds"):
        lines = view.locator(f"#{chart} .scatterlayer path.js-line")
        shapes = {lines.nth(i).get_attribute("d") for i in range(lines.count())}
        assert len([shape for shape in shapes if shape and shape.count("L") >= 3]) >= 3
        assert view.locator(f"#{chart} .scatterlayer path.js-fill").count() == 3  # a band a method
    assert view.locator("#rounds .legend .traces").count() == 3


def test_hovering_answers_with_numbers(view):
    view.locator("#rounds").scroll_into_view_if_needed()
    box = view.locator("#rounds .nsewdrag").first.bounding_box()
    view.mouse.move(box["x"] + box["width"] * 0.55, box["y"] + box["height"] * 0.5)
    view.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.5)
    view.wait_for_selector("#rounds .hoverlayer text")
    said = view.locator("#rounds .hoverlayer").text_content()
    assert "fedreg : 0." in said
    assert "fedavg : 0." in said


def test_nothing_sticks_out(view):
    assert view.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    for chart in ("rounds", "megabytes", "seconds"):
        drawn = view.locator(f"#{chart} svg.main-svg").first.bounding_box()
        assert drawn["width"] <= view.viewport_size["width"]


def test_the_table_and_the_configurations_are_there(view, records):
    rows = view.locator("tbody tr")
    assert [rows.nth(i).locator("th").inner_text() for i in range(rows.count())] == ["sgd", "fedavg", "fedreg"]
    assert view.locator("details").count() == len(records) == 6
    first = view.locator("details").first
    first.locator("summary").click()
    assert '"batch_size"' in first.locator("pre").inner_text()
    assert "fedreg run digits fedreg --seed 1" in view.locator("pre.commands").inner_text()
    assert "torch" in view.locator(".machine").inner_text()


def test_a_dark_reader_gets_a_dark_page(browser, path):
    view = browser.new_context(color_scheme="dark", offline=True).new_page()
    view.goto(path.as_uri())
    assert view.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 28)"


def test_the_authors_curves_are_drawn_beside_ours(records):
    authors = {"fedreg": [0.1, 0.2, 0.3], "scaffold": [0.1, 0.2]}
    written = page(records, table(records, "sgd"), "sgd", authors)
    assert written.count("fedreg, the authors'") == 1  # on the chart of rounds alone, and of our methods alone
    assert "scaffold, the authors'" not in written
    assert "Dotted" in written
    assert "Dotted" not in page(records, table(records, "sgd"), "sgd")


def test_what_users_write_is_not_read_as_html(records):
    evil = {**records[0].configuration, "about": "</script><script>alert(1)</script>", "method": "<b>sgd</b>"}
    from dataclasses import replace

    written = page(
        [replace(records[0], configuration=evil)], table([replace(records[0], configuration=evil)], "sgd"), "sgd"
    )
    assert "<script>alert(1)" not in written
    assert "<b>sgd</b>" not in written.split("const charts")[0].split("</script>")[-1]
