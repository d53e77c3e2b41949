// Line charts in SVG, drawn in pixels of the page: axes, levels, marks, and values under the pointer.

const SVG = "http://www.w3.org/2000/svg";

/** An element of the SVG name space with attributes and children (elements or text). */
function shape(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const powerOfTen = (e) => "10" + [...String(e)].map((c) => SUPERSCRIPT[c]).join("");

/** A number with three digits, a power of ten where it is very large or small. */
function shown(x) {
  if (!Number.isFinite(x)) return x === undefined || Number.isNaN(x) ? "–" : x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const e = Math.floor(Math.log10(Math.abs(x)));
  if (e >= -3 && e < 5) return String(Number(x.toPrecision(3))).replace("-", "−");
  const [digits, power] = x.toExponential(2).split("e");
  return `${Number(digits)}·${powerOfTen(Number(power))}`.replace("-", "−");
}

/** About `count` round places between two numbers. */
function roundTicks(low, high, count = 5) {
  const rough = (high - low) / count || 1;
  const base = 10 ** Math.floor(Math.log10(rough));
  const step = base * [1, 2, 5, 10].find((m) => m * base >= rough);
  const ticks = [];
  for (let t = Math.ceil(low / step) * step; t <= high + 1e-9 * step; t += step) {
    ticks.push(Math.abs(t) < 1e-9 * step ? 0 : Number(t.toPrecision(12)));
  }
  return ticks;
}

function decadeTicks(low, high) {
  const [from, to] = [Math.log10(low), Math.log10(high)];
  if (to - from < 2.2) {
    const places = [];
    for (let e = Math.floor(from); e <= to; e++) places.push(...[1, 2, 5].map((m) => Number(`${m}e${e}`)));
    return places.filter((t) => t >= low && t <= high);
  }
  const stride = [1, 2, 5, 10, 20, 50].find((s) => (to - from) / s <= 7) ?? 100;
  const ticks = [];
  for (let e = Math.ceil(from / stride) * stride; e <= to; e += stride) ticks.push(10 ** e);
  return ticks;
}

/** A scale from numbers to pixels, linear or logarithmic. */
function scaleOf([low, high], [from, to], isLog = false) {
  const f = isLog ? Math.log10 : (x) => x;
  const span = f(high) - f(low) || 1;
  const scale = (x) => from + ((f(x) - f(low)) / span) * (to - from);
  scale.back = (p) => {
    const t = f(low) + ((p - from) / (to - from)) * span;
    return isLog ? 10 ** t : t;
  };
  return scale;
}

/** Button beside the heading of a figure that saves its numbers. */
function offerTable(figure, name, table) {
  let button = figure.querySelector(".get");
  if (!button) {
    button = document.createElement("button");
    button.type = "button";
    button.className = "get";
    button.textContent = "csv";
    button.setAttribute("aria-label", `Save the numbers of “${figure.querySelector("h3").textContent}” as csv`);
    figure.querySelector("h3").append(button);
    button.addEventListener("click", () => {
      const { columns, rows } = figure.numbers;
      save(`${name}.csv`, new TextEncoder().encode(csvText(columns, rows)), "text/csv");
    });
  }
  figure.numbers = table;
}

function save(name, bytes, type = "application/octet-stream") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Frame of a plot: axes, ticks and labels; returns the svg and the two scales. */
function frame(plot, spec) {
  const width = Math.max(plot.clientWidth, 240);
  const height = spec.height ?? Math.min(300, Math.max(210, 0.56 * width));
  const [left, right, top, bottom] = [62, 12, 10, 42];
  const x = scaleOf(spec.xRange, [left, width - right], spec.logX);
  const y = scaleOf(spec.yRange, [height - bottom, top], spec.logY);
  const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": spec.label });
  for (const t of spec.logY ? decadeTicks(...spec.yRange) : spec.yTicks ?? roundTicks(...spec.yRange)) {
    if (!spec.grid) svg.append(shape("line", { class: "grid", x1: left, x2: width - right, y1: y(t), y2: y(t) }));
    const isPower = Math.abs(Math.log10(t) % 1) < 1e-9 && (t < 0.01 || t > 100);
    const text = spec.logY && isPower ? powerOfTen(Math.round(Math.log10(t))) : spec.yText?.(t) ?? shown(t);
    svg.append(shape("text", { x: left - 6, y: y(t) + 4, "text-anchor": "end" }, text));
  }
  for (const t of spec.xTicks ?? roundTicks(...spec.xRange, width < 400 ? 4 : 6)) {
    svg.append(shape("line", { class: "axis", x1: x(t), x2: x(t), y1: height - bottom, y2: height - bottom + 4 }));
    svg.append(shape("text", { x: x(t), y: height - bottom + 17, "text-anchor": "middle" }, spec.xText?.(t) ?? shown(t)));
  }
  svg.append(shape("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
  svg.append(shape("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, spec.xLabel));
  const middle = (top + height - bottom) / 2;
  svg.append(shape("text", { x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, spec.yLabel));
  return { svg, x, y, width, height, left, right, top, bottom };
}

/** A legend above the plot; colors by class property, so that dark mode follows. */
function legendOf(series) {
  const list = document.createElement("ul");
  list.className = "legend";
  for (const { name, color } of series.filter((one) => one.name)) {
    const item = document.createElement("li");
    const swatch = document.createElement("i");
    swatch.style.background = `var(--${color})`;
    item.append(swatch, name);
    list.append(item);
  }
  return list;
}

function rangeOf(values, isLog, least = null) {
  const finite = values.filter((v) => Number.isFinite(v) && (!isLog || v > 0));
  if (!finite.length) return isLog ? [1e-3, 10] : [0, 1];
  let low = Math.min(...finite, ...(least === null ? [] : [least]));
  let high = Math.max(...finite, ...(least === null ? [] : [least]));
  if (isLog) return [low / 3, high * 3];
  if (low === high) [low, high] = [low - 1, high + 1];
  const room = 0.06 * (high - low);
  return [low - room, high + room];
}

/**
 * Draw a chart into a figure. `series`: name, color, points [x, y], dots (no line), dash.
 * `levels`: horizontal lines with text, `above` the line if asked; `marks`: vertical ones, with text
 * at the foot, since curves fall. Hover or arrow keys read values.
 */
function lineChart(figure, spec) {
  const plot = figure.querySelector(".plot");
  const inside = spec.series.flatMap((one) => one.points);
  const xRange = spec.xRange ?? rangeOf(inside.map(([x]) => x), false);
  const levels = spec.levels ?? [];
  const yRange = spec.yRange ?? rangeOf([...inside.map(([, y]) => y), ...levels.map((l) => l.y)], spec.logY);
  const drawn = frame(plot, { ...spec, xRange, yRange });
  const { svg, x, y } = drawn;
  const top = (value) => Math.min(Math.max(value, yRange[0]), yRange[1]);
  for (const { y: value, text, color, above } of levels) {
    // below the line, or above it where the axis or a curve is below
    const higher = above || y(value) + 18 > drawn.height - drawn.bottom;
    svg.append(shape("line", { x1: drawn.left, x2: drawn.width - drawn.right, y1: y(value), y2: y(value), stroke: `var(--${color})`, "stroke-width": 1.2 }));
    svg.append(shape("text", { x: drawn.left + 6, y: y(value) + (higher ? -6 : 15) }, text));
  }
  for (const one of spec.series) {
    const points = one.points.filter(([, v]) => Number.isFinite(v) && (!spec.logY || v > 0));
    const path = points.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(top(b)).toFixed(1)}`).join("");
    if (!one.dots && points.length) {
      svg.append(shape("path", { d: path, fill: "none", stroke: `var(--${one.color})`, "stroke-width": 2, "stroke-linejoin": "round", "stroke-dasharray": one.dash ?? "none" }));
    }
    if (one.dots || points.length < 60) {
      for (const [a, b] of points) svg.append(shape("circle", { cx: x(a), cy: y(top(b)), r: one.dots ? 3.5 : 2.4, fill: `var(--${one.color})` }));
    }
  }
  for (const { x: at, text, color } of spec.marks ?? []) {
    svg.append(shape("line", { x1: x(at), x2: x(at), y1: drawn.top, y2: drawn.height - drawn.bottom, stroke: `var(--${color})`, "stroke-width": 1.5, "stroke-dasharray": "5 3" }));
    const isLate = x(at) > 0.6 * drawn.width;
    svg.append(shape("text", { class: "strong", x: x(at) + (isLate ? -6 : 6), y: drawn.height - drawn.bottom - 8, "text-anchor": isLate ? "end" : "start" }, text));
  }
  if (spec.nothing && !inside.some(([, value]) => Number.isFinite(value))) {
    svg.append(shape("text", { x: (drawn.left + drawn.width) / 2, y: drawn.top + 24, "text-anchor": "middle" }, spec.nothing));
  }
  const many = spec.series.filter((one) => one.name).length > 1;
  plot.replaceChildren(...(many ? [legendOf(spec.series)] : []), svg);
  readValues(plot, drawn, spec);
}

/** Values under the pointer, and by arrow keys when the chart has the focus. */
function readValues(plot, drawn, spec) {
  const { svg, x, y } = drawn;
  const main = spec.series.filter((one) => !one.silent && one.points.length);
  if (!main.length) return;
  const places = [...new Set(main.flatMap((one) => one.points.map(([a]) => a)))].sort((a, b) => a - b);
  const guide = shape("line", { class: "guide", y1: drawn.top, y2: drawn.height - drawn.bottom, visibility: "hidden" });
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  svg.append(guide);
  plot.append(tip);
  let at = -1;
  const show = (index) => {
    at = Math.min(Math.max(index, 0), places.length - 1);
    const lines = [`${spec.xName ?? spec.xLabel} ${shown(places[at])}`];
    for (const one of main) {
      const found = one.points.find(([a]) => a === places[at]);
      if (found) lines.push(`${one.says ?? one.name ?? spec.yLabel} ${shown(found[1])}`);
    }
    tip.textContent = lines.join("\n");
    tip.hidden = false;
    const px = x(places[at]);
    for (const end of ["x1", "x2"]) guide.setAttribute(end, px);
    guide.setAttribute("visibility", "visible");
    tip.style.left = `${Math.max(0, Math.min(px + 10, drawn.width - tip.offsetWidth))}px`;
    tip.style.top = `${svg.offsetTop ?? 0}px`;
  };
  const hide = () => ((tip.hidden = true), guide.setAttribute("visibility", "hidden"));
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("pointermove", (event) => {
    const wanted = x.back(event.clientX - svg.getBoundingClientRect().left);
    let best = 0;
    places.forEach((place, i) => { if (Math.abs(place - wanted) < Math.abs(places[best] - wanted)) best = i; });
    show(best);
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: places.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    show(next);
  });
}
