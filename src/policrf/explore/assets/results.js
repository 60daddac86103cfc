(() => {
  const data = JSON.parse($("data").textContent), S = data.solvers.length, N = data.instances.length;
  const cell = Array.from({ length: S }, () => new Array(N).fill(null)), least = new Array(N).fill(Infinity);
  for (const [s, i, energy, iou, cpu, proven, failed] of data.rows) { cell[s][i] = { energy, iou, cpu, proven, failed }; if (energy !== null) least[i] = Math.min(least[i], energy); }
  const above = (s, i) => (cell[s][i] && cell[s][i].energy !== null ? cell[s][i].energy - least[i] : null);
  const mean = (values) => { const found = values.filter((v) => v !== null && v !== undefined); return found.length ? found.reduce((a, b) => a + b, 0) / found.length : null; };
  const state = { first: 0, second: Math.min(1, S - 1), key: 3, down: true, find: "", chosen: -1 };
  const swatch = (s) => make("span", { className: "swatch", style: `background:${LINES[s % LINES.length]}` });

  function means() {
    const heads = ["solver", "instances", "energy", "above the lowest", "proven", "IoU %", "CPU"];
    $("means").tHead.replaceChildren(make("tr", {}, ...heads.map((h) => make("th", { scope: "col" }, h))));
    $("means").tBodies[0].replaceChildren(...data.solvers.map((name, s) => {
      const own = cell[s].filter(Boolean), iou = mean(own.map((c) => c.iou)), cpu = mean(own.map((c) => c.cpu));
      return make("tr", { onclick: () => { state.first = s; show(); } }, make("td", {}, swatch(s), name), make("td", {}, String(own.filter((c) => !c.failed).length)), make("td", {}, figures(mean(own.map((c) => c.energy)), 6)), make("td", {}, figures(mean(own.map((_, i) => above(s, i))), 3)), make("td", {}, String(own.filter((c) => c.proven).length)), make("td", {}, iou === null ? "–" : (100 * iou).toFixed(2)), make("td", {}, cpu === null ? "–" : seconds(cpu)));
    }));
  }
  function scatter() {
    const W = 900, H = 300, L = 60, B = 34, T = 8, space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg");
    const add = (tag, p, text) => { const e = document.createElementNS(space, tag); for (const [k, v] of Object.entries(p)) e.setAttribute(k, v); if (text !== undefined) e.textContent = text; svg.append(e); return e; };
    svg.setAttribute("viewBox", `0 0 ${W} ${H}`); svg.setAttribute("role", "img"); svg.setAttribute("aria-label", "Energy above the lowest against CPU time, a dot for every solver and instance; the table of solvers has the means");
    const dots = []; for (let s = 0; s < S; s++) for (let i = 0; i < N; i++) { const c = cell[s][i], a = above(s, i); if (c && a !== null && c.cpu > 0) dots.push([s, i, c.cpu, a]); }
    if (!dots.length) { add("text", { x: L, y: H / 2 }, "no energies with times"); return $("scatter").replaceChildren(svg); }
    const times = dots.map((d) => Math.log10(d[2])), t0 = Math.min(...times) - 0.1, t1 = Math.max(...times) + 0.1;
    const tops = dots.map((d) => d[3]).sort((a, b) => a - b), top = Math.max(tops[Math.floor(0.98 * (tops.length - 1))], 1e-9) * 1.08;
    const x = (t) => L + ((Math.log10(t) - t0) / (t1 - t0)) * (W - L - 12), y = (a) => T + (1 - Math.min(a / top, 1)) * (H - T - B);
    for (let k = 0; k <= 4; k++) { add("line", { x1: L, x2: W - 12, y1: y((top * k) / 4), y2: y((top * k) / 4), stroke: "#e2e7ea" }); add("text", { x: L - 6, y: y((top * k) / 4) + 4, "text-anchor": "end" }, figures((top * k) / 4, 3)); }
    for (let d = Math.ceil(t0); d <= t1; d++) add("text", { x: x(10 ** d), y: H - B + 16, "text-anchor": "middle" }, seconds(10 ** d));
    add("text", { x: W / 2, y: H - 4, "text-anchor": "middle" }, "CPU time");
    for (const [s, i, t, a] of dots) { const dot = add("circle", { cx: x(t), cy: y(a), r: i === state.chosen ? 7 : 3.5, fill: LINES[s % LINES.length], "fill-opacity": 0.65, stroke: i === state.chosen ? "#000" : "none", "stroke-width": 2 }); const title = document.createElementNS(space, "title"); title.textContent = `${data.solvers[s]} on ${data.instances[i].name}`; dot.append(title); dot.addEventListener("click", () => choose(i)); }
    $("scatter").replaceChildren(svg);
  }
  function pairRows() {
    return data.instances.map((instance, i) => {
      const a = cell[state.first][i], b = cell[state.second][i];
      const energy = a && b && a.energy !== null && b.energy !== null ? a.energy - b.energy : null, iou = a && b && a.iou !== null && b.iou !== null ? 100 * (a.iou - b.iou) : null;
      return [instance.name, instance.nodes, energy, iou, a && a.energy, b && b.energy, a && a.iou === null ? null : a && 100 * a.iou, b && b.iou === null ? null : b && 100 * b.iou, i];
    }).filter((row) => row[0].toLowerCase().includes(state.find));
  }
  function pairs() {
    const heads = ["instance", "nodes", "energy difference", "IoU difference", "energy", "its energy", "IoU %", "its IoU %"], rows = pairRows(), k = state.key;
    rows.sort((a, b) => (a[k] === null) - (b[k] === null) || (typeof a[k] === "string" ? a[k].localeCompare(b[k]) : a[k] - b[k]) * (state.down ? -1 : 1));
    $("pairs").tHead.replaceChildren(make("tr", {}, ...heads.map((h, c) => make("th", { scope: "col", "aria-sort": c === k ? (state.down ? "descending" : "ascending") : "none" }, make("button", { onclick: () => { state.down = state.key === c ? !state.down : true; state.key = c; pairs(); } }, `${h}${c === k ? (state.down ? " ▾" : " ▴") : ""}`)))));
    $("pairs").tBodies[0].replaceChildren(...rows.map((row) => make("tr", { tabIndex: 0, "aria-selected": row[8] === state.chosen, onclick: () => choose(row[8]), onkeydown: (e) => { if (e.key === "Enter") choose(row[8]); } }, make("td", {}, row[0]), ...row.slice(1, 8).map((v, c) => make("td", {}, v === null || v === undefined ? "–" : c === 0 ? String(v) : c === 2 || c >= 5 ? v.toFixed(2) : figures(v, 5))))));
    const differences = rows.map((row) => row[3] ?? (row[2] === null ? null : -row[2])).filter((v) => v !== null);
    const better = differences.filter((v) => v > 1e-9).length, worse = differences.filter((v) => v < -1e-9).length;
    $("verdict").textContent = `${data.solvers[state.first]} is better than ${data.solvers[state.second]} on ${better} instances, worse on ${worse}, equal on ${differences.length - better - worse} (by ${rows.some((r) => r[3] !== null) ? "IoU" : "energy"}).`;
  }
  function choose(i) { state.chosen = state.chosen === i ? -1 : i; scatter(); pairs(); }
  function show() { $("first").value = state.first; $("second").value = state.second; means(); scatter(); pairs(); }
  for (const id of ["first", "second"]) { $(id).append(...data.solvers.map((name, s) => make("option", { value: s }, name))); $(id).addEventListener("change", (e) => { state[id] = Number(e.target.value); show(); }); }
  $("find").addEventListener("input", (e) => { state.find = e.target.value.toLowerCase(); pairs(); });
  if (!data.rows.some((row) => row[3] !== null)) { state.key = 2; }
  show();
})();
