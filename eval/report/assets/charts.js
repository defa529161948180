// Draws the specifications that Python made: in the room there is, with a table of their numbers, one after another.

const tip = el("div", { class: "tip", hidden: true });
document.body.append(tip);
function tell(handler, event, item, value) {
  tip.hidden = value === null || value === undefined || value === "";
  if (tip.hidden) return;
  tip.textContent = typeof value === "string" ? value : Object.values(value).join("\n");
  const room = window.innerWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(8, Math.min(event.clientX + 12, room))}px`;
  tip.style.top = `${event.clientY + 16 + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 12 : event.clientY + 16}px`;
}
const nowhere = { load: () => Promise.reject(new Error("a page loads nothing")), sanitize: (uri) => (String(uri).startsWith("data:") ? Promise.resolve({ href: uri }) : Promise.reject(new Error("a page loads nothing"))) };

// Charts that Python was handed name an arm by itself: only the page knows its place.
function ownColours(text) {
  return text.replace(/"arm:((?:[^"\\]|\\.)*)"/g, (_, inside) => {
    const [arm, name, other] = JSON.parse(JSON.parse(`"${inside}"`));
    const place = data.arms.length > 1 ? [arm, name].map((one) => data.arms.indexOf(one)).find((one) => one >= 0) : undefined;
    return JSON.stringify(place === undefined ? other : `var(--a${place % 6})`);
  });
}
function fitted(spec, chosen, room) {
  const made = JSON.parse(ownColours(JSON.stringify(spec)));
  delete made.title;
  made.config = data.config;
  made.datasets = data.datasets;
  const facet = made.facet, values = { ...chosen };
  if (facet) {
    const layer = made.spec, across = layer.layer[0].encoding.x.sort.length, longest = Math.max(...layer.layer[0].encoding.y.sort.map((value) => String(value).length));
    const panels = made.facet.sort.length > 1 && room > 640 ? 2 : 1, free = room / panels - 58 - 8 * longest;
    made.columns = panels;
    values.step = Math.max(14, Math.min(110, Math.floor(free / across)));
    layer.width = { step: values.step };
  } else {
    const name = made.layer[0].encoding.y?.field ?? made.layer[2].encoding.y.field, rows = (data.datasets[made.data.name] || []).filter((row) => !chosen.task || !row.task || row.task === chosen.task);
    if (made.height.step) made.height = made.height.step * new Set(rows.map((row) => row[name])).size;
    Object.assign(made, { width: room, autosize: { type: "fit-x", contains: "padding" } });
  }
  for (const param of made.params) if (param.name in values) param.value = values[param.name];
  return made;
}

// What the chart's own marks stand for, with all that its transforms made of the data.
function rowsOf(view) {
  const found = [];
  const walk = (mark) => {
    if (mark.marktype === "group") for (const group of mark.items) group.items.forEach(walk);
    else if (mark.name?.endsWith("rows_marks")) found.push(...mark.items.map((item) => item.datum));
  };
  walk(view.scenegraph().root);
  return found;
}
const newest = new WeakMap();
async function draw(figure, name, chosen = {}, own = null) {
  const spec = own || data.charts[name], room = Math.max(240, Math.floor(figure.clientWidth - 2 * parseFloat(getComputedStyle(figure).paddingLeft))), turn = {};
  newest.set(figure, turn);
  figure.hidden = !spec;
  if (!spec) return;
  const place = el("div", { class: "drawing" });
  const { view } = await window.vegaEmbed(place, fitted(spec, chosen, room), { ast: true, actions: false, renderer: "svg", tooltip: tell, loader: nowhere, logLevel: 1 });
  if (newest.get(figure) !== turn) { view.finalize(); return; }
  const caption = view.signal("caption"), columns = view.signal("columns"), rows = columns.length ? rowsOf(view) : [];
  const svg = place.querySelector("svg");
  for (const [key, value] of [["role", "img"], ["aria-label", `${caption}. The numbers follow as a table.`]]) svg.setAttribute(key, value);
  svg.removeAttribute("aria-roledescription");
  view.addEventListener("click", (event, item) => { if (item?.datum?.cell) pick(item.datum.cell, chosen.metric, figure); });
  const open = figure.querySelector("details")?.open || false;
  // A curve has many rows of one cell, a mean no single cell: the keyboard should not stop at each of these.
  const named = (index) => rows[index].cell && rows[index].single !== false && rows[index].cell !== rows[index - 1]?.cell;
  const entry = (row, field, index) => ((field === "note" || field === "label") && named(index) ? cellButton(row.cell, row[field], chosen.metric, figure) : row[field]);
  const numbers = columns.length ? el("details", { open }, el("summary", { text: "The numbers as a table" }), tableOf(caption, columns.map(([title]) => title), rows.map((row, index) => columns.map(([, field]) => entry(row, field, index))))) : null;
  figure.view?.finalize();
  figure.view = view;
  figure.replaceChildren(el("figcaption", { text: columns.length && !rows.length ? `${caption}: no cell has values here` : caption }), place, ...(numbers ? [numbers] : []));
}

// Each is drawn once and again whenever its room changes; the page stays quick because they wait for each other.
const redraws = new Map();
let queue = Promise.resolve(), waiting = 0;
const tellReady = () => { document.documentElement.dataset.ready = String(waiting === 0); };
function later(act) {
  waiting += 1;
  tellReady();
  queue = queue.then(() => new Promise((done) => setTimeout(done))).then(act).catch((error) => console.error(error)).then(() => { waiting -= 1; tellReady(); });
}
const watcher = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const entry = redraws.get(target);
    if (entry && contentRect.width && Math.abs(entry.width - contentRect.width) > 1) { entry.width = contentRect.width; later(entry.act); }
  }
});
function keepDrawn(figure, act) {
  redraws.set(figure, { act, width: 0 });
  later(() => { redraws.get(figure).width = figure.clientWidth - 2 * parseFloat(getComputedStyle(figure).paddingLeft); return act(); });
  watcher.observe(figure);
}
