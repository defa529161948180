// Lines over a common axis: marginal curves, losses, re-masked tokens, and charts that Python handed over.

function pointShape(kind, x, y, size = 4) {
  if (kind === "markov") return mark("rect", { class: `point ${kind}`, x: x - size, y: y - size, width: 2 * size, height: 2 * size });
  return mark("circle", { class: `point ${kind}`, cx: x, cy: y, r: size });
}

function lineChart(figure, chart) {
  const width = widthOf(figure), height = chart.height || 280;
  const box = { left: 58, right: width - 14, top: 28, bottom: height - 46 };
  const svg = picture(width, height, `${chart.caption}. The numbers follow as a table.`);
  const every = (name) => chart.series.flatMap((one) => [...(one[name] || [])]);
  const levels = [...every("y"), ...every("low"), ...every("high")].concat(chart.reference === null || chart.reference === undefined ? [] : [chart.reference]);
  const positive = levels.filter((value) => value !== null && value > 0);
  const x = scale(every("x"), box.left + 8, box.right - 8, { log: chart.logX, pad: 0.02 });
  const y = scale(chart.logY ? positive : levels, box.bottom, box.top, { log: chart.logY });
  drawAxes(svg, chart.ticks && chart.ticks.length <= 12 ? { ...x, ticks: chart.ticks } : x, y, box, chart);
  if (chart.reference !== null && chart.reference !== undefined)
    svg.append(mark("line", { class: "reference", x1: box.left, x2: box.right, y1: y.at(chart.reference), y2: y.at(chart.reference) }));
  const rows = [];
  chart.series.forEach((one, index) => {
    const kind = seriesClass(one.kind || one.name, index);
    const good = [...one.y.keys()].filter((i) => one.y[i] !== null && (!chart.logY || one.y[i] > 0));
    svg.append(mark("path", { class: `line ${kind}`, d: good.map((i, n) => `${n ? "L" : "M"}${x.at(one.x[i]).toFixed(1)} ${y.at(one.y[i]).toFixed(1)}`).join("") }));
    for (const i of good) {
      const low = one.low?.[i], high = one.high?.[i];
      if (low !== null && low !== undefined) svg.append(mark("line", { class: `whisker ${kind}`, x1: x.at(one.x[i]), x2: x.at(one.x[i]), y1: y.at(low), y2: y.at(high) }));
      if (one.x.length <= 40)
        svg.append(tipped(pointShape(kind, x.at(one.x[i]), y.at(one.y[i])),
          `${one.name}\n${chart.x} ${worded(one.x[i])}: ${shown(one.y[i])}${low === null || low === undefined ? "" : ` [${shown(low)}, ${shown(high)}]`}${one.note?.[i] ? `\n${one.note[i]}` : ""}`));
      if (good.length <= 200 || i % Math.ceil(good.length / 200) === 0) rows.push([one.name, worded(one.x[i]), one.y[i], low ?? null, high ?? null]);
    }
  });
  const legend = chart.series.length > 1 ? chart.series.map((one, index) => [one.name, seriesClass(one.kind || one.name, index)]) : [];
  show(figure, { caption: chart.caption, svg, legend, header: chart.table === false ? null : ["series", chart.x, chart.y, "low", "high"], rows });
}

function startHandedCharts() {
  for (const figure of document.querySelectorAll("figure[data-lines]")) {
    const chart = JSON.parse(figure.dataset.lines);
    keepDrawn(figure, () => lineChart(figure, { ...chart, table: false }));
  }
}
