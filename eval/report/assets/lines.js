// Lines over a common axis: marginal curves, curves of solving, and charts that Python handed over.

function pointShape(kind, x, y, size = 4, place = 0) {
  const shape = shapeOf(place);
  if (shape === "square") return mark("rect", { class: `point ${kind}`, x: x - size, y: y - size, width: 2 * size, height: 2 * size });
  if (shape === "circle") return mark("circle", { class: `point ${kind}`, cx: x, cy: y, r: size });
  const far = size * 1.3, corners = shape === "triangle" ? [[0, -far], [far, size], [-far, size]] : [[0, -far], [far, 0], [0, far], [-far, 0]];
  return mark("polygon", { class: `point ${kind}`, points: corners.map(([dx, dy]) => `${(x + dx).toFixed(1)},${(y + dy).toFixed(1)}`).join(" ") });
}
const ring = (kind, x, y) => mark("circle", { class: `mark ${kind}`, cx: x, cy: y, r: 8 });

// Lines of one colour differ in dash and point.
function stylesOf(series) {
  const turns = new Map(), byName = new Map();
  let plain = 0;
  for (const one of series.filter((one) => !one.marks)) {
    const arm = [one.arm, one.name].find((name) => armPlace(name) >= 0), kind = arm === undefined ? plainClass(plain++) : armClass(arm), turn = turns.get(kind) ?? 0;
    turns.set(kind, turn + 1);
    byName.set(one.name, { kind, dash: (turn + (arm === undefined ? 0 : armPlace(arm))) % 4, place: turn + Math.max(armPlace(arm), 0) });
  }
  return series.map((one) => byName.get(one.marks || one.name) ?? { kind: plainClass(0), dash: 0, place: 0 });
}
function keyOf(one, { kind, dash, place }) {
  const svg = mark("svg", { class: "sample", width: 30, height: 18, viewBox: "0 0 30 18", "aria-hidden": "true" });
  if (one.marks) svg.append(ring(kind, 15, 9));
  else svg.append(mark("path", { class: `line ${kind} dash${dash}`, d: "M0 9H30" }), pointShape(kind, 15, 9, 4, place));
  return svg;
}

// Values that are missing, or that a logarithm cannot show, break the line instead of being bridged.
function pathOf(count, has, place) {
  const parts = [];
  for (let i = 0; i < count; i++) if (has(i)) parts.push(`${has(i - 1) ? "L" : "M"}${place(i).map((value) => value.toFixed(1)).join(" ")}`);
  return parts.join("");
}

function lineChart(figure, chart) {
  const width = widthOf(figure), height = chart.height || 280;
  const box = { left: 58, right: width - 14, top: 28, bottom: height - 46 };
  const svg = picture(width, height, `${chart.caption}. The numbers follow as a table.`);
  const every = (name) => chart.series.flatMap((one) => [...(one[name] || [])]);
  const levels = [...every("y"), ...every("low"), ...every("high")].concat(chart.reference === null || chart.reference === undefined ? [] : [chart.reference]);
  const positive = levels.filter((value) => value !== null && value > 0);
  const x = scale(every("x"), box.left + 8, box.right - 8, { log: chart.logX, pad: 0.02, bands: chart.apart });
  const y = scale(chart.logY ? positive : levels, box.bottom, box.top, { log: chart.logY });
  drawAxes(svg, chart.ticks && chart.ticks.length <= 12 ? { ...x, ticks: chart.ticks } : x, y, box, chart);
  if (chart.reference !== null && chart.reference !== undefined)
    svg.append(mark("line", { class: "reference", x1: box.left, x2: box.right, y1: y.at(chart.reference), y2: y.at(chart.reference) }));
  const rows = [], styles = stylesOf(chart.series);
  chart.series.forEach((one, index) => {
    const { kind, dash, place: shape } = styles[index];
    const has = (i) => one.y[i] !== null && one.y[i] !== undefined && (!chart.logY || one.y[i] > 0);
    const place = (i) => [x.at(one.x[i]), y.at(one.y[i])];
    const good = [...one.y.keys()].filter(has);
    if (one.marks) { for (const i of good) svg.append(tipped(ring(kind, ...place(i)), `${one.name}\n${chart.x} ${worded(one.x[i])}: ${shown(one.y[i])}`)); return; }
    if (!chart.apart) svg.append(mark("path", { class: `line ${kind} dash${dash}`, d: pathOf(one.y.length, has, place) }));
    for (const i of good) {
      const low = one.low?.[i], high = one.high?.[i];
      if (low !== null && low !== undefined) svg.append(mark("line", { class: `whisker ${kind}`, x1: x.at(one.x[i]), x2: x.at(one.x[i]), y1: y.at(low), y2: y.at(high) }));
      if (one.x.length <= 40 || (!has(i - 1) && !has(i + 1)))  // a path shows nothing of a point without neighbours
        svg.append(tipped(pointShape(kind, ...place(i), 4, shape),
          `${one.name}\n${chart.x} ${worded(one.x[i])}: ${shown(one.y[i])}${low === null || low === undefined ? "" : ` [${shown(low)}, ${shown(high)}]`}${one.note?.[i] ? `\n${one.note[i]}` : ""}`));
      if (good.length <= 200 || i % Math.ceil(good.length / 200) === 0) rows.push([one.name, worded(one.x[i]), one.y[i], low ?? null, high ?? null]);
    }
  });
  const legend = chart.series.length > 1 ? chart.series.map((one, index) => [one.name, keyOf(one, styles[index])]) : [];
  show(figure, { caption: chart.caption, svg, legend, header: chart.table === false ? null : ["series", chart.x, chart.y, "low", "high"], rows });
}

function startHandedCharts() {
  for (const figure of document.querySelectorAll("figure[data-lines]")) {
    const chart = JSON.parse(figure.dataset.lines);
    keepDrawn(figure, () => lineChart(figure, { ...chart, table: false }));
  }
}
