// How solving went: the curves that the method kept, and its snapshots over t.

function startTraces() {
  const host = document.getElementById("traces");
  if (!host) return;
  const tasks = data.tasks.filter((task) => data.traces.some((trace) => cellById.get(trace.cell).task === task));
  const state = { task: tasks[0] };
  const figures = [...host.querySelectorAll("#curves figure")], snapshots = host.querySelector("#snapshots");
  const draw = () => { for (const figure of figures) drawCurve(figure, state); drawSnapshots(snapshots, state); };
  choose(host.querySelector(".controls"), "trace-task", "Task", same(tasks), state.task, (value) => { state.task = value; draw(); });
  for (const figure of figures) keepDrawn(figure, () => drawCurve(figure, state));
  drawSnapshots(snapshots, state);
}
const tracesOf = (state) => data.traces.map((trace) => ({ ...trace, of: cellById.get(trace.cell) })).filter((trace) => trace.of.task === state.task);

function drawCurve(figure, state) {
  const name = figure.dataset.curve, able = tracesOf(state).filter((trace) => trace.curves[name]?.length);
  figure.hidden = !able.length;
  if (!able.length) return;
  const series = able.map((trace) => {
    const y = trace.curves[name], each = (trace.levels.length || y.length) / y.length;
    return { name: trace.of.label, arm: trace.of.settings.arm, x: y.map((_, i) => each * (i + 1)), y };
  });
  const values = series.flatMap((one) => one.y).filter((value) => value !== null), positive = values.every((value) => value > 0);
  lineChart(figure, { caption: `${name} while solving ${state.task}; mean of ${able[0].rows} measurements`,
    x: "step (T first)", y: name, series, logY: positive && isLog(values), reference: null });
}
function drawSnapshots(figure, state) {
  const lines = tracesOf(state).filter((trace) => trace.snapshots.length || trace.snapshots_kept).map((trace) => {
    const row = { measurement: trace.measurement, metric: "", kind: "", values: {} };
    const beside = [["measured", `y/${trace.measurement}`], ["truth", `truth/${trace.measurement}`]].filter(([, key]) => data.images[key]);
    const tiles = [...trace.snapshots.map(([t, key]) => [`t = ${t}`, key]), ...beside];
    const strip = el("div", { class: "tiles strip" }, ...tiles.map(([name, key]) => fill(el("div", { class: "tile" }), {}, [...tile(row, key, name, "").childNodes])));
    zoomTogether(strip);
    const left = trace.snapshots_kept > trace.snapshots.length ? `, ${trace.snapshots.length} of ${trace.snapshots_kept} levels; the others are left out to bound the size of this page` : "";
    return el("div", {}, el("h4", { text: `${trace.of.label}: ${trace.measurement}${left}` }), strip);
  });
  figure.hidden = !lines.length;
  figure.replaceChildren(el("figcaption", { text: "Snapshots that the method kept while solving, as t falls, beside the measurement and the truth" }), ...lines);
}
