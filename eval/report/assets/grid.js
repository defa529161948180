// The grid: a heat map over two parameters, marginal curves over one, parallel coordinates over all.

const stops = ["#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725"].map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
function colour(share) {
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const below = Math.min(Math.floor(place), stops.length - 2);
  const rgb = stops[below].map((value, i) => Math.round(value + (stops[below + 1][i] - value) * (place - below)));
  const light = (0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]) / 255;
  return { fill: `rgb(${rgb})`, ink: light > 0.5 ? "#111" : "#fff" };
}
// From worst (0) to best (1); for a metric without better and worse from low to high.
function shareOf(metric, values) {
  const low = Math.min(...values), high = Math.max(...values);
  return (value) => (high === low ? 0.5 : metric.direction === "lower" ? (high - value) / (high - low) : (value - low) / (high - low));
}
const isBetter = (metric, a, b) => (metric.direction === "lower" ? a < b : a > b);
const meanOf = (cell, metric) => cell.means[metric.name]?.[0] ?? null;

// Ranked cells are compared over the rows they share; where there is none, the fullest by their own means.
function bestOf(cells, metric) {
  const ranked = cells.filter((cell) => metric.name in cell.ranked), most = Math.max(...cells.map((cell) => cell.counts[metric.name]));
  const worth = (cell) => cell.ranked[metric.name] ?? meanOf(cell, metric);
  return (ranked.length ? ranked : cells.filter((cell) => cell.counts[metric.name] === most)).reduce((a, b) => (isBetter(metric, worth(b), worth(a)) ? b : a));
}
const noted = (cell, metric) => (metric.direction === "none" || metric.name in cell.ranked ? cell.label : `${cell.label}, too few values to be ranked: ${cell.counts[metric.name]}`);

// Of a metric without better and worse nothing is best: the mean stands for the cells that are not told apart.
const howOf = (state) => (metricByName.get(state.metric).direction === "none" ? "mean" : state.how);

// Cells that agree in what is shown, as one number: the best of them, or their mean.
function together(cells, metric, how) {
  const able = cells.filter((cell) => meanOf(cell, metric) !== null);
  if (!able.length) return null;
  const one = able.length === 1 ? able[0] : how === "best" ? bestOf(able, metric) : null;
  if (one) {
    const [value, low, high] = one.means[metric.name];
    return { value, low, high, note: noted(one, metric), cell: one, cells: able.length };
  }
  const sum = able.reduce((total, cell) => total + meanOf(cell, metric), 0);
  return { value: sum / able.length, low: null, high: null, note: `mean of ${able.length} cells`, cells: able.length };
}
const overOthers = (state, shownAxes) => {
  const rest = data.axes.map((axis) => axis.name).filter((name) => !shownAxes.includes(name));
  return rest.length ? `${howOf(state)} over ${rest.join(", ")}` : "one cell each";
};

function startGrid() {
  const host = document.getElementById("grid");
  if (!host) return;
  const names = data.axes.map((axis) => axis.name), plain = names.filter((name) => name !== "arm");
  const judged = data.metrics.filter((metric) => metric.direction !== "none");
  const first = plain[0] || names[0], together = (name) => data.cells.some((cell) => [name, first].every((one) => cell.settings[one] !== null));
  const state = {
    task: data.tasks[0], metric: (judged[0] || data.metrics[0]).name, how: "best", arm: "side by side",
    x: first, y: plain.find((name) => name !== first && together(name)) || names.find((name) => name !== first),
  };
  const controls = host.querySelector(".controls");
  const heat = host.querySelector("#heat"), marginal = host.querySelector("#marginal"), parallel = host.querySelector("#parallel");
  const draw = () => { tellHow(); if (names.length > 1) drawHeat(heat, state); drawMarginal(marginal, state); if (names.length > 2) drawParallel(parallel, state); };
  const set = (key) => (value) => { state[key] = value; if (state.x === state.y && (key === "x" || key === "y")) swap(key); draw(); };
  const swap = (key) => {
    const other = key === "x" ? "y" : "x";
    state[other] = names.find((name) => name !== state[key]);
    controls.querySelector(`#grid-${other}`).value = state[other];
  };
  choose(controls, "grid-task", "Task", same(data.tasks), state.task, set("task"));
  choose(controls, "grid-metric", "Metric", same(data.metrics.map((metric) => metric.name)), state.metric, set("metric"));
  choose(controls, "grid-x", "Across", same(names), state.x, set("x"));
  if (names.length > 1) choose(controls, "grid-y", "Down", same(names), state.y, set("y"));
  if (arms.length) choose(controls, "grid-arm", "Arm", same(["side by side", ...arms]), state.arm, set("arm"));
  const how = names.length > 1 ? choose(controls, "grid-how", "Other parameters", [["best", "show the best"], ["mean", "show the mean"]], state.how, set("how")) : null;
  const tellHow = () => { if (how) { how.value = howOf(state); how.disabled = metricByName.get(state.metric).direction === "none"; } };
  tellHow();
  if (names.length < 2) heat.remove();
  if (names.length < 3) parallel.remove();
  for (const [figure, action] of [[heat, drawHeat], [marginal, drawMarginal], [parallel, drawParallel]]) if (figure.isConnected) keepDrawn(figure, () => action(figure, state));
}

function drawHeat(figure, state) {
  const metric = metricByName.get(state.metric), axes = ["x", "y"].map((key) => data.axes.find((axis) => axis.name === state[key]));
  const apart = arms.length > 0 && !axes.some((axis) => axis.name === "arm");
  const here = data.cells.filter((cell) => cell.task === state.task);
  const has = (arm) => here.some((cell) => cell.settings.arm === arm && axes.every((axis) => cell.settings[axis.name] !== null));
  const able = arms.filter(has), left = apart && state.arm === "side by side" ? arms.filter((arm) => !has(arm)) : [];
  const wanted = !apart ? [null] : state.arm === "side by side" ? able : [state.arm];
  const panels = wanted.map((arm) => ({ arm, grid: axes[1].values.map((y) => axes[0].values.map((x) =>
    together(here.filter((cell) => cell.settings[axes[0].name] === x && cell.settings[axes[1].name] === y && (arm === null || cell.settings.arm === arm)), metric, howOf(state)))) }));
  const all = panels.flatMap((panel) => panel.grid.flat().filter(Boolean));
  if (!all.length) { show(figure, { caption: `No arm of ${state.task} has both ${state.x} and ${state.y}`, svg: null }); return; }
  const share = shareOf(metric, all.map((one) => one.value));
  const best = metric.direction === "none" ? null : framedOf(all, metric);
  const rows = panels.flatMap((panel) => panel.grid.flatMap((line, row) => line.map((one, column) =>
    [panel.arm ?? state.task, worded(axes[0].values[column]), worded(axes[1].values[row]), one ? one.value : null, one ? one.note : "no result"])));
  const caption = `${withUnit(metric)} for ${state.task}: ${overOthers(state, [state.x, state.y, ...(apart ? ["arm"] : [])])}; ` +
    (metric.direction === "none" ? "brighter is larger" : `brighter is better (${betterIs(metric)}), the best is framed`) + (left.length ? `; ${left.join(", ")} without these settings` : "");
  show(figure, { caption, svg: el("div", { class: "panels" }, ...panels.map((panel) => heatPanel(figure, panel, axes, share, best, panels.length, metric))),
    header: ["arm", axes[0].name, axes[1].name, withUnit(metric), "cell"], rows });
}
function framedOf(all, metric) {
  if (all.some((one) => !one.cell)) return all.reduce((a, b) => (isBetter(metric, b.value, a.value) ? b : a));
  const best = bestOf(all.map((one) => one.cell), metric);
  return all.find((one) => one.cell === best);
}
function heatPanel(figure, panel, axes, share, best, count, metric) {
  const room = widthOf(figure), across = count > 1 && room > 640 ? (room - 24 * (count - 1)) / count : room;
  const left = Math.min(14 + 8 * Math.max(...axes[1].values.map((value) => worded(value).length), 3), 110);
  const size = Math.min((across - left - 8) / axes[0].values.length, 120), tall = Math.max(Math.min(size * 0.62, 64), 30);
  const width = left + size * axes[0].values.length + 8, height = 46 + tall * axes[1].values.length + 44;
  const svg = picture(width, height, `Heat map${panel.arm ? ` of ${panel.arm}` : ""}; its values follow as a table`);
  svg.append(mark("text", { class: "title", x: left, y: 14, text: panel.arm ?? "" }), mark("text", { class: "label", x: 2, y: 36, text: `${axes[1].name} ↓` }));
  panel.grid.forEach((line, row) => {
    const top = 46 + row * tall;
    svg.append(mark("text", { class: "tick", x: left - 8, y: top + tall / 2 + 4, "text-anchor": "end", text: worded(axes[1].values[row]) }));
    line.forEach((one, column) => {
      const place = { x: left + column * size + 1, y: top + 1, width: size - 2, height: tall - 2, rx: 3 };
      if (!one) { svg.append(mark("rect", { ...place, class: "empty" })); return; }
      const tint = metric && colour(share(one.value));
      const text = `${axes[0].name} ${worded(axes[0].values[column])}, ${axes[1].name} ${worded(axes[1].values[row])}: ${shown(one.value)}${one.low === null ? "" : ` [${shown(one.low)}, ${shown(one.high)}]`}\n${one.note}`;
      svg.append(tipped(mark("rect", { ...place, fill: tint.fill, class: one === best ? "tile framed" : "tile" }), text));
      if (size >= 34) svg.append(mark("text", { class: "value", x: place.x + place.width / 2, y: top + tall / 2 + 4, "text-anchor": "middle", fill: tint.ink, text: shown(one.value, size < 52 ? 3 : 4) }));
    });
  });
  const bottom = 46 + tall * axes[1].values.length, longest = Math.max(...axes[0].values.map((value) => worded(value).length)), every = Math.ceil((longest * 7.2 + 8) / size);
  axes[0].values.forEach((value, column) => { if (column % every === 0) svg.append(mark("text", { class: "tick", x: left + (column + 0.5) * size, y: bottom + 16, "text-anchor": "middle", text: worded(value) })); });
  svg.append(mark("text", { class: "label", x: left + (width - left) / 2, y: bottom + 36, "text-anchor": "middle", text: `${axes[0].name} →` }));
  return svg;
}

function drawMarginal(figure, state) {
  const metric = metricByName.get(state.metric), axis = data.axes.find((one) => one.name === state.x);
  const here = data.cells.filter((cell) => cell.task === state.task), apart = arms.length > 0 && axis.name !== "arm";
  const wanted = !apart ? [null] : state.arm === "side by side" ? arms : [state.arm];
  // an arm without this setting is the same everywhere along it
  const stands = (cell, value) => cell.settings[axis.name] === value || cell.settings[axis.name] === null;
  const series = wanted.map((arm) => {
    const points = axis.values.map((value) => together(here.filter((cell) => stands(cell, value) && (arm === null || cell.settings.arm === arm)), metric, howOf(state)));
    const column = (key) => points.map((point) => (point ? point[key] : null));
    return { name: arm ?? state.task, x: axis.values.map((value) => (axis.kind === "number" ? value : worded(value))), y: column("value"), low: column("low"), high: column("high"), note: column("note") };
  });
  lineChart(figure, { caption: `${withUnit(metric)} against ${axis.name} for ${state.task}: ${overOthers(state, [axis.name, ...(apart ? ["arm"] : [])])}, with 95 % intervals where one cell is shown; ${betterIs(metric)}`,
    x: axis.name, y: withUnit(metric), series, apart: axis.kind !== "number", ticks: axis.values.map((value) => (axis.kind === "number" ? value : worded(value))), logX: axis.kind === "number" && isLog(axis.values), reference: metric.name === "residual" ? 1 : null });
}

function drawParallel(figure, state) {
  const metric = metricByName.get(state.metric);
  const cells = data.cells.filter((cell) => cell.task === state.task && meanOf(cell, metric) !== null);
  const share = shareOf(metric, cells.map((cell) => meanOf(cell, metric)));
  const width = widthOf(figure), height = 300, narrow = width < 520, box = { left: 36, right: width - 56, top: 44, bottom: height - 24 };
  const svg = picture(width, height, "Parallel coordinates; the numbers follow as a table");
  const axes = [...data.axes, { name: metric.name, values: cells.map((cell) => meanOf(cell, metric)), metric: true }];
  const at = axes.map((axis, i) => box.left + (i * (box.right - box.left)) / (axes.length - 1));
  const scales = axes.map((axis) => scale(axis.metric ? axis.values : [...axis.values, ...cells.map((cell) => cell.settings[axis.name])].map(worded), box.bottom, box.top));
  const ordered = [...cells].sort((a, b) => share(meanOf(a, metric)) - share(meanOf(b, metric)));
  for (const cell of ordered) {
    const points = axes.map((axis, i) => [at[i], scales[i].at(axis.metric ? meanOf(cell, metric) : worded(cell.settings[axis.name]))]);
    const tint = colour(share(meanOf(cell, metric)));
    svg.append(tipped(mark("path", { class: "thread", stroke: tint.fill, d: points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("") }), `${cell.label}\n${metric.name} ${shown(meanOf(cell, metric))}`));
  }
  axes.forEach((axis, i) => {
    svg.append(mark("line", { class: "axis", x1: at[i], x2: at[i], y1: box.top, y2: box.bottom }));
    svg.append(mark("text", { class: "label", x: at[i], y: narrow && i % 2 ? 14 : 30, "text-anchor": i === 0 ? "start" : i === axes.length - 1 ? "end" : "middle", dx: i === 0 ? -30 : i === axes.length - 1 ? 50 : 0, text: axis.name }));
    for (const tick of scales[i].ticks) svg.append(mark("text", { class: "tick halo", x: at[i] + 5, y: scales[i].at(tick) + 4, text: scales[i].text(tick) }));
  });
  const rows = [...ordered].reverse().map((cell) => [cell.label, ...cell.means[metric.name].slice(0, 3)]);
  show(figure, { caption: `Every cell of ${state.task} as a line through its parameters to its ${metric.name}; ${metric.direction === "none" ? "brighter is larger" : "brighter is better"}`, svg, header: ["cell", withUnit(metric), "low", "high"], rows });
}
