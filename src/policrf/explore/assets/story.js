const data = JSON.parse($("data").textContent);
const WORDS = {
  energy: "What a labeling costs: the sum of all terms. The lower, the better.",
  "lower bound": "What no labeling can be below. Where it meets the energy, the answer is proven.",
  IoU: "Intersection over union: how much of what is labeled and of what is there is the same, mean over the classes.",
  superpixels: "Small patches of similar pixels; each gets one label.",
  net: "A network that scores every class at every pixel. Here it is simulated, with the blur and the mistakes of a real one.",
  boxes: "A detector's rectangles around objects, with how sure it is.",
  potential: "A term of the energy: any function of the labels of some nodes.",
  untrained: "The rule that labels the surest node first and asks the function about the labels given so far.",
};
const word = (name, shown = name) => make("abbr", { title: WORDS[name], tabIndex: 0 }, shown);
const percent = (share) => `${(100 * share).toFixed(1)} %`;

function part(title, ...children) {
  const id = `part-${$("parts").children.length + 1}`;
  const heading = make("h2", { id }, title);
  $("parts").append(make("section", { className: "card", "aria-labelledby": id }, heading, ...children));
}
const image = (source, alt) => make("img", { src: source, alt });
const figure = (picture, ...caption) => make("figure", {}, picture, make("figcaption", {}, ...caption));
const code = (text) => make("pre", { tabIndex: 0, "aria-label": "the Python that made this" }, make("code", {}, text));

function grid(d) {
  const proof = d.proven ? make("b", { className: "proven" }, "Proven: ") : make("b", {}, "Not proven: ");
  part("1 · A noisy picture, and the proof that no cleaner one costs less",
    make("p", { className: "big" }, `${d.nodes.toLocaleString("en")} pixels, four grey levels. The `, word("energy"),
      " is the distance to the noisy picture plus a price for every two neighbours that differ."),
    make("div", { className: "three" },
      figure(image(d.noisy, "the noisy picture"), make("b", {}, "Noisy. "), `${percent(d.wrong[0])} of the pixels are nearest to a wrong level.`),
      figure(image(d.result, "the picture of lowest energy"), make("b", {}, "Lowest energy. "), `${percent(d.wrong[1])} wrong, after ${seconds(d.seconds)}.`),
      figure(image(d.truth, "the true picture"), make("b", {}, "What was there."))),
    make("p", {}, proof, "energy ", d.energy.toFixed(3), ", ", word("lower bound"), ` ${d.bound.toFixed(3)}.`),
    code(d.code));
}

// One canvas that plays an order of labeling; returns how to show the labels of the first nodes.
function board(play, side, colours) {
  const canvas = make("canvas", { width: 24 * side, height: 24 * side, role: "img", "aria-label": `order of ${play.name}` });
  const labels = numbers(play.labels, Uint8Array), pen = canvas.getContext("2d");
  const given = numbers(play.order, Uint32Array), order = given.length ? given : Uint32Array.from(labels.keys());
  const show = (asked) => {
    const count = given.length ? Math.min(asked, order.length) : order.length;
    pen.fillStyle = "#e9edef"; pen.fillRect(0, 0, canvas.width, canvas.height);
    for (let k = 0; k < count; k += 1) {
      const node = order[k], x = node % side, y = Math.floor(node / side);
      pen.fillStyle = css(colours[labels[node]]); pen.fillRect(24 * x + 1, 24 * y + 1, 22, 22);
      if (k === count - 1 && count < order.length) { pen.strokeStyle = "#000"; pen.lineWidth = 3; pen.strokeRect(24 * x + 2, 24 * y + 2, 20, 20); }
    }
    pen.strokeStyle = "#0008"; pen.lineWidth = 2;
    for (let at = 6; at < side; at += 6) { pen.strokeRect(-2, -2, 24 * at + 2, canvas.height + 4); pen.strokeRect(-2, -2, canvas.width + 4, 24 * at + 2); }
  };
  show(order.length);
  return { canvas, show, steps: given.length };
}

function potential(d) {
  const boards = d.plays.map((play) => board(play, d.side, safeColours(d.labels)));
  const steps = Math.max(1, ...boards.map((b) => b.steps));
  const slider = make("input", { type: "range", id: "step", min: 0, max: steps, value: steps, "aria-label": "nodes labeled" });
  const button = make("button", { id: "play", type: "button" }, "Play");
  let timer = 0;
  const show = (count) => { slider.value = count; boards.forEach((b) => b.show(count)); };
  const stop = () => { clearInterval(timer); timer = 0; button.textContent = "Play"; };
  const play = () => {
    if (timer) return stop();
    if (Number(slider.value) >= steps) show(0);
    button.textContent = "Pause";
    timer = setInterval(() => { show(Number(slider.value) + 1); if (Number(slider.value) >= steps) stop(); }, 40);
  };
  slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });
  button.addEventListener("click", play);
  const head = make("tr", {}, ...d.table.columns.map((name) => make("th", { scope: "col" }, name)));
  const rows = d.table.rows.map((row) => make("tr", { className: row[0].startsWith("trained") ? "ours" : "" }, ...row.map((value) => make("td", {}, value))));
  part("2 · A potential written by hand, and a minute of training",
    make("p", { className: "big" }, "A ", word("potential"), ` that no solver knows from inside: ${d.wants}. It is a function of a few lines:`),
    code(d.code),
    make("div", { className: "three boards" }, ...boards.map((b, k) => figure(b.canvas, make("b", {}, `${d.plays[k].name}: `), `energy ${d.plays[k].energy.toFixed(2)} in ${seconds(d.plays[k].seconds)}${b.steps ? ", node after node" : ", by moves of many nodes"}.`))),
    ...(boards.some((b) => b.steps) ? [make("div", { className: "bar" }, button, slider)] : []),
    make("p", {}, ...d.said.flatMap((line) => [line, " "])),
    make("div", { className: "scroll" }, make("table", {}, make("caption", { className: "soft" }, d.table.title), make("thead", {}, head), make("tbody", {}, ...rows))),
    make("p", { className: "soft" }, d.table.note));
}

function labelsCanvas(d, text, colours, boxes) {
  const canvas = make("canvas", { width: d.width, height: d.height, role: "img" });
  const pen = canvas.getContext("2d"), photo = new Image();
  photo.onload = () => {
    pen.drawImage(photo, 0, 0);
    if (text) {
      const labels = numbers(text, Uint8Array), pixels = pen.getImageData(0, 0, d.width, d.height);
      labels.forEach((label, k) => {
        if (label === 0 || label >= d.names.length) return;
        for (let c = 0; c < 3; c += 1) pixels.data[4 * k + c] = 0.35 * pixels.data[4 * k + c] + 0.65 * colours[label][c];
      });
      pen.putImageData(pixels, 0, 0);
    }
    for (const { box, label, confidence } of boxes) {
      pen.lineWidth = 1 + 3 * confidence; pen.strokeStyle = css(colours[label]);
      pen.strokeRect(box[0], box[1], box[2] - box[0], box[3] - box[1]);
    }
  };
  photo.src = d.photo;
  return canvas;
}

function photograph(d) {
  const colours = safeColours(d.names.length), [net, result] = d.ious[0];
  const mean = (k) => d.ious.reduce((sum, pair) => sum + pair[k], 0) / d.ious.length;
  const wins = d.ious.filter(([a, b]) => b > a).length;
  part("3 · An image, a net and a detector",
    make("p", { className: "big" }, "A rendered image goes through the whole pipeline: ", word("superpixels"), " that follow the ", word("net"), ", ", word("boxes"), " as terms of the ", word("energy"), ", a solver, and the pixels at the boundaries decided again."),
    make("div", { className: "three" },
      figure(labelsCanvas(d, null, colours, d.boxes), make("b", {}, "Image "), "with the detector's boxes; thicker is surer."),
      figure(labelsCanvas(d, d.net, colours, []), make("b", {}, "Net. "), word("IoU"), ` ${net.toFixed(1)} %.`),
      figure(labelsCanvas(d, d.result, colours, []), make("b", {}, "Result. "), `IoU ${result.toFixed(1)} %, ${d.superpixels} superpixels.`),
      figure(labelsCanvas(d, d.truth, colours, []), make("b", {}, "What is there."))),
    make("div", { className: "legend" }, ...d.names.map((name, k) => make("span", {}, make("span", { className: "swatch", style: `background:${css(colours[k])}` }), name))),
    make("p", {}, `Over ${d.ious.length} such images, this one the first: IoU ${mean(0).toFixed(1)} % before, ${mean(1).toFixed(1)} % after; better on ${wins}.`),
    code(d.code));
}

grid(data.grid);
if (data.potential) potential(data.potential);
if (data.photo) photograph(data.photo);
