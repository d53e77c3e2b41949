// The trap of the one-filter network: its map, a start chosen on it, and where descent ends.

const TEACHERS = [
  { title: "1, −0.5, 0.2 (sum small: a trap)", a: [1, -0.5, 0.2] },
  { title: "1, −1, 0.5, −0.3 (a wide trap)", a: [1, -1, 0.5, -0.3] },
  { title: "1, 0.9, 0.8 (sum large: no trap)", a: [1, 0.9, 0.8] },
];
const X_RANGE = [0, Math.PI];
const Y_RANGE = [-0.9, 1.4];
const ANGLES = { 0: "0", [Math.PI / 4]: "π/4", [Math.PI / 2]: "π/2", [(3 * Math.PI) / 4]: "3π/4", [Math.PI]: "π" };
const byId = (id) => document.getElementById(id);

class Trap {
  constructor() {
    this.choose(0);
  }

  choose(index) {
    this.teacher = filterTeacher(TEACHERS[index].a);
    this.grid = sampled((phi, b) => shadowLoss(phi, b, this.teacher), X_RANGE, Y_RANGE, 61, 61);
    this.run = null;
  }

  /** Descent from the best output weights of height b at the angle phi. */
  from(phi, b) {
    const v = [Math.cos(phi), Math.sin(phi)];
    const a = shadowHead(b, this.teacher);
    this.before = filterBasin(v, a, this.teacher);
    this.run = filterRun(v, a, this.teacher);
    return this.run;
  }

  get dots() {
    const { teacher } = this;
    const dots = [{ x: 0, y: 1, text: "global minimum", color: "#5fc795" }];
    if (teacher.hasTrap) {
      const best = trapHeight(teacher);
      dots.push({ x: Math.PI, y: best, text: "trap", color: "#f58a80" });
      dots.push({ x: angleOfTurn(teacher.saddleG), y: 0, text: "saddle", color: "#e8b55a" });
    }
    return dots;
  }
}

/** Height, as on the map, of the best output weights at the opposite filter. */
function trapHeight(teacher) {
  return 1 - (teacher.stiffness * (turnGap(Math.PI) / (2 * Math.PI))) / teacher.size;
}

const WORDS = {
  trap: ["red", "Trap", "Descent went to the opposite filter, where the gradient vanishes and no direction leads down."],
  global: ["green", "Global minimum reached", "Descent found the true filter: the loss is zero up to rounding."],
  undecided: ["amber", "Not there yet", "Descent has not settled."],
};
const PROMISES = {
  trap: "The start lies below the barrier on the wrong side of the line: the inequality of the trap theorem holds in floats, and every small step leads to the trap.",
  global: "The start lies below the barrier on the good side: the inequality holds in floats, and every small step leads to the global minimum.",
  undecided: "The start lies above the barrier, where the theorem decides nothing.",
};

function drawTrap(trap) {
  const { teacher, run } = trap;
  const path = run ? run.path.map(({ phi, b }) => [phi, Math.min(Math.max(b, Y_RANGE[0]), Y_RANGE[1])]) : [];
  const starts = run ? [{ x: path[0][0], y: path[0][1], text: "start", size: 5 }] : [];
  heatMap(byId("fig-trap"), {
    label: "Map of the loss of the one-filter network; arrow keys move, Enter starts descent",
    grid: trap.grid, xRange: X_RANGE, yRange: Y_RANGE, log: true, least: 0.004 * teacher.size,
    xLabel: "angle to the true filter (radians)", yLabel: "height a·a*/|a*|²",
    xTicks: Object.keys(ANGLES).map(Number).sort((a, b) => a - b), xText: (t) => ANGLES[t],
    lines: [{ y: 0, text: `barrier: loss ${shown(teacher.barrier)}` }],
    paths: [{ points: path }], dots: [...trap.dots, ...starts],
    read: (phi, b) => `angle ${shown(phi)}\nheight ${shown(b)}\nloss ${shown(shadowLoss(phi, b, teacher))}`,
    pick: (phi, b) => startTrap(trap, Math.min(Math.max(phi, 1e-3), Math.PI - 1e-3), b),
  });
  offerTable(byId("fig-trap"), "trap-path", {
    columns: ["step", "angle", "height", "loss"], rows: (run?.path ?? []).map(({ phi, b, loss }, i) => [i, phi, b, loss]),
  });
  const note = `k = ${teacher.k} patches, r = (Σa*)²/|a*|² = ${shown(teacher.ratio)}; a trap exists exactly for r below ${shown(teacher.threshold)}.`;
  byId("teacher-note").textContent = note;
}

function startTrap(trap, phi, b) {
  const run = trap.from(phi, b);
  const isDone = run.path.at(-1).loss < 1e-9 * trap.teacher.size;
  const kind = isDone ? "global" : run.basin === "trap" ? "trap" : run.basin === "global" && run.path.at(-1).loss < 1e-3 ? "global" : "undecided";
  const [color, word, sentence] = WORDS[kind];
  byId("trap-verdict").className = `verdict ${color}`;
  byId("trap-word").textContent = word;
  byId("trap-sentence").textContent = `${sentence} Last loss ${shown(run.path.at(-1).loss)} after ${run.path.length - 1} steps. ${PROMISES[trap.before]}`;
  drawTrap(trap);
  lineChart(byId("fig-trap-loss"), {
    label: "Loss of the run by step", logY: true, xLabel: "step", yLabel: "population loss", height: 200, xRange: [0, run.path.length - 1],
    series: [{ color: color === "amber" ? "orange" : color, says: "loss", points: run.path.map(({ loss }, i) => [i, loss]) }],
    levels: [{ y: trap.teacher.barrier, text: "barrier", color: "muted", above: true }],
  });
  offerTable(byId("fig-trap-loss"), "trap-loss", { columns: ["step", "loss"], rows: run.path.map(({ loss }, i) => [i, loss]) });
}
