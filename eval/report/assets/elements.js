// Elements, numbers and tables. Text is only ever set as text, never as markup.

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

function shown(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e6) return value.toExponential(Math.max(0, digits - 2));
  const decimals = digits - 1 - Math.floor(Math.log10(size));
  return value.toFixed(Math.min(Math.max(decimals, 0), digits));
}

function tableOf(caption, header, rows) {
  const entry = (value) => (value instanceof Node ? value : typeof value === "number" || value === null || value === undefined ? shown(value) : String(value));
  const line = (row) => el("tr", {}, ...row.map((value, index) => (index === 0 ? el("th", { scope: "row", class: (value instanceof Node ? value.textContent : String(value)).length <= 24 ? "short" : null }, entry(value)) : el("td", { class: typeof value === "number" ? "number" : null }, entry(value)))));
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    el("table", {}, el("caption", {}, el("span", { text: caption })),
      el("thead", {}, el("tr", {}, ...header.map((text, index) => el("th", { scope: "col", class: index && rows.some((row) => typeof row[index] === "number") ? "number" : null, text })))), el("tbody", {}, ...rows.map(line))));
}

const offer = (node, options, value) => node.replaceChildren(...options.map(([key, text]) => el("option", { value: key, selected: key === value, text })));
function choose(host, name, label, options, value, act) {
  const select = el("select", { id: name, onchange: () => act(select.value) });
  offer(select, options, value);
  host.append(el("div", { class: "control" }, el("label", { for: name, text: label }), select));
  return select;
}
const same = (names) => names.map((name) => [name, name]);
