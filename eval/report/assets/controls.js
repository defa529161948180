// What a reader can choose, section by section; a choice is a value of the chart's parameters, or another chart.

const judged = data.metrics.filter((metric) => metric.direction !== "none");
const names = (list) => same(list.map((one) => one.name));

function startGrid() {
  const host = document.getElementById("grid");
  if (!host) return;
  const axes = data.axes, plain = axes.filter((name) => name !== "arm"), first = plain[0] || axes[0];
  const beside = data.together.find(([x]) => x === first)?.[1] || axes.find((name) => name !== first);
  const state = { task: data.tasks[0], metric: (judged[0] || data.metrics[0]).name, how: "best", arm: "side by side", x: first, y: beside, picked: "" };
  const [heat, marginal, parallel] = ["heat", "marginal", "parallel"].map((id) => host.querySelector(`#${id}`)), controls = host.querySelector(".controls");
  const acts = [[heat, () => draw(heat, `heat/${state.x}/${state.y}`, state)], [marginal, () => draw(marginal, `marginal/${state.x}`, state)], [parallel, () => draw(parallel, "parallel", state)]];
  const redraw = () => { tellHow(); for (const [, act] of acts) later(act); };
  const set = (key) => (value) => {
    state[key] = value;
    const other = key === "x" ? "y" : "x";
    if (state.x === state.y) { state[other] = axes.find((name) => name !== value); const select = controls.querySelector(`#grid-${other}`); if (select) select.value = state[other]; }
    redraw();
  };
  choose(controls, "grid-task", "Task", same(data.tasks), state.task, set("task"));
  choose(controls, "grid-metric", "Metric", names(data.metrics), state.metric, set("metric"));
  choose(controls, "grid-x", "Across", same(axes), state.x, set("x"));
  if (axes.length > 1) choose(controls, "grid-y", "Down", same(axes), state.y, set("y"));
  if (data.arms.length > 1) choose(controls, "grid-arm", "Arm", same(["side by side", ...data.arms]), state.arm, set("arm"));
  const how = axes.length > 1 ? choose(controls, "grid-how", "Other settings", [["best", "show the best"], ["mean", "show the mean"]], state.how, set("how")) : null;
  const tellHow = () => { if (how) { how.disabled = metricByName.get(state.metric).direction === "none"; how.value = how.disabled ? "mean" : state.how; } };
  tellHow();
  whenPicked.push((cell) => { state.picked = cell; heat.view?.signal("picked", cell).runAsync(); });
  for (const [figure, act] of acts) keepDrawn(figure, act);
}

function startCost() {
  const host = document.getElementById("cost");
  if (!host) return;
  const kinds = [["seconds", "seconds per image"], ["residual", "residual"]].filter(([name]) => data.charts[`cost/${name}`]);
  const state = { task: data.tasks[0], metric: judged[0].name, x: kinds[0][0] }, figure = host.querySelector("figure"), controls = host.querySelector(".controls");
  const act = () => draw(figure, `cost/${state.x}`, state), set = (key) => (value) => { state[key] = value; later(act); };
  choose(controls, "cost-task", "Task", same(data.tasks), state.task, set("task"));
  choose(controls, "cost-metric", "Quality", names(judged), state.metric, set("metric"));
  if (kinds.length > 1) choose(controls, "cost-x", "Against", kinds, state.x, set("x"));
  keepDrawn(figure, act);
}

// Sections with a task to choose at most.
function startPlain() {
  for (const [id, charts] of [["contrasts", ["contrasts"]], ["residual", ["residual"]]]) {
    const host = document.getElementById(id), figure = host?.querySelector("figure"), state = { task: data.tasks[0] };
    if (!figure) continue;
    const act = () => draw(figure, charts[0], state), controls = host.querySelector(".controls");
    if (controls && data.tasks.length > 1) choose(controls, `${id}-task`, "Task", same(data.tasks), state.task, (value) => { state.task = value; later(act); });
    keepDrawn(figure, act);
  }
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const spec = JSON.parse(figure.dataset.chart);
    keepDrawn(figure, () => draw(figure, "", {}, spec));
  }
}

function startTraces() {
  const host = document.getElementById("traces");
  if (!host) return;
  const of = (task) => data.traces.filter((trace) => cellById.get(trace.cell).task === task);
  const tasks = data.tasks.filter((task) => of(task).length), state = { task: tasks[0] };
  const figures = [...host.querySelectorAll("#curves figure")], snapshots = host.querySelector("#snapshots");
  const curve = (figure) => () => { const has = of(state.task).some((trace) => trace.curves.includes(figure.dataset.name.slice(6))); return draw(figure, has ? figure.dataset.name : "", state); };
  choose(host.querySelector(".controls"), "trace-task", "Task", same(tasks), state.task, (value) => { state.task = value; for (const figure of figures) later(curve(figure)); showSnapshots(snapshots, of(state.task)); });
  for (const figure of figures) keepDrawn(figure, curve(figure));
  showSnapshots(snapshots, of(state.task));
}
