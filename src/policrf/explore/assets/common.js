"use strict";
// Arrays come as base64 of little-endian numbers.
const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const numbers = (text, Kind) => new Kind(bytesOf(text).buffer);
const $ = (id) => document.getElementById(id);

// An element with properties and children; text never becomes markup.
function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && name !== "role") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

const figures = (value, digits = 4) =>
  value === null || value === undefined ? "–" : Math.abs(value) >= 1e5 || (value && Math.abs(value) < 1e-3) ? value.toExponential(2) : value.toPrecision(digits).replace(/\.0+$|(\.\d*?)0+$/, "$1");
// One number of decimals for a whole column, so that its points stand below each other: six digits of the largest.
function column(values) {
  const known = values.filter((v) => v !== null && v !== undefined && Number.isFinite(v)), largest = Math.max(1, ...known.map(Math.abs));
  const decimals = Math.min(Math.max(5 - Math.floor(Math.log10(largest)), 0), 3);
  return (value) => (value === null || value === undefined || largest >= 1e9 ? figures(value, 6) : value.toFixed(decimals));
}
// Long names may break after an underscore or a comma, and nowhere else while there is room.
const breakable = (name) => name.split(/(?<=[_:,])/).flatMap((part) => [part, document.createElement("wbr")]);
const seconds = (value) => (value < 0.001 ? `${(1e6 * value).toFixed(0)} µs` : value < 1 ? `${(1e3 * value).toPrecision(3)} ms` : `${value.toPrecision(3)} s`);

// Viridis in five stops: perceptually uniform, read alike by colour-blind eyes.
const RAMP = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function ramp(share) {
  const at = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1), low = Math.min(Math.floor(at), RAMP.length - 2);
  return RAMP[low].map((v, k) => v + (RAMP[low + 1][k] - v) * (at - low));
}

// Okabe and Ito's eight colours, then the same lighter and darker.
const SAFE = [[90, 98, 104], [230, 159, 0], [86, 180, 233], [0, 158, 115], [240, 228, 66], [0, 114, 178], [213, 94, 0], [204, 121, 167]];
function safeColours(count) {
  return Array.from({ length: count }, (_, k) => {
    const round = Math.floor(k / SAFE.length), base = SAFE[k % SAFE.length];
    const factor = [1, 0.62, 1.45, 0.4][round % 4];
    return base.map((v) => (factor <= 1 ? v * factor : 255 - (255 - v) / factor));
  });
}
const LINES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5a6268", "#7b3294", "#8c510a", "#111111"];
const css = (colour) => `rgb(${colour.map(Math.round).join(",")})`;
