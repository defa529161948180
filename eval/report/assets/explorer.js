// Single measurements: one over all cells, and two cells on the measurements on which they differ most.

const whenPicked = [];
const pick = (...chosen) => { for (const act of whenPicked) act(...chosen); };
const cellButton = (cell, text, metric, figure) => el("button", { type: "button", class: "cell", text, onclick: () => pick(cell, metric, figure) });
const exploredOf = (task) => data.explored.find((one) => one.task === task);
// Of a metric that judges nothing the larger comes first, and no words call it better.
const better = (metric, a, b) => (metricByName.get(metric).direction === "lower" ? a - b : b - a);
const wordsFor = (metric) => (metricByName.get(metric).direction === "none" ? { first: "the largest first", over: "larger", rising: "least to largest" } : { first: "the best first", over: "better", rising: "worst to best" });
const MOST = 120, PAIRS = 9;

const pictureOf = (of, at, cell) => data.images[`${cell}/${of.measurements[at]}/${of.seeds[at]}`];
const nameOf = (of, at) => (new Set(of.seeds).size > 1 ? `${of.measurements[at]}, seed ${of.seeds[at]}` : of.measurements[at]);
const leftNoun = (of) => (new Set(of.measurements).size < of.measurements.length ? "pairs of measurement and seed" : "measurements");
// Seeds of one measurement are not as many measurements.
function amountOf(of, places) {
  const measured = new Set(places.map((at) => of.measurements[at])).size;
  return measured === places.length ? `${measured} measurements` : `${places.length} reconstructions of ${measured} measurements`;
}
const isPictured = (of, at) => Object.keys(of.cells).some((cell) => pictureOf(of, at, cell));

// A row of tiles; pictures that were not kept leave their scores.
function tilesFor(of, at, cells, metric) {
  const row = { measurement: of.measurements[at] }, name = row.measurement;
  const fixed = [[`truth/${name}`, "truth"], [`y/${name}`, "measurement"]].filter(([key]) => data.images[key]);
  const own = cells.map((cell) => [`${cell}/${name}/${of.seeds[at]}`, of.cells[cell], of.values[metric][cell]?.[at] ?? null]);
  const line = el("div", { class: "tiles" }, ...[...fixed, ...own].map(([key, label, value]) => fill(el("div", { class: "tile" }), {}, [...tile(row, key, label, value === undefined ? "" : `${metric} ${shown(value)}`, "no picture kept").childNodes])));
  zoomTogether(line);
  return line;
}

function showMeasurement(host, state) {
  const of = exploredOf(state.task), at = state.at, metric = state.metric;
  const scored = Object.keys(of.cells).filter((cell) => (of.values[metric][cell]?.[at] ?? null) !== null);
  scored.sort((a, b) => better(metric, of.values[metric][a][at], of.values[metric][b][at]));
  const kept = scored.filter((cell) => pictureOf(of, at, cell)).length, names = data.metrics.map((one) => one.name);
  const rows = scored.map((cell) => [of.cells[cell], ...names.map((name) => of.values[name][cell]?.[at] ?? null)]);
  const told = data.wanted.includes(of.measurements[at]) ? "its pictures did not fit" : `g2d2 report with --measurement ${of.measurements[at]} keeps its pictures`;
  const left = !kept ? "" : `${scored.length > MOST ? `; the first ${MOST} of them` : ""}; ${kept} with a picture`;
  host.replaceChildren(
    el("h3", { text: `${of.measurements[at]}, seed ${of.seeds[at]}: ${scored.length} cells by ${metric}, ${wordsFor(metric).first}${left}` }),
    kept ? el("div", { class: "wall", tabindex: "0", role: "group", "aria-label": "This measurement over all cells" }, tilesFor(of, at, scored.slice(0, MOST), metric)) : el("p", { class: "note", text: `This page keeps its scores only; ${told}.` }),
    el("details", { open: !kept || host.querySelector("details")?.open || false }, el("summary", { text: "The numbers as a table" }), tableOf(`${nameOf(of, at)} by every metric`, ["cell", ...names], rows)));
}

function showPair(state) {
  const of = exploredOf(state.task), [a, b] = [state.a, state.b].map((cell) => of.values[state.metric][cell] || []);
  const both = of.measurements.map((_, at) => at).filter((at) => (a[at] ?? null) !== null && (b[at] ?? null) !== null), gap = (at) => a[at] - b[at];
  const ahead = both.filter((at) => better(state.metric, a[at], b[at]) < 0).length, behind = both.filter((at) => better(state.metric, a[at], b[at]) > 0).length;
  const signed = (value) => `${value > 0 ? "+" : ""}${shown(value)}`, kept = of.intervals[state.metric], there = kept[`${state.a}|${state.b}`], back = kept[`${state.b}|${state.a}`];
  const [mean, low, high] = there || (back ? [-back[0], ...(back[1] === null ? [null, null] : [-back[2], -back[1]])] : [both.reduce((sum, at) => sum + gap(at), 0) / both.length, null, null]);
  const sure = low === null ? "; the page keeps no interval of this pair" : ` [${shown(low)}, ${shown(high)}] (95 %, paired)`;
  const left = of.left_out ? `, ${of.left_out} more ${leftNoun(of)} did not fit here` : "";
  document.getElementById("difference").textContent = both.length
    ? `${of.cells[state.a]} minus ${of.cells[state.b]} by ${state.metric}: ${signed(mean)}${state.a === state.b ? "" : sure} on average over ${amountOf(of, both)}${left}; the first is ${wordsFor(state.metric).over} on ${ahead}, the second on ${behind}.`
    : "These two cells share no measurement.";
  const most = [...both].sort((i, j) => Math.abs(gap(j)) - Math.abs(gap(i))).slice(0, PAIRS);
  const pictured = most.filter((at) => pictureOf(of, at, state.a) || pictureOf(of, at, state.b)), name = (at) => `${nameOf(of, at)}: ${signed(gap(at))}`;
  document.getElementById("differ").replaceChildren(...most.map((at) =>
    el("article", { class: "row" }, el("h4", { text: name(at) }), pictured.includes(at) ? tilesFor(of, at, [state.a, state.b], state.metric) : el("p", { class: "note", text: `${shown(a[at])} and ${shown(b[at])}; no pictures kept` }))));
  const own = [state.a, state.b].filter((cell) => cellById.has(cell)), asked = own.every((cell) => data.wanted_cells.includes(cell));
  document.getElementById("unpictured").textContent = pictured.length < most.length && !asked ? `For pictures of all of these: g2d2 report with --cells ${own.join(" ")}.` : "";
}

function startExplorer() {
  const host = document.getElementById("explorer");
  if (!host || !data.explored.some((one) => one.measurements.length)) return;
  const place = host.querySelector("#measurement"), controls = host.querySelector(".controls"), pair = host.querySelector("#pair"), whole = host.querySelector("#whole");
  const wanted = (of) => Math.max(0, [(at) => data.wanted.includes(of.measurements[at]), (at) => isPictured(of, at)].map((test) => of.measurements.findIndex((_, at) => test(at))).find((at) => at >= 0) ?? 0);
  const start = data.explored.find((of) => of.measurements.some((name) => data.wanted.includes(name))) || data.explored[0];
  const state = { task: start.task, metric: (judged[0] || data.metrics[0]).name, at: wanted(start), a: start.best[0], b: start.best[1] ?? start.best[0] };
  const draw = () => { showMeasurement(place, state); showPair(state); };
  const refill = () => {
    const of = exploredOf(state.task), cells = Object.entries(of.cells);
    whole.textContent = of.left_out ? `To bound the size of this page ${of.left_out} of ${of.left_out + of.measurements.length} ${leftNoun(of)} of ${of.task} are left out here, those without pictures first.` : "Every score is here.";
    const named = of.measurements.map((_, i) => [String(i), nameOf(of, i)]), has = (wantsPicture) => named.filter((_, i) => isPictured(of, i) === wantsPicture);
    const groups = [["with pictures", has(true)], ["scores only", has(false)]].filter(([, list]) => list.length);
    at.replaceChildren(...groups.map(([label, list]) => { const group = el("optgroup", { label }); offer(group, list, String(state.at)); return group; }));
    offer(first, cells, state.a); offer(second, cells, state.b);
  };
  const set = (key) => (value) => { state[key] = value; draw(); };
  choose(controls, "explorer-task", "Task", same(data.tasks), state.task, (value) => { const of = exploredOf(value); Object.assign(state, { task: value, at: wanted(of), a: of.best[0], b: of.best[1] ?? of.best[0] }); refill(); draw(); });
  const at = choose(controls, "explorer-measurement", "Measurement", [], "", (value) => { state.at = Number(value); draw(); });
  choose(controls, "explorer-metric", "Sorted by", names(data.metrics), state.metric, set("metric"));
  const first = choose(pair, "explorer-a", "Cell", [], "", set("a")), second = choose(pair, "explorer-b", "Minus", [], "", set("b"));
  refill();
  draw();
  const picked = document.getElementById("picked");
  whenPicked.push((cell, chosen, figure) => {
    const metric = chosen ?? state.metric;  // charts without a choice of metric follow the explorer's own
    const of = exploredOf(cellById.get(cell).task), column = of.values[metric][cell] || [];
    const has = of.measurements.map((_, i) => i).filter((i) => pictureOf(of, i, cell)).sort((i, j) => better(metric, column[j], column[i]));
    const shownAt = has.length > 6 ? [...has.slice(0, 2), ...has.slice(Math.floor(has.length / 2) - 1).slice(0, 2), ...has.slice(-2)] : has;
    picked?.replaceChildren(el("article", { class: "row" }, el("h3", { text: `${of.cells[cell]}, ${of.task}: ${has.length ? `${wordsFor(metric).rising} of ${amountOf(of, has)} with pictures, by ${metric}` : "no pictures of this cell are kept in this page"}` }), el("div", { class: "gallery" }, ...shownAt.map((i) => tilesFor(of, i, [cell], metric)))));
    if (picked && !picked.parentNode.contains(figure)) picked.scrollIntoView({ block: "center" });
    if (state.task === of.task) { state.a = cell; first.value = cell; showPair(state); }
  });
}
