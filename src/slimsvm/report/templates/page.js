const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const make = (name, attributes = {}, ...inside) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...inside);
  return element;
};
const short = (value) => {
  if (typeof value !== "number" || !Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  return String(Number(value.toPrecision(4)));
};

// ---------------------------------------------------------------------------- sizes

const step = byId("step");
if (step) {
  const frames = [...document.querySelectorAll("[data-frame]")];
  const lines = [...document.querySelectorAll("[data-row]")];
  const points = [...document.querySelectorAll("[data-step]")];
  const ring = byId("at-size");
  const show = (k) => {
    step.value = k;
    frames.forEach((frame, i) => (frame.hidden = i !== k));
    lines.forEach((line, i) => line.classList.toggle("at", i === k));
    for (const name of ["cx", "cy"]) ring.setAttribute(name, points[k].getAttribute(name));
    byId("step-says").textContent = frames[k].dataset.says;
    step.setAttribute("aria-valuetext", frames[k].dataset.says);
  };
  step.addEventListener("input", () => show(Number(step.value)));
  lines.forEach((line, k) => line.addEventListener("click", () => show(k)));
  for (const sheet of document.querySelectorAll("img.sheet"))
    sheet.style.width = `${Math.min(100, 17 * Number(sheet.dataset.columns))}%`;
  show(Number(step.value));
}

// ---------------------------------------------------------------------------- copying

for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code); // where the page may not write to the clipboard
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
}

// ---------------------------------------------------------------------------- the model

const live = () => {
  // for those who look into the console: slimsvm.predict(slimsvm.row())
  window.slimsvm = { ...model, row: () => [...row] };
  const full = (given) => {
    if (Array.isArray(given)) return [...given];
    const row = new Array(data.n).fill(0);
    for (const [j, value] of Object.entries(given)) row[j] = value;
    return row;
  };
  let at = 0;
  let row = full(data.rows[0]);

  // The answer
  const names = { classes: "The model says", values: "The model predicts", inliers: "The model says" };
  byId("answer-name").textContent =
    names[data.kind] ?? (data.kind === "density" ? "Logarithm of the density" : "The features");
  const body = byId("bars").tBodies[0];
  // one score for each pair of classes has no place beside the classes
  const told = data.kind === "classes" && (model.probabilities || !data.pairs);
  const labels = told ? data.classes : data.kind === "inliers" ? ["score"] : [];
  const bars = labels.map((name, c) => {
    const bar = make("div");
    const number = make("td");
    const line = make("tr", { class: `c${c % 10}` }, make("th", { scope: "row" }, name),
      make("td", { class: "bar" }, bar), number);
    body.append(line);
    return { bar, number, line };
  });
  const written = (answer) => {
    if (data.kind === "inliers") return answer > 0 ? "usual" : "unusual";
    if (Array.isArray(answer)) return answer.slice(0, 8).map(short).join(", ") + (answer.length > 8 ? ", …" : "");
    return data.kind === "classes" ? String(data.classes[model.classes.indexOf(answer)]) : short(answer);
  };
  const scoresOf = () => {
    const scores = model.scores(row);
    return Array.isArray(scores) ? scores : data.kind === "classes" ? [-scores, scores] : [scores];
  };
  const showBars = (answer) => {
    if (!bars.length) return;
    const shares = model.probabilities?.(row);
    const values = shares ?? scoresOf();
    const top = Math.max(...values.map(Math.abs)) || 1;
    bars.forEach(({ bar, number, line }, c) => {
      const value = values[c];
      bar.style.width = `${100 * (shares ? value : Math.max(0, value) / top)}%`;
      number.textContent = shares ? `${(100 * value).toFixed(1)} %` : value.toFixed(3);
      line.classList.toggle("wins", data.kind === "classes" && model.classes[c] === answer);
    });
  };
  const answerNow = () => {
    try {
      const answer = model.predict(row);
      byId("answer").textContent = written(answer);
      byId("trouble").textContent = "";
      showBars(answer);
    } catch (error) {
      byId("answer").textContent = "–";
      byId("trouble").textContent = error.message;
    }
  };

  // What can be moved
  const setters = data.image ? [drawing(() => row, answerNow, data.image)] : data.fields.map(field);
  function field(given, k) {
    const id = `field-${k}`;
    const box = make("div", { class: "field" }, make("label", { for: id }, given.name));
    byId("fields").append(box);
    const change = (value) => {
      row[given.column] = value;
      answerNow();
    };
    if (given.values) {
      box.classList.add("choice");
      const select = make("select", { id });
      given.values.forEach((value, i) => select.append(make("option", { value: i }, value ?? "missing")));
      select.addEventListener("change", () => change(given.values[select.value]));
      box.append(select);
      return () => (select.value = given.values.indexOf(row[given.column]));
    }
    const range = { min: given.low, max: given.high, step: given.whole ? 1 : "any" };
    const slider = make("input", { id, type: "range", ...range });
    const number = make("input", { type: "number", step: range.step, "aria-label": `${given.name}, as a number` });
    if (given.missing) number.placeholder = "missing";
    slider.addEventListener("input", () => {
      const value = given.whole ? Number(slider.value) : Number(Number(slider.value).toPrecision(6));
      number.value = value;
      change(value);
    });
    number.addEventListener("input", () => {
      if (given.missing && number.value === "" && !number.validity.badInput) return change(null);
      if (number.value === "" || !Number.isFinite(number.valueAsNumber)) return;
      slider.value = number.value;
      change(number.valueAsNumber);
    });
    box.append(slider, number);
    return () => {
      slider.value = row[given.column] ?? (given.low + given.high) / 2;
      number.value = row[given.column] === null ? "" : Number(Number(row[given.column]).toPrecision(6));
    };
  }

  // The rows to start from
  const start = () => {
    row = full(data.rows[at]);
    const what = data.kind === "classes" ? "class" : "value";
    const truth = data.truth ? `; its ${what} is ${data.truth[at]}` : "";
    byId("row-name").textContent = `Row ${data.numbers[at]} of the ${data.which} rows${truth}`;
    setters.forEach((set) => set());
    answerNow();
  };
  const turn = (by) => {
    at = (at + by + data.rows.length) % data.rows.length;
    start();
  };
  byId("row-before").addEventListener("click", () => turn(-1));
  byId("row-next").addEventListener("click", () => turn(1));
  byId("row-reset").addEventListener("click", start);
  byId("clear")?.addEventListener("click", () => {
    row.fill(data.image.low);
    setters.forEach((set) => set());
    answerNow();
  });
  start();

  // Does it say here what it says in Python?
  const near = (a, b) =>
    a === b || (typeof a === "number" && typeof b === "number" && Math.abs(a - b) <= 1e-5 * (1 + Math.abs(b)));
  const same = (a, b) => (Array.isArray(a) ? a.every((value, k) => near(value, b[k])) : near(a, b));
  let agree = 0;
  data.rows.forEach((given, k) => {
    try {
      agree += same(model.predict(full(given)), data.answers[k]) || data.answers[k] === null;
    } catch {
      // counted as a difference
    }
  });
  byId("agrees").textContent = `Asked all ${data.rows.length} rows it can start from, the model in this page gave ` +
    (agree === data.rows.length ? "Python's answer each time." : `Python's answer ${agree} times.`);
};

function drawing(rowNow, changed, { height, width, low, high }) {
  const pad = byId("pad");
  const cell = Math.max(1, Math.floor(336 / Math.max(height, width)));
  pad.width = cell * width;
  pad.height = cell * height;
  const pen = pad.getContext("2d");
  const radius = Math.max(0.75, Math.max(height, width) / 16);
  let cursor = null;
  const paint = () => {
    const row = rowNow();
    pen.clearRect(0, 0, pad.width, pad.height);
    pen.fillStyle = getComputedStyle(pad).color;
    for (let i = 0; i < height; i++)
      for (let j = 0; j < width; j++) {
        pen.globalAlpha = Math.min(1, Math.max(0, (row[i * width + j] - low) / (high - low)));
        pen.fillRect(j * cell, i * cell, cell, cell);
      }
    pen.globalAlpha = 1;
    if (cursor) {
      pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--c1");
      pen.lineWidth = 2;
      pen.strokeRect(cursor[1] * cell + 1, cursor[0] * cell + 1, cell - 2, cell - 2);
    }
  };
  const ink = (y, x, sign) => {
    const row = rowNow();
    for (let i = 0; i < height; i++)
      for (let j = 0; j < width; j++) {
        const off = Math.hypot(i + 0.5 - y, j + 0.5 - x) / radius;
        const amount = Math.min(1, Math.max(0, 1.5 - off)) * (high - low);
        const k = i * width + j;
        if (sign > 0) row[k] = Math.max(row[k], Math.min(high, low + amount));
        else row[k] = Math.min(row[k], Math.max(low, high - amount));
      }
    paint();
    changed();
  };
  let last = null;
  const place = (event) => {
    const box = pad.getBoundingClientRect();
    return [((event.clientY - box.top) / box.height) * height, ((event.clientX - box.left) / box.width) * width];
  };
  pad.addEventListener("pointerdown", (event) => {
    pad.setPointerCapture(event.pointerId);
    last = place(event);
    ink(...last, 1);
  });
  pad.addEventListener("pointermove", (event) => {
    if (!event.buttons || !last) return;
    const [y, x] = place(event);
    const parts = Math.max(1, Math.ceil(Math.hypot(y - last[0], x - last[1]) / (radius / 2)));
    for (let p = 1; p <= parts; p++) ink(last[0] + ((y - last[0]) * p) / parts, last[1] + ((x - last[1]) * p) / parts, 1);
    last = [y, x];
  });
  pad.addEventListener("keydown", (event) => {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = moves[event.key];
    if (!move && event.key !== " " && event.key !== "Backspace") return;
    event.preventDefault();
    cursor ??= [height >> 1, width >> 1];
    if (move) {
      cursor = [Math.min(height - 1, Math.max(0, cursor[0] + move[0])), Math.min(width - 1, Math.max(0, cursor[1] + move[1]))];
      paint();
    } else ink(cursor[0] + 0.5, cursor[1] + 0.5, event.key === " " ? 1 : -1);
  });
  pad.addEventListener("blur", () => {
    cursor = null;
    paint();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  return paint;
}

if (model && data) live();
