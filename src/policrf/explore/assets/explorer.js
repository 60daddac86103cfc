(() => {
  const data = JSON.parse($("data").textContent), n = data.nodes, L = data.labels.length;
  const read = (answer) => ({ ...answer, labels: numbers(answer.labels, Int16Array), order: answer.order && numbers(answer.order, Uint32Array), shares: Object.fromEntries(Object.entries(answer.shares).map(([k, v]) => [k, numbers(v, Float32Array)])), steps: Object.keys(answer.maps).map(Number).sort((a, b) => a - b) });
  const answers = data.answers.map(read), net = data.net && read(data.net);
  const truth = data.truth && numbers(data.truth, Int16Array), unary = numbers(data.unary, Float32Array);
  const edges = data.edges && numbers(data.edges.nodes, Uint32Array), weights = data.edges && numbers(data.edges.weights, Float32Array);
  const boxes = data.boxes.map((box) => ({ ...box, members: numbers(box.members, Uint32Array) }));
  const lowest = Int16Array.from({ length: n }, (_, i) => { let best = 0; for (let l = 1; l < L; l++) if (unary[i * L + l] < unary[i * L + best]) best = l; return best; });
  const stage = new Stage($("stage"), data.drawing, n);
  const palettes = { "Pascal VOC": data.colours, "colour-blind safe": safeColours(L) };
  const state = { answer: 0, view: "labels", step: n, other: -1, node: -1, playing: 0, palette: "colour-blind safe", borders: true, boxes: false, edges: !stage.isMap, photo: true, split: 0.5 };
  const chosen = () => answers[state.answer];
  const order = () => chosen().order, steps = () => (order() ? order().length : n);

  // What every node shows: its label once its step has come, −1 before.
  function shownLabels() {
    const answer = chosen();
    if (!answer.order || state.step >= answer.order.length) return answer.labels;
    const out = new Int16Array(n).fill(-1);
    for (let k = 0; k < state.step; k++) out[answer.order[k]] = answer.labels[answer.order[k]];
    return out;
  }
  function labelColours(labels) {
    const palette = palettes[state.palette], photo = Boolean(stage.photo) && state.photo;
    return Array.from(labels, (l) => (l < 0 ? [150, 158, 163, photo ? 0.55 : 1] : [...palette[l], photo && l === 0 ? 0.12 : 0.62]));
  }
  function otherLabels() { return state.other === -2 ? truth : state.other >= 0 ? answers[state.other].labels : null; }
  function colours() {
    const labels = shownLabels();
    if (state.view === "unary") return labelColours(lowest);
    if (state.view === "difference") {
      const other = otherLabels();
      return Array.from(labels, (l, i) => (!other || other[i] < 0 || l < 0 ? [190, 196, 200, 0.5] : l === other[i] ? [52, 64, 70, 0.35] : [230, 159, 0, 0.9]));
    }
    if (state.view === "choice") {
      const map = nextMap();
      return Array.from(labels, (l, i) => (l >= 0 ? [205, 210, 213, 0.8] : map ? [...ramp(map[i] / 255), 0.9] : [150, 158, 163, 0.8]));
    }
    return labelColours(labels);
  }
  function nextMap() {
    const answer = chosen(); let best = -1;
    for (const k of answer.steps) if (k <= state.step) best = k;
    return best < 0 ? null : numbers(answer.maps[best], Uint8Array);
  }
  function draw() {
    const wipe = state.view === "wipe" && net, next = order() && state.step < steps() ? [order()[state.step]] : null;
    stage.paint(colours(), {
      left: wipe ? labelColours(net.labels) : null, split: state.split, borders: state.borders, photo: state.photo,
      edges: state.edges ? edges : null, lit: state.view === "choice" || state.playing ? next : null, node: state.node,
      boxes: state.boxes ? boxes.map((box) => ({ ...box, colour: css(palettes[state.palette][box.label]), name: data.labels[box.label] })) : [],
    });
  }
  function say() {
    const answer = chosen(), done = Math.min(state.step, steps());
    let text = `${answer.name}: energy ${figures(answer.energy, 6)}${answer.proven ? ", proven to be the lowest" : ""}.`;
    if (answer.order && done < steps()) { const i = answer.order[done]; text += ` Step ${done} of ${steps()}; next is node ${i}, ${data.labels[answer.labels[i]]}.`; }
    if (state.view === "wipe" && net) text = `Left the net${net.iou === null ? "" : `, IoU ${(100 * net.iou).toFixed(1)} %`}; right ${answer.name}${answer.iou === null ? "" : `, IoU ${(100 * answer.iou).toFixed(1)} %`}.`;
    if (state.view === "choice" && !answer.steps.length) text += " This answer has no map of next choices: choose one that labels node after node.";
    $("status").textContent = text;
    $("stage").setAttribute("aria-label", `${data.title}, ${state.view}`);
    const other = otherLabels(); let differ = 0, known = 0;
    if (other) for (let i = 0; i < n; i++) if (other[i] >= 0) { known++; differ += other[i] !== answer.labels[i]; }
    $("difference").textContent = other ? `${differ} of ${known} nodes differ` : "";
  }
  function refresh() {
    $("time").max = steps(); $("time").value = state.step; $("player").hidden = !order();
    $("wipe-bar").hidden = state.view !== "wipe";
    for (const button of $("views").children) button.setAttribute("aria-pressed", button.dataset.view === state.view);
    [...$("answers").tBodies[0].rows].forEach((row, k) => row.setAttribute("aria-selected", k === state.answer));
    $("play").textContent = state.playing ? "Pause" : "Play"; $("play").setAttribute("aria-pressed", Boolean(state.playing));
    for (const box of $("toggles").querySelectorAll("input")) box.checked = state[box.dataset.name];
    draw(); say(); legend(); aboutNode();
  }
  function legend() {
    const used = new Set([...chosen().labels, ...(truth || [])]);
    $("legend").replaceChildren(...[...used].filter((l) => l >= 0).sort((a, b) => a - b).map((l) => make("span", {}, make("span", { className: "swatch", style: `background:${css(palettes[state.palette][l])}` }), data.labels[l])));
    if (state.view === "choice") $("legend").append(make("span", {}, "next choice: dark unlikely, yellow likely"));
    if (state.view === "difference") $("legend").append(make("span", {}, "orange: another label than in what it is compared with"));
  }
  function aboutNode() {
    const at = $("about-node"), i = state.node; $("node").value = i < 0 ? "" : i;
    if (i < 0) return at.replaceChildren(make("p", { className: "soft" }, "Point at a node, or give its number."));
    const answer = chosen(), row = Array.from({ length: L }, (_, l) => unary[i * L + l]);
    const least = Math.min(...row), mass = row.map((u) => Math.exp(least - u)), total = mass.reduce((a, b) => a + b, 0);
    const top = row.map((_, l) => l).sort((a, b) => row[a] - row[b]).slice(0, 6);
    const meter = (share) => make("span", { className: "meter" }, make("i", { style: `width:${(100 * Math.min(Math.max(share, 0), 1)).toFixed(1)}%` }));
    const unaries = make("div", { className: "shares" }, ...top.flatMap((l) => [make("span", {}, make("span", { className: "swatch", style: `background:${css(palettes[state.palette][l])}` }), data.labels[l]), meter(mass[l] / total), make("span", {}, row[l] >= 1e29 ? "forbidden" : figures(row[l], 4))]));
    const parts = Object.entries(answer.shares).map(([name, part]) => [name, part[i]]).filter(([, v]) => v), most = Math.max(...parts.map(([, v]) => Math.abs(v)), 1e-12);
    const shares = make("div", { className: "shares" }, ...parts.flatMap(([name, v]) => [make("span", {}, name), meter(Math.abs(v) / most), make("span", {}, figures(v, 4))]));
    const near = []; if (edges) for (let k = 0; k < weights.length; k++) { if (edges[2 * k] === i) near.push([edges[2 * k + 1], weights[k]]); else if (edges[2 * k + 1] === i) near.push([edges[2 * k], weights[k]]); }
    near.sort((a, b) => b[1] - a[1]);
    const inside = boxes.filter((box) => box.members.includes(i)).map((box) => `${data.labels[box.label]}: ${box.text}`);
    at.replaceChildren(
      make("p", {}, `Node ${i}: ${data.labels[answer.labels[i]]}${truth && truth[i] >= 0 ? `, in truth ${data.labels[truth[i]]}` : ""}`),
      make("p", { className: "soft" }, "Unaries (bars: as probabilities)"), unaries,
      ...(parts.length ? [make("p", { className: "soft" }, "Its part of the energy"), shares] : []),
      ...(near.length ? [make("p", { className: "soft" }, `Neighbours and weights: ${near.slice(0, 8).map(([j, w]) => `${j} (${data.labels[answer.labels[j]]}) ${figures(w, 3)}`).join(", ")}${near.length > 8 ? ` and ${near.length - 8} more` : ""}`)] : []),
      ...(inside.length ? [make("p", { className: "soft" }, `Boxes: ${inside.join("; ")}`)] : []));
  }
  function set(change) { Object.assign(state, change); refresh(); }
  function go(step) { set({ step: Math.min(Math.max(step, 0), steps()) }); }
  function choose(k) { if (answers[k]) { stop(); set({ answer: k, step: answers[k].order ? answers[k].order.length : n }); $("chart").replaceChildren(chart(answers, k)); } }
  function stop() { if (state.playing) { cancelAnimationFrame(state.playing); state.playing = 0; } }
  function play() {
    if (!order()) return;
    if (state.playing) { stop(); return refresh(); }
    if (state.step >= steps()) state.step = 0;
    const begun = performance.now(), from = state.step, rate = Math.max(steps() / 12000, 0.004);
    const frame = (now) => {
      const step = Math.min(from + Math.floor((now - begun) * rate), steps());
      state.playing = step < steps() ? requestAnimationFrame(frame) : 0;
      go(step);
    };
    state.playing = requestAnimationFrame(frame);
  }
  const views = { labels: "Labels", difference: "Difference", choice: "Next choice", unary: "Lowest unary", ...(net ? { wipe: "Net | result" } : {}) };
  $("views").append(...Object.entries(views).map(([view, name]) => { const b = make("button", { onclick: () => set({ view }) }, name); b.dataset.view = view; return b; }));
  const toggle = (name, text, shown) => { if (!shown) return; const box = make("input", { type: "checkbox", id: `toggle-${name}`, onchange: (e) => set({ [name]: e.target.checked }) }); box.dataset.name = name; $("toggles").append(make("label", {}, box, ` ${text}`)); };
  toggle("borders", "borders", stage.isMap); toggle("photo", "photo", Boolean(data.drawing.photo)); toggle("boxes", "boxes", boxes.length); toggle("edges", "edges", edges);
  $("toggles").append(make("label", {}, "colours ", make("select", { id: "palette", onchange: (e) => set({ palette: e.target.value }) }, ...Object.keys(palettes).map((name) => make("option", { value: name, selected: name === state.palette }, name)))));
  const heads = ["solver", "energy", "bound", ...(truth ? ["IoU %"] : []), "time"];
  $("answers").tHead.append(make("tr", {}, ...heads.map((name) => make("th", { scope: "col" }, name))));
  const energies = column(answers.map((a) => a.energy));
  $("answers").tBodies[0].append(...answers.map((a, k) => make("tr", { tabIndex: 0, onclick: () => choose(k), onkeydown: (e) => { if (e.key === "Enter") choose(k); } },
    make("td", {}, make("span", { className: "swatch", style: `background:${LINES[k % LINES.length]}` }), ...breakable(a.name)),
    make("td", {}, energies(a.energy)), make("td", { className: a.proven ? "proven" : "" }, a.proven ? "proven" : a.bound === null ? "–" : energies(a.bound)),
    ...(truth ? [make("td", {}, a.iou === null ? "–" : (100 * a.iou).toFixed(1))] : []), make("td", {}, seconds(a.seconds)))));
  $("other").append(make("option", { value: -1 }, "nothing"), ...(truth ? [make("option", { value: -2 }, "truth")] : []), ...answers.map((a, k) => make("option", { value: k }, a.name)));
  $("other").addEventListener("change", (e) => set({ other: Number(e.target.value), view: "difference" }));
  $("play").addEventListener("click", play); $("back").addEventListener("click", () => { stop(); go(state.step - 1); }); $("next").addEventListener("click", () => { stop(); go(state.step + 1); });
  $("time").addEventListener("input", (e) => { stop(); go(Number(e.target.value)); });
  $("wipe").addEventListener("input", (e) => set({ split: e.target.value / 1000 }));
  $("node").addEventListener("input", (e) => { const i = Number(e.target.value); set({ node: e.target.value !== "" && Number.isInteger(i) && i >= 0 && i < n ? i : -1 }); });
  const point = (event) => {
    if (state.view === "wipe" && event.buttons) { const box = $("stage").getBoundingClientRect(); $("wipe").value = 1000 * Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1); return set({ split: $("wipe").value / 1000 }); }
    const i = stage.nodeAt(event); if (i !== state.node) { state.node = i; draw(); aboutNode(); }
  };
  $("stage").addEventListener("pointermove", point); $("stage").addEventListener("pointerdown", point);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "SELECT"].includes(event.target.tagName)) return;
    const names = Object.keys(palettes), key = event.key;
    const act = { " ": play, ArrowLeft: () => { stop(); go(state.step - 1); }, ArrowRight: () => { stop(); go(state.step + 1); }, Home: () => { stop(); go(0); }, End: () => { stop(); go(steps()); },
      l: () => set({ view: "labels" }), d: () => set({ view: "difference", other: state.other === -1 && truth ? -2 : state.other }), c: () => set({ view: "choice" }), u: () => set({ view: "unary" }), w: () => net && set({ view: "wipe" }),
      b: () => set({ boxes: !state.boxes }), e: () => set({ edges: !state.edges }), p: () => { const next = names[(names.indexOf(state.palette) + 1) % names.length]; $("palette").value = next; set({ palette: next }); } }[key] || (/^[1-9]$/.test(key) ? () => choose(Number(key) - 1) : null);
    if (!act || (key === " " && event.target.tagName === "BUTTON")) return;
    event.preventDefault(); act();
  });
  stage.onphoto = draw;
  const proven = answers.filter((a) => a.proven).length;
  $("about").textContent = `${n} nodes, ${L} labels, ${answers.length} answers${proven ? `, ${proven} of them proven` : ""}`;
  $("notes").replaceChildren(...data.notes.map((note) => make("p", {}, note)));
  if (truth) { state.other = -2; $("other").value = -2; }
  const player = answers.findIndex((a) => a.order && a.steps.length);
  choose(player >= 0 ? player : 0);
  window.explorer = { state, labels: () => Array.from(shownLabels()), answers: answers.map((a) => Array.from(a.labels)) };
})();
