// One mark per cell: quality against seconds or residual, contrasts, residuals against the noise.

function startCost() {
  const host = document.getElementById("cost");
  if (!host) return;
  const judged = data.metrics.filter((metric) => metric.direction !== "none");
  const axes = [["seconds", "seconds per image"], ...(metricByName.has("residual") ? [["residual", "residual"]] : [])].filter(([name]) => name !== "seconds" || data.cells.some((cell) => cell.seconds !== null));
  const state = { task: data.tasks[0], metric: judged[0].name, x: axes[0][0] };
  const figure = host.querySelector("figure"), controls = host.querySelector(".controls");
  const draw = () => drawScatter(figure, state);
  choose(controls, "cost-task", "Task", same(data.tasks), state.task, (value) => { state.task = value; draw(); });
  choose(controls, "cost-metric", "Quality", same(judged.map((metric) => metric.name)), state.metric, (value) => { state.metric = value; draw(); });
  if (axes.length > 1) choose(controls, "cost-x", "Against", axes, state.x, (value) => { state.x = value; draw(); });
  keepDrawn(figure, draw);
}

// Cells that no other beats in both seconds and quality.
function paretoFront(points, metric) {
  const ordered = [...points].sort((a, b) => a.x - b.x || (isBetter(metric, a.y, b.y) ? -1 : 1));
  const front = [];
  for (const point of ordered) if (!front.length || isBetter(metric, point.y, front[front.length - 1].y)) front.push(point);
  return front;
}

function drawScatter(figure, state) {
  const metric = metricByName.get(state.metric), byTime = state.x === "seconds";
  const points = data.cells.filter((cell) => cell.task === state.task)
    .map((cell) => ({ cell, x: byTime ? cell.seconds : cell.means.residual?.[0] ?? null, y: meanOf(cell, metric), mean: cell.means[metric.name] }))
    .filter((point) => point.x !== null && point.y !== null);
  const width = widthOf(figure), height = 340, box = { left: 58, right: width - 16, top: 28, bottom: height - 46 };
  const xName = byTime ? "seconds per image" : "residual: distance to the measurement over that of the noise";
  const svg = picture(width, height, `${metric.name} against ${xName}; the numbers follow as a table`);
  const xs = points.map((point) => point.x).concat(byTime ? [] : [1]);
  const x = scale(xs, box.left + 6, box.right - 6, { log: isLog(xs) });
  const y = scale(points.flatMap((point) => point.mean.slice(0, 3)), box.bottom, box.top);
  drawAxes(svg, x, y, box, { x: width < 520 && !byTime ? "residual" : xName, y: withUnit(metric) });
  const full = points.filter((point) => metric.name in point.cell.ranked);
  const front = byTime ? paretoFront(full.length ? full : points, metric) : [];
  if (!byTime) svg.append(mark("line", { class: "reference", x1: x.at(1), x2: x.at(1), y1: box.top, y2: box.bottom }));
  if (front.length > 1) svg.append(mark("path", { class: "front", d: front.map((point, i) => `${i ? "L" : "M"}${x.at(point.x)} ${y.at(point.y)}`).join("") }));
  for (const point of points) {
    const arm = point.cell.settings.arm, kind = armClass(arm, plainClass(0));
    if (point.mean[1] !== null) svg.append(mark("line", { class: `whisker ${kind}`, x1: x.at(point.x), x2: x.at(point.x), y1: y.at(point.mean[1]), y2: y.at(point.mean[2]) }));
    if (front.includes(point)) svg.append(mark("circle", { class: "ring", cx: x.at(point.x), cy: y.at(point.y), r: 9 }));
    svg.append(tipped(pointShape(kind, x.at(point.x), y.at(point.y), 5, armPlace(arm)), `${point.cell.label}\n${metric.name} ${shown(point.y)}, ${byTime ? "seconds" : "residual"} ${shown(point.x)}`));
  }
  const legend = [...armLegend(points.map((point) => point.cell)), ...(front.length ? [["no other cell is both faster and better", "ringed"]] : []), ...(byTime ? [] : [["1: what the noise alone gives", "dashed"]])];
  const rows = points.map((point) => [point.cell.label, point.x, ...point.mean.slice(0, 3), front.includes(point) ? "yes" : ""]);
  show(figure, { caption: `${withUnit(metric)} against ${xName}, every cell of ${state.task}; ${betterIs(metric)}${byTime ? ". Seconds follow from the calls of the networks that a cell needs" : ""}`, svg, legend, header: ["cell", byTime ? "seconds" : "residual", metric.name, "low", "high", "Pareto"], rows });
}

// Differences lie on one axis once they are counted in standard errors of their own.
function startContrasts() {
  const figure = document.getElementById("forest");
  if (figure) keepDrawn(figure, () => drawForest(figure));
}
function drawForest(figure) {
  const contrasts = data.contrasts.filter((one) => one.mean !== null && one.low !== null);
  if (!contrasts.length) { figure.remove(); return; }
  const rivals = [...new Set(contrasts.map((one) => one.a))], baseline = contrasts[0].b, alone = rivals.length === 1;
  const width = widthOf(figure), line = 34, narrow = width < 560, right = width - 12;
  const nameOf = (one) => `${one.task} · ${one.metric}${alone ? "" : ` · ${one.a}`}`, longest = Math.max(...contrasts.map((one) => nameOf(one).length));
  const left = narrow ? 8 : Math.min(24 + 6.6 * longest, width / 2);
  const tall = narrow ? 52 : line, height = 34 + contrasts.length * tall + 30;
  const svg = picture(width, height, `Differences to ${baseline} with 95 % intervals; the numbers stand in the table below`);
  const sign = (one) => (one.direction === "lower" ? -1 : 1);
  const unit = contrasts.map((one) => Math.max(Math.abs(one.low), Math.abs(one.high)) || 1);
  const middle = left + (right - left) / 2, half = (right - left) / 2 - 70;
  svg.append(mark("text", { class: "label", x: middle - 10, y: 16, "text-anchor": "end", text: `← ${baseline} better` }), mark("text", { class: "label", x: middle + 10, y: 16, text: alone ? `${rivals[0]} better →` : "the other better →" }));
  svg.append(mark("line", { class: "reference", x1: middle, x2: middle, y1: 24, y2: height - 24 }));
  contrasts.forEach((one, i) => {
    const y = 34 + i * tall + (narrow ? 34 : line / 2), at = (value) => middle + (sign(one) * value / unit[i]) * half;
    const kind = armClass(one.winner), name = nameOf(one);
    svg.append(mark("text", { class: "name halo", x: narrow ? 8 : left - 12, y: narrow ? y - 16 : y + 4, "text-anchor": narrow ? "start" : "end", text: name }));
    svg.append(mark("line", { class: `whisker thick ${kind}`, x1: at(one.low), x2: at(one.high), y1: y, y2: y }));
    svg.append(tipped(pointShape(kind, at(one.mean), y, 5, armPlace(one.winner)), `${name}: ${shown(one.mean)} [${shown(one.low)}, ${shown(one.high)}]\n${one.verdict}`));
    const end = Math.max(at(one.low), at(one.high)), text = `${one.mean > 0 ? "+" : ""}${shown(one.mean, 3)}`;
    svg.append(mark("text", { class: "tick", x: end + 8, y: y + 4, text }));
  });
  show(figure, { caption: `${rivals.join(", ")} minus ${baseline}, best against best, each row on a scale of its own; right of the line ${alone ? `${rivals[0]} is` : "the other arm is"} better`, svg });
}

function startResiduals() {
  const host = document.getElementById("residual");
  if (!host) return;
  const state = { task: data.tasks[0] }, figure = host.querySelector("figure");
  const draw = () => drawResiduals(figure, state);
  if (data.tasks.length > 1) choose(host.querySelector(".controls"), "residual-task", "Task", same(data.tasks), state.task, (value) => { state.task = value; draw(); });
  keepDrawn(figure, draw);
}
function drawResiduals(figure, state) {
  const cells = data.chosen[state.task].map((id) => cellById.get(id)).filter((cell) => data.residuals[cell.id]);
  const width = widthOf(figure), tall = 48, height = 30 + cells.length * tall + 46, box = { left: 14, right: width - 14, top: 28, bottom: height - 46 };
  const svg = picture(width, height, "Residuals of the images of each cell; the numbers follow as a table");
  const values = cells.flatMap((cell) => data.residuals[cell.id]), x = scale([...values, 1], box.left, box.right, { log: isLog(values) });
  drawAxes(svg, x, { ticks: [] }, box, { x: "residual", y: "" });
  const stray = data.expected[state.task];
  if (stray) {
    const from = Math.max(box.left, x.at(1 - 2 * stray)), to = Math.min(box.right, x.at(1 + 2 * stray));
    svg.append(mark("rect", { class: "band", x: from, width: Math.max(2, to - from), y: box.top, height: box.bottom - box.top }));
  }
  svg.append(mark("line", { class: "reference", x1: x.at(1), x2: x.at(1), y1: box.top, y2: box.bottom }));
  cells.forEach((cell, i) => {
    const [p5, p25, p50, p75, p95] = data.residuals[cell.id], y = box.top + i * tall + 32, arm = cell.settings.arm, kind = armClass(arm, plainClass(i));
    svg.append(mark("text", { class: "name halo", x: box.left + 2, y: y - 14, text: cell.label }));
    svg.append(mark("line", { class: `whisker ${kind}`, x1: x.at(p5), x2: x.at(p95), y1: y, y2: y }));
    svg.append(mark("line", { class: `whisker bar ${kind}`, x1: x.at(p25), x2: x.at(p75), y1: y, y2: y }));
    svg.append(tipped(pointShape(kind, x.at(p50), y, 5, armPlace(arm)), `${cell.label}\nmedian ${shown(p50)}, half of the images in [${shown(p25)}, ${shown(p75)}], 90 % in [${shown(p5)}, ${shown(p95)}]`));
  });
  const rows = cells.map((cell) => [cell.label, ...data.residuals[cell.id]]);
  show(figure, { caption: `Residuals of single images of ${state.task}: median, middle half and 90 %. At 1 a reconstruction is as far from the measurement as the noise put the truth${stray ? "; the band is where 95 % of truths lie" : ""}`,
    svg, legend: [...armLegend(cells), ["1: what the noise alone gives", "dashed"]], header: ["cell", "5 %", "25 %", "median", "75 %", "95 %"], rows });
}
