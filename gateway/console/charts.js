// Small line charts over time. A chart is made once and fed points; what it says is also said as text.

import { h, svg } from "./dom.js";

const WIDTH = 300;
const HEIGHT = 84;
const KEPT = 240;

export function makeChart(title, format, most = undefined) {
  const points = [];
  const value = h("strong", { class: "value" }, "—");
  const top = svg("text", { x: WIDTH - 2, y: 10, "text-anchor": "end", class: "axis" });
  const line = svg("path", { class: "line" });
  const area = svg("path", { class: "area" });
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title, preserveAspectRatio: "none" },
    svg("path", { class: "grid", d: `M0 ${HEIGHT - 1}H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}` }), area, line);
  const scale = svg("svg", { class: "scale", viewBox: `0 0 ${WIDTH} 12`, "aria-hidden": "true" }, top);
  const element = h("figure", { class: "chart panel" }, h("figcaption", {}, h("span", {}, title), value), scale, drawing);

  return {
    element,
    add(at, number) {
      if (!Number.isFinite(number)) return;
      points.push([at, number]);
      if (points.length > KEPT) points.shift();
      const high = Math.max(most ?? 0, ...points.map(([, one]) => one)) || 1;
      const [first, last] = [points[0][0], Math.max(points[0][0] + 60_000, points.at(-1)[0])];
      const place = ([when, one]) => `${(((when - first) / (last - first)) * WIDTH).toFixed(1)} ${(HEIGHT - 2 - (one / high) * (HEIGHT - 8)).toFixed(1)}`;
      const path = points.map(place).join("L");
      line.setAttribute("d", `M${path}`);
      area.setAttribute("d", `M${path}L${place(points.at(-1)).split(" ")[0]} ${HEIGHT}L0 ${HEIGHT}Z`);
      value.textContent = format(number);
      top.textContent = `max ${format(high)}`;
      drawing.setAttribute("aria-label", `${title}: now ${format(number)}, highest ${format(Math.max(...points.map(([, one]) => one)))}`);
    },
  };
}

export function makeBar(title, used, most, format) {
  const share = most ? Math.min(1, used / most) : 0;
  return h("div", { class: "bar" }, h("span", {}, title), h("meter", { value: String(share), min: "0", max: "1", high: "0.9", "aria-label": title }),
    h("span", { class: "quiet" }, `${format(used)} of ${format(most)}`));
}
