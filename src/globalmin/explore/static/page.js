// The page: choices in, figures and verdicts out.

function keyRow(label, value) {
  const row = document.createElement("div");
  const [name, number] = [document.createElement("dt"), document.createElement("dd")];
  name.textContent = label;
  number.textContent = value;
  row.append(name, number);
  return row;
}

function showVerdict(session) {
  const found = session.verdict;
  byId("verdict").className = `verdict ${found.color}`;
  if (byId("word").textContent !== found.word) byId("word").textContent = found.word;
  byId("sentence").textContent = found.sentence;
  byId("down").hidden = found.kind !== "saddle";
  for (const card of ["card-near", "card-stuck", "card-yet"]) {
    byId(card).classList.toggle("now", card === found.card);
    byId(card).toggleAttribute("aria-current", card === found.card);
  }
  const { seen, point } = session;
  byId("keys").replaceChildren(
    keyRow("step", session.steps.toLocaleString("en")), keyRow("loss", shown(point.loss)),
    keyRow("relative residual", shown(point.relativeResidual)), keyRow(ratioName(point), shown(seen.newton)),
    keyRow("smallest eigenvalue", shown(seen.low)), keyRow("time", `${(session.elapsed / 1000).toFixed(2)} s`));
}

const SMOOTH_RATIOS = "Two ratios that must fall below 1. Blue, 2 Lip e/a: weights of zero loss exist nearby (a smallest singular value of the Jacobian J, e length of Newton's step, Lip how fast J changes around here). Orange, 2 Lip |r|/a²: gradient descent with a small step converges to zero loss from here.";
const CELL_RATIO = "Relu has kinks, so its theorem is another one: the largest |xᵢ| |r| / (|zₗᵢ| √μ), |zₗᵢ| / |xᵢ| how far neuron l is from its kink at sample i, μ the smallest eigenvalue of the Gram matrix of the neurons that are far enough. Below 1 the step to zero loss crosses no kink. It says nothing about gradient descent: that proof (relu-descent) is the command line's.";

function drawCurves(session) {
  const { hasKink } = session.point.task.phi;
  const ratio = ratioName(session.point);
  const rows = session.history;
  const marks = session.fired === null ? [] : [{ x: session.fired, text: `holds from step ${session.fired}`, color: "green" }];
  const xRange = [0, Math.max(rows.at(-1).step, 5)];
  const points = (name) => rows.map((row) => [row.step, row[name]]);
  const descent = hasKink ? [] : [{ name: "descent converges from here", color: "orange", points: points("descent") }];
  lineChart(byId("fig-loss"), {
    label: `Loss by step, now ${shown(session.point.loss)}`, logY: true, xRange, marks, height: 230,
    xLabel: "step", yLabel: "training loss", series: [{ color: "blue", says: "loss", points: points("loss") }],
  });
  lineChart(byId("fig-ratio"), {
    label: `The ratio (${ratio}) by step, now ${shown(session.seen.newton)}`, logY: true, xRange, marks,
    xLabel: "step", yLabel: "ratio", levels: [{ y: 1, text: "below 1: the inequality holds", color: "green" }], nothing: "no value: J Jᵀ is singular in floats",
    series: [{ name: "zero loss nearby", color: "blue", points: points("newton") }, ...descent],
  });
  byId("ratio-caption").textContent = hasKink ? CELL_RATIO : SMOOTH_RATIOS;
  const columns = ["step", "loss", ratio, "2 Lip |r|/a^2", "smallest eigenvalue", "relative gradient"];
  const table = { columns, rows: rows.map((row) => [row.step, row.loss, row.newton, row.descent, row.low, row.slope]) };
  offerTable(byId("fig-loss"), "loss", table);
  offerTable(byId("fig-ratio"), "ratio", table);
}

function drawSpectrum(session) {
  const [now, first] = [session.point, session.start].map((point) => [...point.spectrum].reverse());
  const floor = 1e-17 * now[0];
  const points = (values) => values.map((value, i) => [i + 1, Math.max(value, floor)]);
  lineChart(byId("fig-spectrum"), {
    label: `Eigenvalues of the Gram matrix, smallest ${shown(now.at(-1))}`, logY: true, xRange: [0, now.length + 1],
    xLabel: "index, largest first", xName: "index", yLabel: "eigenvalue of K",
    series: [{ name: "start", color: "muted", points: points(first), dash: "4 3" }, { name: "now", color: "blue", points: points(now) }],
  });
  offerTable(byId("fig-spectrum"), "spectrum", { columns: ["index", "start", "now"], rows: now.map((value, i) => [i + 1, first[i], value]) });
}

/** Outputs at raw inputs, in the units of the labels. */
function predicted(session, raw) {
  const table = { ...session.table, raw, labels: raw.map(() => 0) };
  const { X, n } = stored(table);
  const { y_shift, y_scale } = table.preprocessing;
  return session.point.outputs(X, n).map((f) => f * y_scale + y_shift);
}

function drawFit(session) {
  const { raw, labels, features, target } = session.table;
  const draw = features.length === 1 ? fitCurve : features.length === 2 ? fitMap : fitScatter;
  draw(session, byId("fig-fit"));
  const outputs = predicted(session, raw);
  offerTable(byId("fig-fit"), "fit", { columns: [...features, target, "network"], rows: raw.map((row, i) => [...row, labels[i], outputs[i]]) });
}

function fitCurve(session, figure) {
  const { raw, labels, features, target } = session.table;
  const xs = raw.map(([x]) => x);
  const [low, high] = rangeOf(xs, false);
  const dense = Array.from({ length: 161 }, (_, i) => [low + ((high - low) * i) / 160]);
  const curve = predicted(session, dense);
  const spread = rangeOf(labels, false);
  const yRange = [spread[0] - 0.4 * (spread[1] - spread[0]), spread[1] + 0.4 * (spread[1] - spread[0])];
  lineChart(figure, {
    label: "The network as a curve through the samples", xRange: [low, high], yRange, xLabel: features[0], yLabel: target,
    series: [{ name: "network", color: "blue", points: dense.map(([x], i) => [x, curve[i]]) }, { name: "samples", color: "orange", dots: true, points: xs.map((x, i) => [x, labels[i]]) }],
  });
  byId("fit-caption").textContent = "The network between the samples, and the samples.";
}

function fitMap(session, figure) {
  const { raw, labels, features, target } = session.table;
  const [xRange, yRange] = [0, 1].map((j) => rangeOf(raw.map((row) => row[j]), false));
  const side = 41;
  const cells = [];
  sampled((x, y) => cells.push([x, y]), xRange, yRange, side, side);
  const grid = { values: predicted(session, cells), nx: side, ny: side, xRange, yRange };
  const range = rangeOf(labels, false);
  const color = (t) => `rgb(${bandColor((t - range[0]) / (range[1] - range[0])).map(Math.round).join()})`;
  heatMap(figure, {
    label: "The network over the plane and the samples", grid, xRange, yRange, range, xLabel: features[0], yLabel: features[1],
    dots: raw.map(([x, y], i) => ({ x, y, size: 4.5, color: color(labels[i]), edge: "#d9480f" })),
    read: (x, y) => `${features[0]} ${shown(x)}\n${features[1]} ${shown(y)}\nnetwork ${shown(between(grid, x, y))}`,
  });
  byId("fit-caption").textContent = `Color: output of the network (${target}), dark is low. Dots: the samples, filled with their label’s color; a dot that vanishes into its ground is fitted.`;
}

function fitScatter(session, figure) {
  const { raw, labels, target } = session.table;
  const outputs = predicted(session, raw);
  const range = rangeOf(labels, false);
  const clipped = (v) => Math.min(Math.max(v, range[0]), range[1]);
  const pairs = labels.map((label, i) => [label, clipped(outputs[i])]).sort((a, b) => a[0] - b[0]);
  lineChart(figure, {
    label: "Output of the network against the label", xRange: range, yRange: range, xLabel: `label (${target})`, xName: "label", yLabel: "network",
    series: [{ color: "muted", points: [[range[0], range[0]], [range[1], range[1]]], silent: true, dash: "4 3" }, { color: "blue", says: "network", dots: true, points: pairs }],
  });
  byId("fit-caption").textContent = "One dot per sample; on the line the network equals the label.";
}

function drawSlice(session) {
  const found = session.slice();
  const caption = byId("slice-caption");
  if (found === null) {
    byId("fig-slice").querySelector(".plot").replaceChildren();
    caption.textContent = "Train first: the slice goes through the start and the weights that training reached.";
    return;
  }
  const { grid, places, xRange, yRange, isSaddle, range } = found;
  heatMap(byId("fig-slice"), {
    label: "Loss on a plane through the path of training", grid, xRange, yRange, range, log: !isSaddle, least: 1e-3 * Math.min(...grid.values.filter((z) => z > 0)) || 1e-9,
    xLabel: isSaddle ? "along the way down" : "from the start to the last weights (distance)", yLabel: "across",
    paths: [{ points: places }],
    dots: [{ x: places[0][0], y: places[0][1], text: "start", size: 5 }, { x: places.at(-1)[0], y: places.at(-1)[1], text: isSaddle ? "saddle" : "end", color: isSaddle ? "#e8b55a" : "#5fc795" }],
    read: (x, y) => `along ${shown(x)}\nacross ${shown(y)}\nloss ≈ ${shown(between(grid, x, y))}`,
  });
  caption.textContent = isSaddle
    ? "The plane of the way down through the saddle: to the left and right the loss falls, across it rises."
    : "Loss on the plane through the start, the end, and where the path bends most; the path is projected onto it. Dark is low.";
  const { values, nx } = grid;
  const place = ([low, high], i) => low + ((high - low) * i) / (nx - 1);
  offerTable(byId("fig-slice"), "slice", { columns: ["along", "across", "loss"], rows: [...values].map((z, i) => [place(xRange, i % nx), place(yRange, Math.floor(i / nx)), z]) });
}

function drawAll(session, { isLast = false } = {}) {
  showVerdict(session);
  drawCurves(session);
  drawSpectrum(session);
  drawFit(session);
  if (isLast) drawSlice(session);
}

/** Training in slices of a frame, so that the page stays alive and every step can be seen. */
class Player {
  constructor(session) {
    this.session = session;
    this.timer = null;
  }

  get isPlaying() {
    return this.timer !== null;
  }

  play() {
    const more = this.session.advance(24, { single: byId("slow").checked });
    if (!more) return this.stop();
    drawAll(this.session);
    this.timer = setTimeout(() => this.play(), byId("slow").checked ? 350 : 0);
    byId("train").textContent = "Pause";
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = null;
    if (this.session.status === "running") this.session.status = "paused";
    byId("train").textContent = this.session.isOver ? "Train again" : this.session.steps ? "Go on" : "Train";
    drawAll(this.session, { isLast: true });
  }
}

function readChoices(session) {
  const whole = (id) => {
    const field = byId(id);
    const value = Math.round(Number(field.value));
    return Math.min(Math.max(Number.isFinite(value) ? value : 1, Number(field.min)), Number(field.max));
  };
  const step = Number(byId("step").value);
  return {
    table: Number(byId("table").value), width: whole("width"), activation: byId("activation").value, method: byId("method").value,
    seed: whole("seed"), start: byId("start").value, step: step > 0 && Number.isFinite(step) ? step : 1, limit: null,
  };
}

function showChoices(session) {
  const { table, width, activation: name, method, seed, start: first, step } = session.choices;
  byId("table").replaceChildren(...session.tables.map((entry, i) => new Option(entry.title, i, false, i === table)));
  Object.entries({ width, activation: name, method, seed, start: first, step }).forEach(([id, value]) => (byId(id).value = value));
  const { X, n, d } = session.start.task;
  byId("table-note").textContent = session.table.note || `${n} rows, ${session.table.features.length} columns.`;
  byId("step-label").hidden = method !== "gradient_descent";
  const names = session.table.names;
  byId("target-label").hidden = !names;
  if (names) byId("target").replaceChildren(...names.map((each) => new Option(each, each, false, each === session.table.target)));
  const eta = session.eta === null ? "" : ` Step ${shown(session.eta)}.`;
  byId("start-note").textContent = `n = ${n} samples, ${d} inputs with bias, ${width * d} trained weights. ${first === "random" ? (session.isNumpy ? "Start: numpy’s generator, as in globalmin." : "Start: the page’s own generator.") : "Start: copies of one neuron."}${eta}`;
  byId("commands").textContent = `globalmin certify explorer.safetensors explorer.csv --target ${quotedWord(session.table.target)}\nglobalmin-check explorer.gmc`;
}

const quotedWord = (text) => (/^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** A dropped or chosen file becomes a table of the list. */
function takeText(session, name, text, target = null) {
  const table = tableFrom(text, target);
  const rows = table.raw.length;
  const most = session.numbers.mostRows;
  const dropped = table.dropped.length ? ` Columns without numbers left out: ${table.dropped.join(", ")}.` : "";
  const kept = { ...table, raw: table.raw.slice(0, most), labels: table.labels.slice(0, most) };
  const entry = {
    ...standardized(kept), title: name, text, width: Math.min(200, 2 * Math.ceil(kept.raw.length / table.features.length)),
    note: `${rows > most ? `The first ${most} of ${rows} rows` : `${rows} rows`}, ${table.features.length} columns.${dropped}`,
  };
  const place = session.tables.findIndex((each) => each.title === name && each.text !== undefined);
  if (place >= 0) session.tables[place] = entry;
  else session.tables.push(entry);
  return place >= 0 ? place : session.tables.length - 1;
}

function start() {
  const session = new Session(JSON.parse(byId("numbers").textContent));
  const player = new Player(session);
  const trap = new Trap();
  byId("version").textContent = session.numbers.version;
  byId("activation").replaceChildren(...Object.keys(session.numbers.suprema).map((name) => new Option(name, name)));
  byId("teacher").replaceChildren(...TEACHERS.map(({ title }, i) => new Option(title, i)));
  const fresh = (choices) => {
    player.stop();
    session.choose(choices);
    showChoices(session);
    player.stop();
  };
  const wave = session.tables.findIndex(({ title }) => title === "A wave");
  const scene = (choices) => {
    fresh({ table: wave, width: 20, activation: "softplus", method: "levenberg_marquardt", seed: 0, start: "random", step: 1, limit: null, ...choices });
    byId("bench").scrollIntoView({ block: "start" });
    player.play();
  };
  byId("show-near").addEventListener("click", () => scene({}));
  byId("show-saddle").addEventListener("click", () => scene({ start: "equal" }));
  byId("show-yet").addEventListener("click", () => scene({ method: "gradient_descent", limit: 2000 }));
  byId("controls").addEventListener("submit", (event) => {
    event.preventDefault();
    if (player.isPlaying) return player.stop();
    if (session.isOver) fresh({});
    player.play();
  });
  byId("one").addEventListener("click", () => {
    player.stop();
    if (!session.isOver) session.advance(0, { single: true });
    if (!session.isOver) session.status = "paused";
    player.stop();
  });
  byId("reset").addEventListener("click", () => fresh({}));
  byId("down").addEventListener("click", () => session.leaveSaddle() && player.play());
  for (const id of ["width", "activation", "method", "seed", "start", "step"]) {
    byId(id).addEventListener("change", () => fresh(readChoices(session)));
  }
  byId("table").addEventListener("change", () => {
    const table = Number(byId("table").value);
    fresh({ ...readChoices(session), width: session.tables[table].width });
  });
  wireFiles(session, fresh);
  byId("save-weights").addEventListener("click", () => save("explorer.safetensors", networkFile(session.point, session.table)));
  byId("save-table").addEventListener("click", () => save("explorer.csv", new TextEncoder().encode(tableText(session.table)), "text/csv"));
  byId("teacher").addEventListener("change", () => (trap.choose(Number(byId("teacher").value)), startTrap(trap, 2.2, -0.35)));
  byId("trap-good").addEventListener("click", () => startTrap(trap, 1.7, 0.55));
  byId("trap-bad").addEventListener("click", () => startTrap(trap, 2.6, -0.25));
  showChoices(session);
  player.stop();
  startTrap(trap, 2.2, -0.35);
  let width = document.documentElement.clientWidth;
  globalThis.addEventListener("resize", () => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    drawAll(session, { isLast: true });
    drawTrap(trap);
  });
  session.player = player;
  return session;
}

function wireFiles(session, fresh) {
  const read = async (file, target = null) => {
    try {
      const table = takeText(session, file.name, await file.text(), target);
      fresh({ table, width: session.tables[table].width });
    } catch (error) {
      byId("table-note").textContent = `${file.name}: ${error.message}`;
    }
  };
  byId("file").addEventListener("change", () => byId("file").files.length && read(byId("file").files[0]));
  byId("target").addEventListener("change", () => read({ name: session.table.title, text: () => session.table.text }, byId("target").value));
  const drop = byId("drop");
  for (const kind of ["dragover", "dragleave", "drop"]) {
    globalThis.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) read(event.dataTransfer.files[0]);
    });
  }
}
