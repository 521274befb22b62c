"""Every example runs, and prints what it promises."""

from __future__ import annotations

import base64
import json
import re
import runpy
import shutil
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest
from sklearn.datasets import load_digits, make_blobs

import pages
from slimsvm.cli import demo
from slimsvm.datasets import make_banana

EXAMPLES = pages.ROOT / "examples"


@pytest.fixture(autouse=True)
def _no_pictures_left():
    yield
    plt.close("all")


def printed(name, capsys, *arguments, monkeypatch):
    """What a script prints."""
    monkeypatch.setattr(sys, "argv", [str(EXAMPLES / name), *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_every_example_is_tested():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "demo.py", "reduce_an_svc.py", "classifier_in_few_bytes.py", "onnx_session.py", "web_page.py",
        "smaller_libsvm_model.py", "digits_in_c.py", "error_bars.py", "score_against_size.py", "vectors_of_digits.py",
        "reduce_other_kernel_methods.py",
    }  # fmt: skip


def test_the_demonstration(tmp_path, capsys, monkeypatch):
    def problems():  # small ones: tests/test_demo.py looks at the figures
        yield demo.Problem.split("banana", make_banana(200, random_state=0), 80)
        yield demo.Problem.split("blobs", make_blobs(120, centers=3, random_state=0), 60)

    monkeypatch.setattr(demo, "problems", problems)
    monkeypatch.setattr("slimsvm.cli.measured.SECONDS_PER_TIMING", 0.001)
    monkeypatch.setattr("slimsvm.cli.demo_picture.SIZES", (1, 4))
    assert "CompactSVC" in printed("demo.py", capsys, str(tmp_path), monkeypatch=monkeypatch)
    assert (tmp_path / "slimsvm-demo.png").exists()
    assert (tmp_path / "slimsvm-demo.html").exists()


def test_reducing_an_svc(capsys, monkeypatch):
    out = printed("reduce_an_svc.py", capsys, monkeypatch=monkeypatch)
    rows = [(int(n), float(score)) for n, score in re.findall(r"(\d+) vectors +([\d.]+)% accuracy", out)]
    sizes = [n for n, _ in rows]
    assert len(rows) == 5
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0] / 5
    assert all(score > rows[0][1] - 3 for _, score in rows)


def test_reducing_components_a_discriminant_and_a_regression(capsys, monkeypatch):
    out = printed("reduce_other_kernel_methods.py", capsys, monkeypatch=monkeypatch)
    assert re.findall(r"^ +(\d+) vectors", out, re.MULTILINE) == ["150", "30", "150", "30", "100", "20"]
    shares = [float(share) for share in re.findall(r"([\d.]+)% of the variance kept", out)]
    assert len(shares) == 4
    assert min(shares[::2]) > 99  # on a quarter of the vectors
    scores = [float(score) for score in re.findall(r"([\d.]+)% accuracy", out)]
    assert scores[0] > 94
    assert abs(scores[1] - scores[0]) < 1
    fits = [float(fit) for fit in re.findall(r"R\^2 ([\d.]+)", out)]
    assert fits[0] - 0.02 < fits[1]


def test_a_smaller_model_of_libsvm(capsys, monkeypatch):
    out = printed("smaller_libsvm_model.py", capsys, monkeypatch=monkeypatch)
    rows = re.findall(r"([\d,]+) bytes +(\d+) vectors +([\d.]+)% accuracy", out)
    sizes, vectors, scores = zip(
        *((int(a.replace(",", "")), int(b), float(c)) for a, b, c in rows), strict=True
    )
    assert sizes[0] > sizes[1] > 9 * sizes[2]  # text of 17 digits is long
    assert vectors[1] == vectors[2] <= 30 < vectors[0]
    assert min(scores) > max(scores) - 1.5
    assert "numbers in int8" in out


def test_a_classifier_in_few_bytes(capsys, monkeypatch):
    out = printed("classifier_in_few_bytes.py", capsys, monkeypatch=monkeypatch)
    rows = re.findall(r"at most +(\d+) bytes: +\d+ vectors, +([\d,]+) bytes, ([\d.]+)% accuracy", out)
    assert len(rows) == 3
    for limit, size, score in rows:
        assert int(size.replace(",", "")) <= int(limit)
        assert float(score) == pytest.approx(84, abs=4)


def test_an_onnx_session(tmp_path, capsys, monkeypatch):
    out = printed("onnx_session.py", capsys, "--folder", str(tmp_path), monkeypatch=monkeypatch)
    scores = [float(score) for score in re.findall(r"([\d.]+)% accuracy", out)]
    assert len(scores) == 4
    assert max(scores) - min(scores) < 2
    sizes = [int(size.replace(",", "")) for size in re.findall(r"onnx: ([\d,]+) bytes", out)]
    assert [(tmp_path / f"breast_cancer_{n}.onnx").stat().st_size for n in ("float32", "float64")] == sizes
    errors = [float(error) for error in re.findall(r"at most (\S+)", out)]
    assert errors[0] < 1e-4
    assert errors[1] < 1e-11


# A page in which somebody draws a zero: what the script of the example asks of a browser, and no more.
BROWSER = """
const made = (more) => ({ style: {}, appendChild: (child) => child, ...more });
const pen = { ink: new Set(), beginPath() {}, moveTo() {}, stroke() {}, clearRect() { this.ink.clear(); } };
pen.lineTo = (x, y) => {
  for (let t = -13; t < 13; t++) for (let s = -13; s < 13; s++) pen.ink.add(256 * (y + s) + x + t);
};
pen.getImageData = () => {
  const data = new Uint8Array(4 * 256 * 256);
  for (const i of pen.ink) data[4 * i + 3] = 255;
  return { data };
};
const known = {}, insertRow = () => made({ insertCell: () => made() });
globalThis.document = {
  getElementById: (id) => (known[id] ??= made({ getContext: () => pen, insertRow })),
  createElement: () => made(),
};
await import("./page.mjs");
const empty = known.answer.textContent;
const near = (t) => Math.round(128 + t);
for (let a = 0; a < 6.3; a += 0.1)
  known.pad.onpointermove({ buttons: 1, offsetX: near(60 * Math.cos(a)), offsetY: near(100 * Math.sin(a)) });
const drawn = known.answer.textContent;
known.clear.onclick();
const { predict } = await import("./module.mjs");
const rows = JSON.parse((await import("node:fs")).readFileSync("rows.json", "utf8"));
console.log(JSON.stringify({ empty, drawn, cleared: known.answer.textContent, predicted: rows.map(predict) }));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_web_page(tmp_path, capsys, monkeypatch):
    page = tmp_path / "digits.html"
    out = printed("web_page.py", capsys, "--output", str(page), "--bytes", "1500", monkeypatch=monkeypatch)
    [score] = re.findall(r"([\d.]+)% accuracy", out)
    assert float(score) > 90
    text = page.read_text()
    assert f"{page.stat().st_size:,} bytes" in out
    script = text[text.index('<script type="module">') + 22 : text.index("</script>")]
    (tmp_path / "page.mjs").write_text(script)
    [module] = re.findall(r"base64,([^\"]+)", script)
    (tmp_path / "module.mjs").write_bytes(base64.b64decode(module))
    X, y = load_digits(return_X_y=True)
    (tmp_path / "rows.json").write_text(json.dumps(X.tolist()))
    (tmp_path / "browser.mjs").write_text(BROWSER)
    done = subprocess.run(
        ["node", "browser.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    found = json.loads(done.stdout)
    assert found["empty"] == found["cleared"] == "?"
    assert found["drawn"] == 0
    assert (found["predicted"] == y).mean() > float(score) / 100 - 0.01


def test_error_bars(capsys, monkeypatch):
    out = printed("error_bars.py", capsys, monkeypatch=monkeypatch)
    [(vectors, rows)] = re.findall(r"(\d+) of (\d+) rows are vectors", out)
    assert int(vectors) < int(rows) / 5
    assert 90 <= int(re.findall(r"within two deviations: (\d+)%", out)[0]) <= 99


def test_score_against_size(capsys, monkeypatch):
    out = printed("score_against_size.py", capsys, monkeypatch=monkeypatch)
    rows = re.findall(r"^ +(\d+) +[\d.]+ +([\d.]+) \+- ([\d.]+).*?(chosen)?$", out, re.MULTILINE)
    scores = [float(score) for _, score, _, _ in rows]
    [(_, score, _, _)] = [row for row in rows if row[3]]
    assert len(rows) == 6
    assert max(scores) - float(score) < 0.02
    assert plt.gcf().axes[0].get_legend() is not None


def test_vectors_of_digits(capsys, monkeypatch):
    out = printed("vectors_of_digits.py", capsys, monkeypatch=monkeypatch)
    [(few, small), (many, large)] = [
        (int(n), float(score)) for n, score in re.findall(r"(\d+) vectors, ([\d.]+)%", out)
    ]
    assert few <= 20 < many
    assert small > large - 2
    assert sum(bool(axes.images) for axes in plt.gcf().axes) == few


def test_digits_in_c(capsys, monkeypatch):
    out = printed("digits_in_c.py", capsys, monkeypatch=monkeypatch)
    assert float(re.findall(r"Python: +([\d.]+)%", out)[0]) >= 97
    assert int(re.findall(r"header: +(\d+) bytes", out)[0]) <= 2048
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        assert "digits_predict(x)" in out
        return
    [(same, of)] = re.findall(r"the same answer as Python for (\d+) of (\d+)", out)
    assert same == of
