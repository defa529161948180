// Galleries: truth, measurement and reconstructions in a row. Pointing at one picture enlarges the same spot of all.

function tile(row, key, name, value, missing = "none") {
  const source = data.images[key];
  const frame = el("span", { class: "frame" }, source ? el("img", { src: source, alt: "", loading: "lazy", decoding: "async" }) : el("span", { class: "none", text: missing }));
  const image = frame.querySelector("img");
  image?.addEventListener("load", () => image.classList.toggle("sharp", image.naturalWidth <= 96));
  const button = el("button", { type: "button", class: "tile", "aria-label": `${[name, value].filter(Boolean).join(" ")}, ${row.measurement}: enlarge the row` }, frame, el("span", { class: "name" }, ...parts(name)), " ", value ? el("span", { class: "value", text: value }) : null);
  return button;
}

// A label breaks between its settings, not within them.
function parts(name) {
  const words = name.split(", ");
  return words.flatMap((word, index) => [index ? " " : null, el("span", { class: "part", text: index < words.length - 1 ? `${word},` : word })]);
}

function zoomTogether(line) {
  line.addEventListener("pointermove", (event) => {
    const frame = event.target.closest?.(".frame");
    if (!frame || event.pointerType === "touch") { line.classList.remove("zoomed"); return; }
    const area = frame.getBoundingClientRect();
    line.style.setProperty("--spot-x", `${((event.clientX - area.left) / area.width) * 100}%`);
    line.style.setProperty("--spot-y", `${((event.clientY - area.top) / area.height) * 100}%`);
    line.classList.add("zoomed");
  });
  line.addEventListener("pointerleave", () => line.classList.remove("zoomed"));
}

function tilesOf(row) {
  const metric = metricByName.get(row.metric);
  const fixed = [[`truth/${row.measurement}`, "truth"], [`y/${row.measurement}`, "measurement"]].filter(([key]) => data.images[key]);
  return [...fixed.map(([key, name]) => tile(row, key, name, "")),
    ...Object.entries(row.values).map(([id, value]) => tile(row, `${id}/${row.measurement}/${row.seed}`, cellById.get(id).label, value === null ? (row.unasked.includes(id) ? "not solved" : "failed") : `${metric.name} ${shown(value)}`))];
}

function enlarge(row) {
  const dialog = document.getElementById("enlarged");
  const line = el("div", { class: "tiles large" }, ...tilesOf(row).map((button) => fill(el("div", { class: "tile" }), {}, [...button.childNodes])));
  zoomTogether(line);
  dialog.replaceChildren(
    el("div", { class: "bar" }, el("h3", { text: `${row.kind} by ${row.metric}: ${row.measurement}` }), el("button", { type: "button", text: "Close", autofocus: true, onclick: () => dialog.close() })), line);
  dialog.showModal();
}

function startPictures() {
  const host = document.getElementById("pictures");
  if (!host || !data.rows.length) return;
  const has = (task) => names(data.metrics).filter(([name]) => data.rows.some((row) => row.task === task && row.metric === name));
  const tasks = [...new Set(data.rows.map((row) => row.task))];
  const state = { task: tasks[0], metric: has(tasks[0])[0][0], kind: "all" };
  const controls = host.querySelector(".controls"), place = host.querySelector(".gallery");
  const draw = () => {
    const rows = data.rows.filter((row) => row.task === state.task && row.metric === state.metric && (state.kind === "all" || row.kind === state.kind));
    const order = ["worst", "median", "best"];
    rows.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
    place.classList.toggle("wide", rows.some((row) => Object.keys(row.values).length > 3));
    place.replaceChildren(...rows.map((row) => {
      const line = el("div", { class: "tiles" }, ...tilesOf(row));
      for (const button of line.children) button.addEventListener("click", () => enlarge(row));
      zoomTogether(line);
      return el("article", { class: "row" }, el("h3", {}, el("span", { class: `badge ${row.kind}`, text: row.kind }), ` ${row.measurement}`, row.prompt ? el("span", { class: "prompt", text: ` “${row.prompt}”` }) : null), line);
    }));
    if (!rows.length) place.replaceChildren(el("p", { text: "No pictures of this kind were kept within the page's budget." }));
  };
  choose(controls, "pictures-task", "Task", same(tasks), state.task, (value) => {
    state.task = value;
    if (!has(value).some(([name]) => name === state.metric)) state.metric = has(value)[0][0];
    offer(metric, has(value), state.metric);
    draw();
  });
  const metric = choose(controls, "pictures-metric", "Ranked by", has(state.task), state.metric, (value) => { state.metric = value; draw(); });
  choose(controls, "pictures-kind", "Rows", [["all", "worst, median, best"], ["worst", "worst"], ["median", "median"], ["best", "best"]], "all", (value) => { state.kind = value; draw(); });
  draw();
}

function showSnapshots(figure, traces) {
  const lines = traces.filter((trace) => trace.snapshots.length || trace.snapshots_kept || trace.beside.length).map((trace) => {
    const row = { measurement: trace.measurement, metric: "", kind: "", values: {} };
    const beside = [["measured", `y/${trace.measurement}`], ["truth", `truth/${trace.measurement}`]].filter(([, key]) => data.images[key]);
    const tiles = [...trace.snapshots.map(([t, key]) => [`t = ${t}`, key]), ...trace.beside, ...beside];
    const strip = el("div", { class: "tiles strip" }, ...tiles.map(([name, key]) => fill(el("div", { class: "tile" }), {}, [...tile(row, key, name, "").childNodes])));
    zoomTogether(strip);
    const left = trace.snapshots_kept > trace.snapshots.length ? `, ${trace.snapshots.length} of ${trace.snapshots_kept} levels; the others are left out to bound the size of this page` : "";
    return el("div", {}, el("h3", { text: `${cellById.get(trace.cell).label}: ${trace.measurement}${left}` }), strip);
  });
  figure.hidden = !lines.length;
  figure.replaceChildren(el("figcaption", { text: "Snapshots that the method kept while solving, as t falls, beside the measurement and the truth; of the mean of several samples also the spread, white where they differ most" }), ...lines);
}
