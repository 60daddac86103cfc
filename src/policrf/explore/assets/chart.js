// Energy (solid) and lower bound (dashed) of every answer against time, as SVG.
function chart(answers, chosen) {
  const W = 460, H = 240, L = 58, R = 10, T = 10, B = 34, space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const add = (tag, properties, text) => { const e = document.createElementNS(space, tag); for (const [k, v] of Object.entries(properties)) e.setAttribute(k, v); if (text !== undefined) e.textContent = text; svg.append(e); return e; };
  svg.setAttribute("viewBox", `0 0 ${W} ${H}`); svg.setAttribute("role", "img");
  const points = answers.flatMap((a) => a.trace.filter((p) => p[1] !== null));
  if (!points.length) { add("text", { x: L, y: H / 2 }, "no trace"); return svg; }
  const last = Math.max(...answers.map((a) => a.seconds), 1e-4), first = Math.max(Math.min(...points.map((p) => p[0]).filter((t) => t > 0), last / 2), 1e-6);
  const best = Math.min(...answers.map((a) => a.energy ?? Infinity));
  const ends = answers.map((a) => a.energy).filter((e) => e !== null), bounds = answers.map((a) => a.bound).filter((b) => b !== null);
  const worst = Math.max(...ends), spread = Math.max(worst - best, 0.02 * Math.abs(best), 1e-9);
  const top = Math.min(Math.max(...points.map((p) => p[1])), worst + spread), base = Math.max(Math.min(best, ...bounds), best - 1.5 * spread);
  const room = 0.06 * Math.max(top - base, spread), low = base - room, high = top + room;
  const x = (t) => L + ((Math.log(Math.max(t, first)) - Math.log(first)) / Math.max(Math.log(last / first), 1e-9)) * (W - L - R);
  const y = (e) => T + (1 - (Math.min(Math.max(e, low), high) - low) / (high - low)) * (H - T - B);
  for (let k = 0; k <= 4; k++) { const e = low + ((high - low) * k) / 4; add("line", { x1: L, x2: W - R, y1: y(e), y2: y(e), stroke: "#e2e7ea" }); add("text", { x: L - 6, y: y(e) + 4, "text-anchor": "end" }, e.toFixed(Math.min(Math.max(2 - Math.floor(Math.log10(high - low)), 0), 6))); }
  for (let d = Math.ceil(Math.log10(first)); d <= Math.log10(last); d++) { const t = 10 ** d; add("line", { x1: x(t), x2: x(t), y1: T, y2: H - B, stroke: "#eef1f3" }); add("text", { x: x(t), y: H - B + 16, "text-anchor": "middle" }, seconds(t)); }
  add("text", { x: (L + W) / 2, y: H - 4, "text-anchor": "middle" }, "time since the call");
  answers.forEach((answer, k) => {
    const width = k === chosen ? 3 : 1.5, stroke = LINES[k % LINES.length];
    const path = (column) => {
      let d = "", before = null;
      for (const p of [...answer.trace, [answer.seconds, answer.energy, answer.bound]]) { if (p[column] === null) continue; d += before === null ? `M${x(p[0])} ${y(p[column])}` : `L${x(p[0])} ${before}L${x(p[0])} ${y(p[column])}`; before = y(p[column]); }
      return d;
    };
    const solid = path(1), dashed = path(2);
    if (solid) add("path", { d: solid, fill: "none", stroke, "stroke-width": width });
    if (dashed) add("path", { d: dashed, fill: "none", stroke, "stroke-width": width, "stroke-dasharray": "4 3" });
    if (answer.energy !== null) add("circle", { cx: x(answer.seconds), cy: y(answer.energy), r: answer.proven ? 5 : 3, fill: answer.proven ? stroke : "#fff", stroke, "stroke-width": 2 });
  });
  const told = answers.map((a) => `${a.name}: energy ${figures(a.energy, 6)}${a.proven ? ", proven" : ""}`).join("; ");
  svg.setAttribute("aria-label", `Energy over time. ${told}`);
  return svg;
}
