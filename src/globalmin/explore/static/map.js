// Maps of a function of two numbers: bands of color on a canvas, axes and paths in SVG above it.

const BANDS = 14;
const COLORS = [[22, 50, 92], [38, 92, 138], [66, 138, 160], [140, 188, 176], [224, 222, 196], [246, 238, 222]];

/** Color of t in [0, 1], dark where the value is low. */
function bandColor(t) {
  const place = Math.min(Math.max(t, 0), 1) * (COLORS.length - 1);
  const i = Math.min(Math.floor(place), COLORS.length - 2);
  return COLORS[i].map((c, j) => c + (place - i) * (COLORS[i + 1][j] - c));
}

/** Values of f on a grid: rows from low y to high y. */
function sampled(f, xRange, yRange, nx, ny) {
  const values = new Float64Array(nx * ny);
  for (let j = 0; j < ny; j++) {
    const y = yRange[0] + ((yRange[1] - yRange[0]) * j) / (ny - 1);
    for (let i = 0; i < nx; i++) {
      values[j * nx + i] = f(xRange[0] + ((xRange[1] - xRange[0]) * i) / (nx - 1), y);
    }
  }
  return { values, nx, ny, xRange, yRange };
}

/** Bilinear interpolation of a sampled grid. */
function between(grid, x, y) {
  const { values, nx, ny, xRange, yRange } = grid;
  const u = Math.min(Math.max(((x - xRange[0]) / (xRange[1] - xRange[0])) * (nx - 1), 0), nx - 1);
  const w = Math.min(Math.max(((y - yRange[0]) / (yRange[1] - yRange[0])) * (ny - 1), 0), ny - 1);
  const [i, j] = [Math.min(Math.floor(u), nx - 2), Math.min(Math.floor(w), ny - 2)];
  const [s, t] = [u - i, w - j];
  const at = (a, b) => values[b * nx + a];
  return (1 - t) * ((1 - s) * at(i, j) + s * at(i + 1, j)) + t * ((1 - s) * at(i, j + 1) + s * at(i + 1, j + 1));
}

function paint(canvas, grid, spec) {
  const ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
  const [w, h] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  if (w < 2 || h < 2) return;
  canvas.width = w;
  canvas.height = h;
  const context = canvas.getContext("2d");
  const image = context.createImageData(w, h);
  const f = spec.log ? (z) => Math.log10(Math.max(z, spec.least)) : (z) => z;
  const lifted = { ...grid, values: grid.values.map(f) };
  const finite = lifted.values.filter(Number.isFinite);
  const [low, high] = spec.range?.map(f) ?? [Math.min(...finite), Math.max(...finite)];
  for (let j = 0; j < h; j++) {
    const y = grid.yRange[1] - ((grid.yRange[1] - grid.yRange[0]) * j) / (h - 1);
    for (let i = 0; i < w; i++) {
      const x = grid.xRange[0] + ((grid.xRange[1] - grid.xRange[0]) * i) / (w - 1);
      const t = (between(lifted, x, y) - low) / (high - low || 1);
      const color = bandColor(Number.isFinite(t) ? (Math.floor(Math.min(Math.max(t, 0), 0.9999) * BANDS) + 0.5) / BANDS : 1);
      const at = 4 * (j * w + i);
      for (let c = 0; c < 3; c++) image.data[at + c] = color[c];
      image.data[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}

/**
 * Draw a map into a figure. `paths`: points [x, y] with a color; `dots`: x, y, text, color, ring;
 * `lines`: horizontal y with text. Hover reads `read(x, y)`; `pick(x, y)` makes it choosable.
 */
function heatMap(figure, spec) {
  const plot = figure.querySelector(".plot");
  const drawn = frame(plot, { ...spec, height: Math.min(420, Math.max(260, 0.7 * plot.clientWidth)) });
  const { svg, x, y } = drawn;
  const canvas = document.createElement("canvas");
  canvas.style.left = `${drawn.left}px`;
  canvas.style.top = `${drawn.top}px`;
  svg.style.position = "relative";
  for (const line of spec.lines ?? []) {
    svg.append(shape("line", { x1: drawn.left, x2: drawn.width - drawn.right, y1: y(line.y), y2: y(line.y), stroke: "#ffffff", "stroke-width": 1.4, "stroke-dasharray": "6 4" }));
    svg.append(haloText(drawn.left + 6, y(line.y) + 17, line.text, "start"));
  }
  canvas.style.width = `${drawn.width - drawn.left - drawn.right}px`;
  canvas.style.height = `${drawn.height - drawn.top - drawn.bottom}px`;
  const clip = `clip-${figure.id}`;
  const [w, h] = [drawn.width - drawn.left - drawn.right, drawn.height - drawn.top - drawn.bottom];
  svg.append(shape("clipPath", { id: clip }, shape("rect", { x: drawn.left, y: drawn.top, width: w, height: h })));
  for (const path of spec.paths ?? []) {
    const d = path.points.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
    if (!d) continue;
    svg.append(shape("path", { d, fill: "none", "clip-path": `url(#${clip})`, stroke: "#ffffff", "stroke-width": 5, "stroke-opacity": 0.85, "stroke-linejoin": "round" }));
    svg.append(shape("path", { d, fill: "none", "clip-path": `url(#${clip})`, stroke: path.color ?? "#d9480f", "stroke-width": 2.4, "stroke-linejoin": "round" }));
  }
  const isInside = ({ x: a, y: b }) => a >= spec.xRange[0] && a <= spec.xRange[1] && b >= spec.yRange[0] && b <= spec.yRange[1];
  for (const dot of (spec.dots ?? []).filter(isInside)) {
    svg.append(shape("circle", { cx: x(dot.x), cy: y(dot.y), r: dot.size ?? 6, fill: dot.color ?? "#ffffff", stroke: dot.edge ?? "#10151b", "stroke-width": 1.4 }));
    if (dot.text) {
      const isRight = x(dot.x) > 0.62 * drawn.width;
      const isHigh = y(dot.y) < drawn.top + 24;
      svg.append(haloText(x(dot.x) + (isRight ? -10 : 10), y(dot.y) + (isHigh ? 18 : -9), dot.text, isRight ? "end" : "start"));
    }
  }
  plot.replaceChildren(canvas, svg);
  paint(canvas, spec.grid, spec);
  readPlaces(plot, drawn, spec);
}

/** White text with a dark edge, readable on every color of a map. */
function haloText(x, y, text, anchor) {
  const node = shape("text", { x, y, "text-anchor": anchor, "paint-order": "stroke", stroke: "#10151b", "stroke-width": 3, "stroke-linejoin": "round" }, text);
  node.style.fill = "#ffffff";
  node.style.fontWeight = "600";
  return node;
}

function readPlaces(plot, drawn, spec) {
  const { svg, x, y } = drawn;
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  plot.append(tip);
  const cursor = shape("circle", { r: 7, fill: "none", stroke: "#ffffff", "stroke-width": 2.5, visibility: "hidden" });
  svg.append(cursor);
  const clip = (value, [low, high]) => Math.min(Math.max(value, low), high);
  let [u, w] = spec.cursor ?? [(spec.xRange[0] + spec.xRange[1]) / 2, (spec.yRange[0] + spec.yRange[1]) / 2];
  const show = () => {
    tip.textContent = spec.read(u, w);
    tip.hidden = false;
    tip.style.left = `${Math.max(0, Math.min(x(u) + 12, drawn.width - tip.offsetWidth))}px`;
    tip.style.top = `${Math.max(0, y(w) - tip.offsetHeight - 10)}px`;
  };
  const hide = () => ((tip.hidden = true), cursor.setAttribute("visibility", "hidden"));
  const place = (event) => {
    const box = svg.getBoundingClientRect();
    u = clip(x.back(event.clientX - box.left), spec.xRange);
    w = clip(y.back(event.clientY - box.top), spec.yRange);
  };
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("pointermove", (event) => (place(event), show()));
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  if (spec.pick) {
    svg.style.cursor = "crosshair";
    svg.addEventListener("click", (event) => (place(event), spec.pick(u, w)));
  }
  svg.addEventListener("keydown", (event) => {
    const stepX = (spec.xRange[1] - spec.xRange[0]) / 40;
    const stepY = (spec.yRange[1] - spec.yRange[0]) / 40;
    const move = { ArrowRight: [stepX, 0], ArrowLeft: [-stepX, 0], ArrowUp: [0, stepY], ArrowDown: [0, -stepY] }[event.key];
    if (move) {
      event.preventDefault();
      u = clip(u + move[0], spec.xRange);
      w = clip(w + move[1], spec.yRange);
      cursor.setAttribute("cx", x(u));
      cursor.setAttribute("cy", y(w));
      cursor.setAttribute("visibility", "visible");
      show();
    } else if (event.key === "Enter" && spec.pick) spec.pick(u, w);
  });
}
