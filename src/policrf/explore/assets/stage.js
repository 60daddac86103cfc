// The picture: a map of nodes, or a graph. `paint` is given a colour for every node.
class Stage {
  constructor(canvas, drawing, n) {
    this.canvas = canvas; this.n = n; this.isMap = drawing.kind === "map";
    if (this.isMap) this.readMap(drawing);
    else { this.at = numbers(drawing.positions, Float32Array); canvas.width = 900; canvas.height = 760; }
    this.context = canvas.getContext("2d", { willReadFrequently: this.isMap });
  }
  readMap({ width, height, runs, photo }) {
    this.width = width; this.height = height; this.node = new Int32Array(width * height);
    const pairs = numbers(runs, Uint32Array);
    for (let k = 0, at = 0; k < pairs.length; at += pairs[k + 1], k += 2) this.node.fill(pairs[k], at, at + pairs[k + 1]);
    const x = new Float64Array(this.n), y = new Float64Array(this.n), count = new Float64Array(this.n);
    this.borders = [];
    for (let p = 0; p < this.node.length; p++) {
      const i = this.node[p]; x[i] += p % width; y[i] += Math.floor(p / width); count[i]++;
      if ((p % width && this.node[p - 1] !== i) || (p >= width && this.node[p - width] !== i)) this.borders.push(p);
    }
    this.centre = (i) => [x[i] / count[i] + 0.5, y[i] / count[i] + 0.5];
    this.canvas.width = width; this.canvas.height = height;
    if (photo) {
      const image = new Image();
      image.onload = () => {
        const own = document.createElement("canvas"); own.width = width; own.height = height;
        const context = own.getContext("2d"); context.drawImage(image, 0, 0, width, height);
        this.photo = context.getImageData(0, 0, width, height).data; this.onphoto();
      };
      image.src = photo;
    }
  }
  onphoto() {}
  place(i) { return this.isMap ? this.centre(i) : [20 + this.at[2 * i] * (this.canvas.width - 40), 20 + this.at[2 * i + 1] * (this.canvas.height - 40)]; }
  nodeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * this.canvas.width, y = ((event.clientY - box.top) / box.height) * this.canvas.height;
    if (this.isMap) return x >= 0 && y >= 0 && x < this.width && y < this.height ? this.node[Math.floor(y) * this.width + Math.floor(x)] : -1;
    let best = -1, least = 900;
    for (let i = 0; i < this.n; i++) { const [a, b] = this.place(i), d = (a - x) ** 2 + (b - y) ** 2; if (d < least) [best, least] = [i, d]; }
    return best;
  }
  // colours: per node [r, g, b, opacity over the photo]; `split`: another set left of this share of the width.
  paint(colours, { left = null, split = 0, borders = true, photo = true, edges = null, lit = null, node = -1, boxes = [] }) {
    if (this.isMap) this.paintMap(colours, left, split, borders, photo); else this.paintGraph(colours, edges);
    const c = this.context;
    if (edges && this.isMap) this.lines(edges, "rgba(255,255,255,.45)");
    for (const box of boxes) this.ring(box.members, box.colour, box.name);
    if (lit) for (const i of lit) this.dot(i, 5, "#fff", "#000");
    if (node >= 0) this.dot(node, this.isMap ? 5 : 9, "rgba(255,255,255,.2)", "#000");
    if (left && split > 0) { c.fillStyle = "#fff"; c.fillRect(split * this.canvas.width - 1.5, 0, 3, this.canvas.height); }
  }
  paintMap(colours, left, split, borders, withPhoto) {
    const image = this.context.createImageData(this.width, this.height), out = image.data, photo = withPhoto ? this.photo : null;
    const edge = split * this.width;
    for (let p = 0; p < this.node.length; p++) {
      const colour = left && p % this.width < edge ? left[this.node[p]] : colours[this.node[p]], q = 4 * p;
      const a = photo ? colour[3] : 1;
      for (let k = 0; k < 3; k++) out[q + k] = photo ? photo[q + k] * (1 - a) + colour[k] * a : colour[k];
      out[q + 3] = 255;
    }
    if (borders) for (const p of this.borders) { const q = 4 * p; for (let k = 0; k < 3; k++) out[q + k] = 0.62 * out[q + k] + 97 * 0.38 * 2; }
    this.context.putImageData(image, 0, 0);
  }
  paintGraph(colours, edges) {
    const c = this.context; c.fillStyle = "#fff"; c.fillRect(0, 0, this.canvas.width, this.canvas.height);
    if (edges) this.lines(edges, "rgba(60,70,80,.35)");
    const size = Math.max(2.5, Math.min(11, 160 / Math.sqrt(this.n)));
    for (let i = 0; i < this.n; i++) { const [x, y] = this.place(i); c.fillStyle = css(colours[i].slice(0, 3)); c.beginPath(); c.arc(x, y, size, 0, 7); c.fill(); c.strokeStyle = "rgba(0,0,0,.45)"; c.lineWidth = 0.7; c.stroke(); }
  }
  lines(edges, style) {
    const c = this.context; c.strokeStyle = style; c.lineWidth = 1; c.beginPath();
    for (let k = 0; k < edges.length; k += 2) { c.moveTo(...this.place(edges[k])); c.lineTo(...this.place(edges[k + 1])); }
    c.stroke();
  }
  dot(i, radius, fill, line) { const c = this.context, [x, y] = this.place(i); c.beginPath(); c.arc(x, y, radius, 0, 7); c.fillStyle = fill; c.fill(); c.lineWidth = 2; c.strokeStyle = line; c.stroke(); }
  ring(members, colour, name) {
    const c = this.context, points = Array.from(members, (i) => this.place(i));
    const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
    const x = Math.min(...xs) - 6, y = Math.min(...ys) - 6, w = Math.max(...xs) - x + 6, h = Math.max(...ys) - y + 6;
    c.lineWidth = 2.5; c.strokeStyle = "#000a"; c.strokeRect(x, y, w, h); c.lineWidth = 1.5; c.strokeStyle = colour; c.strokeRect(x, y, w, h);
    c.font = "12px sans-serif"; const wide = c.measureText(name).width + 8; c.fillStyle = "#000b"; c.fillRect(x, y, wide, 16); c.fillStyle = "#fff"; c.fillText(name, x + 4, y + 12);
  }
}
