// Starts every part; one that fails must not take the others along.

function startTheme() {
  const select = document.getElementById("theme");
  const apply = (value) => { if (value === "auto") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = value; };
  let stored = "auto";
  try { stored = localStorage.getItem("g2d2-theme") || "auto"; } catch { /* a sandboxed frame keeps nothing */ }
  select.value = ["auto", "light", "dark"].includes(stored) ? stored : "auto";
  apply(select.value);
  select.addEventListener("change", () => {
    apply(select.value);
    try { localStorage.setItem("g2d2-theme", select.value); } catch { /* as above */ }
  });
}
function startNavigation() {
  const links = [...document.querySelectorAll("nav a")];
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links) { if (link.hash === `#${entry.target.id}`) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current"); }
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const section of document.querySelectorAll("main section[id]")) watch.observe(section);
}

for (const start of [startTheme, startNavigation, startPictures, startExplorer, startGrid, startCost, startTraces, startPlain]) {
  try { start(); } catch (error) { console.error(error); }
}
later(() => {});
