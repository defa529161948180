// How solving went: losses, tokens that were masked again, and the prior's own guesses over t.

function startTraces() {
  const host = document.getElementById("traces");
  if (!host) return;
  const tasks = data.tasks.filter((task) => data.traces.some((trace) => cellById.get(trace.cell).task === task));
  const state = { task: tasks[0], loss: "total" };
  const figure = (name) => host.querySelector(`#${name}`), controls = host.querySelector(".controls");
  const draw = () => { drawLosses(figure("losses"), state); drawRemasked(figure("remasked"), state); drawSamples(figure("samples"), state); };
  choose(controls, "trace-task", "Task", same(tasks), state.task, (value) => { state.task = value; draw(); });
  choose(controls, "trace-loss", "Loss", [["total", "total"], ["likelihood", "likelihood"], ["kl", "KL"]], state.loss, (value) => { state.loss = value; draw(); });
  keepDrawn(figure("losses"), () => drawLosses(figure("losses"), state));
  keepDrawn(figure("remasked"), () => drawRemasked(figure("remasked"), state));
  drawSamples(figure("samples"), state);
}
const tracesOf = (state) => data.traces.map((trace) => ({ ...trace, of: cellById.get(trace.cell) })).filter((trace) => trace.of.task === state.task);

function drawLosses(figure, state) {
  const series = tracesOf(state).map((trace) => {
    const y = trace[state.loss];
    return { name: trace.of.label, process: trace.of.settings.process, x: y.map((_, i) => (trace.levels.length * i) / y.length), y };
  });
  const values = series.flatMap((one) => one.y).filter((value) => value !== null && value > 0);
  lineChart(figure, { caption: `${state.loss === "kl" ? "KL" : state.loss} loss over the inner iterations of every step, ${state.task}; mean of ${tracesOf(state)[0].rows} images`,
    x: "step (T first)", y: state.loss === "kl" ? "KL" : `${state.loss} loss`, series, logY: isLog(values), reference: null });
}
function drawRemasked(figure, state) {
  const series = tracesOf(state).map((trace) => ({ name: trace.of.label, process: trace.of.settings.process, x: trace.remasked.map((_, i) => i + 1), y: trace.remasked }));
  lineChart(figure, { caption: `Tokens that went from a code back to the mask, per step, ${state.task}; mean of ${tracesOf(state)[0].rows} images`,
    x: "step (T first)", y: "re-masked tokens", series, reference: null });
}
function drawSamples(figure, state) {
  const lines = tracesOf(state).filter((trace) => trace.samples.length || trace.samples_kept).map((trace) => {
    const row = { measurement: trace.measurement, metric: "", kind: "", values: {} };
    const beside = [["measured", `y/${trace.measurement}`], ["truth", `truth/${trace.measurement}`]].filter(([, key]) => data.images[key]);
    const tiles = [...trace.samples.map(([t, key]) => [`t = ${t}`, key]), ...beside];
    const strip = el("div", { class: "tiles strip" }, ...tiles.map(([name, key]) => fill(el("div", { class: "tile" }), {}, [...tile(row, key, name, "").childNodes])));
    zoomTogether(strip);
    const left = trace.samples_kept > trace.samples.length ? `, ${trace.samples.length} of ${trace.samples_kept} levels; the others are left out to bound the size of this page` : "";
    return el("div", {}, el("h4", { text: `${trace.of.label}: ${trace.measurement}${left}` }), strip);
  });
  figure.hidden = !lines.length;
  figure.replaceChildren(el("figcaption", { text: "What the prior alone guesses from z_t, as t falls, beside the measurement and the truth" }), ...lines);
}
