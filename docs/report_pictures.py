"""Take the screenshots of the report for the documentation; needs Chromium and Playwright."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from slimsvm import CompactSVC, write_report
from slimsvm.datasets import make_banana

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browser import FLAGS

PICTURES = Path(__file__).parent / "pictures"


def reports(folder: Path) -> None:
    """Write a report of two inputs, one of images and one of a table."""
    X, y = make_banana(2000, random_state=0)
    X, X_test, y, y_test = train_test_split(X, y, train_size=500, random_state=0)
    write_report(
        CompactSVC(random_state=0).fit(X, y), folder / "report.html", title="Banana", X=X, y=y, X_test=X_test,
        y_test=y_test, reference=SVC(C=10).fit(X, y),
    )  # fmt: skip
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    write_report(
        CompactSVC(max_bytes=2048, number="int8", random_state=0).fit(X, y), folder / "report-digits.html",
        title="Digits in two kilobytes", X=X, y=y, X_test=X_test, y_test=y_test, reference=SVC().fit(X, y),
    )  # fmt: skip
    table = load_breast_cancer(as_frame=True)
    y = table.target_names[table.target]
    X, X_test, y, y_test = train_test_split(table.data, y, random_state=0)
    models = [
        make_pipeline(StandardScaler(), machine).fit(X, y) for machine in (CompactSVC(random_state=0), SVC())
    ]
    write_report(
        models[0], folder / "report-phone.html", title="Breast cancer", X=X, y=y, X_test=X_test, y_test=y_test,
        reference=models[1],
    )  # fmt: skip


def shoot(folder: Path) -> None:
    """Take the pictures, in few colours."""
    views = {
        "report": (1160, 970, "light", "body"),
        "report-digits": (1160, 640, "dark", "#try"),
        "report-phone": (390, 844, "light", "#field-2"),
    }
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        for name, (width, height, scheme, part) in views.items():
            page = running.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto((folder / f"{name}.html").as_uri())
            page.eval_on_selector(part, "(part) => part.scrollIntoView()")
            page.wait_for_timeout(800)  # it glides
            target = PICTURES / f"{name}.png"
            page.screenshot(path=target)
            Image.open(target).convert("RGB").quantize(128).save(target, optimize=True)
        running.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        reports(Path(name))
        shoot(Path(name))
