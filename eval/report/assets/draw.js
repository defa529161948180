// Elements, scales and the parts every chart shares. Text is only ever set as text, never as markup.

const data = JSON.parse(document.getElementById("data").textContent);
const cellById = new Map(data.cells.map((cell) => [cell.id, cell]));
const metricByName = new Map(data.metrics.map((metric) => [metric.name, metric]));

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const mark = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function shown(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e6) return value.toExponential(Math.max(0, digits - 2));
  const decimals = digits - 1 - Math.floor(Math.log10(size));
  return value.toFixed(Math.min(Math.max(decimals, 0), digits));
}
const worded = (value) => (value === null || value === undefined ? "–" : typeof value === "number" ? String(Number(value.toPrecision(4))) : String(value));
const withUnit = (metric) => (metric.unit ? `${metric.name} [${metric.unit}]` : metric.name);
const betterIs = (metric) =>
  ({ higher: "higher is better", lower: "lower is better", none: "neither high nor low is better" })[metric.direction];

// An arm has its colour and shape everywhere, by its place among the arms; other lines have neutral colours.
const arms = data.arms.length > 1 ? data.arms : [];
const armColours = 6, tints = 5;
const armPlace = (name) => arms.indexOf(name);
const armClass = (name, other = "even") => (armPlace(name) < 0 ? other : `arm${armPlace(name) % armColours}`);
const plainClass = (index) => `series${index % tints}`;
const armLegend = (cells) => arms.filter((arm) => cells.some((cell) => cell.settings.arm === arm)).map((arm) => [arm, `${armClass(arm)} ${shapeOf(armPlace(arm))}`]);
const shapes = ["circle", "square", "triangle", "diamond"];
const shapeOf = (place) => shapes[Math.max(place, 0) % shapes.length];

// A scale maps a value to pixels: linear, logarithmic, or even steps for words, from end to end or each in a band.
function scale(values, low, high, { log = false, pad = 0.05, bands = false } = {}) {
  const finite = values.filter((value) => value !== null && value !== undefined);
  if (finite.some((value) => typeof value === "string")) {
    const words = [...new Set(finite)];
    const inset = bands || words.length < 2 ? (high - low) / (2 * words.length) : 0;
    const step = words.length > 1 ? (high - low - 2 * inset) / (words.length - 1) : 0;
    const at = (value) => low + inset + words.indexOf(value) * step;
    return { at, ticks: words, text: String };
  }
  const turn = log ? Math.log10 : (value) => value;
  let [first, last] = [Math.min(...finite.map(turn)), Math.max(...finite.map(turn))];
  if (!finite.length) [first, last] = [0, 1];
  const margin = (last - first || Math.abs(first) * 0.1 || 1) * pad;
  [first, last] = [first - margin, last + margin];
  const at = (value) => low + ((turn(value) - first) / (last - first)) * (high - low);
  return { at, ticks: log ? logTicks(first, last) : ticks(first, last), text: worded };
}
function ticks(first, last, wanted = 5) {
  const rough = (last - first) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => power * factor >= rough);
  const found = [];
  for (let value = Math.ceil(first / step) * step; value <= last + step * 1e-9; value += step) found.push(Number(value.toPrecision(12)));
  return found;
}
function logTicks(first, last) {
  const found = [];
  const factors = last - first > 2 ? [1] : [1, 2, 5];
  for (let power = Math.floor(first); power <= Math.ceil(last); power++)
    for (const factor of factors) {
      const value = Number((factor * 10 ** power).toPrecision(6));
      if (Math.log10(value) >= first && Math.log10(value) <= last) found.push(value);
    }
  return found.length > 1 ? found : ticks(10 ** first, 10 ** last).filter((value) => value > 0);
}
const isLog = (values) => {
  const numbers = values.filter((value) => typeof value === "number");
  return numbers.length > 1 && Math.min(...numbers) > 0 && Math.max(...numbers) / Math.min(...numbers) >= 9;
};

function drawAxes(svg, x, y, box, labels) {
  let taken = -1e9;
  for (const tick of x.ticks) {
    const at = x.at(tick);
    svg.append(mark("line", { class: "grid", x1: at, x2: at, y1: box.top, y2: box.bottom }));
    const text = x.text(tick), half = text.length * 3.6 + 5;
    if (at - half < taken) continue;
    taken = at + half;
    svg.append(mark("text", { class: "tick", x: at, y: box.bottom + 16, "text-anchor": "middle", text }));
  }
  for (const tick of y.ticks) {
    const at = y.at(tick);
    svg.append(mark("line", { class: "grid", x1: box.left, x2: box.right, y1: at, y2: at }));
    svg.append(mark("text", { class: "tick", x: box.left - 6, y: at + 4, "text-anchor": "end", text: y.text(tick) }));
  }
  svg.append(mark("text", { class: "label", x: (box.left + box.right) / 2, y: box.bottom + 36, "text-anchor": "middle", text: labels.x }));
  svg.append(mark("text", { class: "label", x: 4, y: box.top - 10, text: labels.y }));
}

const widthOf = (host) => Math.max(260, Math.floor(host.clientWidth || 640));
const picture = (width, height, label) => mark("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });

// Replaces a figure's drawing; the numbers behind it follow as a table, which stays open when it was.
function show(figure, { caption, svg, legend = [], header, rows }) {
  const open = figure.querySelector("details")?.open || false;
  const key = legend.length
    ? el("ul", { class: "legend" }, ...legend.map(([name, key]) => el("li", {}, typeof key === "string" ? el("span", { class: `key ${key}`, "aria-hidden": "true" }) : key, name)))
    : null;
  const numbers = header ? el("details", { open }, el("summary", { text: "The numbers as a table" }), tableOf(caption, header, rows)) : null;
  figure.replaceChildren(el("figcaption", { text: caption }), ...[key, svg, numbers].filter(Boolean));
}
function tableOf(caption, header, rows) {
  const line = (row) => el("tr", {}, ...row.map((entry, index) => {
    const text = typeof entry === "number" || entry === null || entry === undefined ? shown(entry) : String(entry);
    return index === 0 ? el("th", { scope: "row", text }) : el("td", { class: typeof entry === "number" ? "number" : null, text });
  }));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", { text: caption }),
      el("thead", {}, el("tr", {}, ...header.map((text) => el("th", { scope: "col", text })))), el("tbody", {}, ...rows.map(line))));
}

function choose(host, name, label, options, value, act) {
  const select = el("select", { id: name, onchange: () => act(select.value) },
    ...options.map(([key, text]) => el("option", { value: key, selected: key === value, text })));
  host.append(el("div", { class: "control" }, el("label", { for: name, text: label }), select));
  return select;
}
const same = (names) => names.map((name) => [name, name]);

const tip = el("div", { class: "tip", hidden: true, role: "status" });
document.body.append(tip);
function tipped(node, text) {
  node.append(mark("title", { text }));
  node.addEventListener("pointermove", (event) => {
    tip.textContent = text;
    tip.hidden = false;
    const room = window.innerWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 12, room))}px`;
    tip.style.top = `${event.clientY + 16 + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 12 : event.clientY + 16}px`;
  });
  node.addEventListener("pointerleave", () => { tip.hidden = true; });
  return node;
}

// Drawn when it first comes near the screen and whenever its width changes.
const redraws = new Map();
const watcher = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const entry = redraws.get(target);
    if (entry && Math.abs(entry.width - contentRect.width) > 1) { entry.width = contentRect.width; entry.draw(); }
  }
});
function keepDrawn(figure, draw) {
  redraws.set(figure, { draw, width: figure.getBoundingClientRect().width });
  draw();
  watcher.observe(figure);
}
