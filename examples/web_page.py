"""A web page that reads digits
============================

Draw a digit, and the model in the page says which one it is. One file with everything in it, which opens without a
server; the model's numbers have eight bits.
"""

# sphinx_gallery_thumbnail_path = 'docs/pictures/browser.png'

import argparse
import base64
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from slimsvm import CompactSVC, to_js

# The pictures of the digits set: 32 x 32 black and white, counted in squares of 4 x 4.
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Draw a digit</title>
<style>
  body { font: 16px system-ui, sans-serif; display: flex; gap: 2em; margin: 2em; flex-wrap: wrap; }
  canvas { border: 1px solid #888; touch-action: none; cursor: crosshair; }
  td { padding: 0 .5em; } .bar { background: #3b6ea5; height: .8em; }
</style>
<div><p>Draw a digit.</p><canvas id="pad" width="256" height="256"></canvas>
  <p><button id="clear">Clear</button></p></div>
<div><p>It is a <b id="answer">?</b></p><table id="bars"></table></div>
<script type="module">
import { predict, probabilities, classes } from "data:text/javascript;base64,MODULE";
const pad = document.getElementById("pad"), pen = pad.getContext("2d", { willReadFrequently: true });
const bars = classes.map((c) => {
  const row = document.getElementById("bars").insertRow();
  row.insertCell().textContent = c;
  return row.insertCell().appendChild(Object.assign(document.createElement("div"), { className: "bar" }));
});
const picture = () => {
  const { data } = pen.getImageData(0, 0, 256, 256), row = new Array(64).fill(0);
  for (let y = 4; y < 256; y += 8)
    for (let x = 4; x < 256; x += 8) row[8 * (y >> 5) + (x >> 5)] += data[4 * (256 * y + x) + 3] > 127;
  return row;
};
const show = () => {
  const row = picture(), empty = row.every((v) => v === 0);
  document.getElementById("answer").textContent = empty ? "?" : predict(row);
  const p = probabilities(row);
  bars.forEach((bar, c) => (bar.style.width = `${empty ? 0 : 200 * p[c]}px`));
};
const clear = () => {
  pen.clearRect(0, 0, 256, 256);
  show();
};
Object.assign(pen, { lineWidth: 26, lineCap: "round", lineJoin: "round" });
pad.onpointerdown = (e) => {
  pen.beginPath();
  pen.moveTo(e.offsetX, e.offsetY);
};
pad.onpointermove = (e) => {
  if (!e.buttons) return;
  pen.lineTo(e.offsetX, e.offsetY);
  pen.stroke();
  show();
};
document.getElementById("clear").onclick = clear;
clear();
</script>
</html>
"""


def main() -> None:
    """Train, write the page, and say how good and how large it is."""
    parser = argparse.ArgumentParser(description="Write a web page that reads digits.")
    parser.add_argument("--output", type=Path, default=Path("digits.html"), help="the page")
    parser.add_argument("--bytes", type=int, default=4096, help="limit for the numbers of the model")
    options = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    model = CompactSVC(max_bytes=options.bytes, number="int8", random_state=0).fit(X.astype(np.float32), y)
    module = to_js(model, name="digits", number="int8")
    options.output.write_text(PAGE.replace("MODULE", base64.b64encode(module.encode()).decode()))
    print(
        f"{model.n_vectors_} vectors, {model.score(X_test.astype(np.float32), y_test):.1%} accuracy, a module of "
        f"{len(module):,} bytes in {options.output.name} of {options.output.stat().st_size:,} bytes"
    )


if __name__ == "__main__":
    main()
