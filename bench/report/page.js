"use strict";
(() => {
  const plots = JSON.parse(document.getElementById("data").textContent);
  const place = document.getElementById("plots");
  if (!plots || !place) return;
  const curves = document.getElementById("curves");
  curves.hidden = false;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const colours = {
    light: ["#0b6e99", "#c4432b", "#3a7d34", "#8a4fb5", "#b07d00", "#0f8f86", "#c2317f", "#555555"],
    dark: ["#5cc3ea", "#ff8b73", "#86d17e", "#c69bea", "#f0c04a", "#5fd6cc", "#ff8ac4", "#bbbbbb"],
  };
  let drawn = [];
  const draw = (printing) => {
    drawn.forEach((u) => u.destroy());
    drawn = [];
    place.textContent = "";
    if (!curves.open) return; // there is no room to draw in
    const night = dark.matches && !printing;
    const palette = night ? colours.dark : colours.light;
    const ink = night ? "#98a2ad" : "#5d6670";
    const grid = { stroke: night ? "#2a3138" : "#e6eaee", width: 1 };
    const boxes = plots.map(() => { // all of them first: how many there are decides how wide each is
      const box = document.createElement("div");
      box.className = "plot";
      place.append(box);
      return box;
    });
    drawn = plots.map((p, at) => {
      const box = boxes[at];
      const axis = { stroke: ink, grid, ticks: grid };
      return new uPlot({
        title: p.title + ", " + p.unit,
        width: Math.max(280, box.clientWidth), height: 260,
        scales: { x: { time: false }, y: { range: (u, low, high) => [Math.min(0, low ?? 0), (high ?? 0) > 0 ? high * 1.05 : 1] } },
        axes: [axis, { ...axis, size: 60 }],
        series: [{ label: "s" }, ...p.names.map((name, i) => ({
          label: name, stroke: palette[i % palette.length], width: 1.5, spanGaps: true, points: { show: false },
        }))],
      }, p.data, box);
    });
  };
  draw(false);
  curves.addEventListener("toggle", () => draw(false));
  dark.addEventListener("change", () => draw(false));
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => draw(false), 150); });
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => draw(false));
})();
