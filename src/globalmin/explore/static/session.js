// One training session: the choices, the points it went through, and what was seen at them.

const LIMITS = { levenberg_marquardt: 300, gradient_descent: 100000 };
const MOST_KEPT = 400; // points of the path that are kept for the slice

class Session {
  constructor(numbers) {
    this.numbers = numbers;
    this.tables = numbers.tables;
    this.embedded = Object.fromEntries(
      Object.entries(numbers.normals).map(([seed, text]) => [seed, decodeFloats(text)]));
    this.choices = { table: 0, width: this.tables[0].width, activation: "softplus", method: "levenberg_marquardt", seed: 0, start: "random", step: 1, limit: null };
    this.reset();
  }

  choose(choices) {
    Object.assign(this.choices, choices);
    this.reset();
  }

  get table() {
    return this.tables[this.choices.table];
  }

  /** First weights for the choices: numpy's where the page has them. */
  reset() {
    const { width, activation: name, seed, start, method } = this.choices;
    const { X, y, n, d } = stored(this.table);
    this.equal = equalRows({ X, y, n, d });
    const phi = activation(name, this.numbers.suprema[name]);
    const drawn = normals(seed, width * d, this.embedded);
    this.isNumpy = drawn.isNumpy;
    const W = start === "equal"
      ? Float64Array.from({ length: width * d }, (_, i) => drawn.values[i % d])
      : drawn.values;
    this.start = new Point(problem(X, y, n, d, phi), W, balancedHead(y, width));
    this.point = this.start;
    this.history = [];
    this.path = [];
    this.elapsed = 0;
    this.steps = 0;
    this.fired = null;
    this.status = "ready";
    this.seen = observe(this.start);
    this.record();
    this.eta = method === "gradient_descent" ? this.choices.step * theoryStep(this.start) : null;
    this.begin(this.start);
  }

  /** Point the method at these weights. */
  begin(point) {
    this.point = point;
    this.iterates = METHODS[this.choices.method](point, { step: this.eta ?? 1 });
  }

  get limit() {
    return this.choices.limit ?? LIMITS[this.choices.method];
  }

  get isOver() {
    return this.status === "over" || this.status === "limit";
  }

  record() {
    const { loss, newton, descent, low, slope } = this.seen;
    if (this.fired === null && newton < 1) this.fired = this.steps;
    this.history.push({ step: this.steps, loss, newton, descent, low, slope });
    if (this.path.length < MOST_KEPT || this.path.at(-1) !== this.point) this.path.push(this.point);
    if (this.path.length > MOST_KEPT) this.path = this.path.filter((_, i) => i % 2 === 0);
  }

  /** Steps for about so many milliseconds, at least one; returns whether there is more to do. */
  advance(milliseconds = 24, { single = false } = {}) {
    const begun = performance.now();
    const more = this.stepsUntil(begun + milliseconds, single);
    this.elapsed += performance.now() - begun;
    return more;
  }

  stepsUntil(end, single) {
    const isLm = this.choices.method === "levenberg_marquardt";
    this.status = "running";
    do {
      const next = this.iterates.next();
      if (next.done) return this.finish("over");
      this.point = next.value;
      this.steps++;
      if (isLm || single) this.look();
      if (!Number.isFinite(this.point.loss)) return this.finish("over");
      if (this.steps >= this.limit) return this.finish("limit");
    } while (!single && performance.now() < end);
    if (!isLm && !single) this.look();
    return this.seen.isStationary && !isLm ? this.finish("over") : true;
  }

  look() {
    if (!Number.isFinite(this.point.loss)) return;
    this.seen = observe(this.point);
    this.record();
  }

  finish(status) {
    this.status = status;
    if (Number.isFinite(this.point.loss)) {
      this.seen = observe(this.point, { isLast: true });
      if (this.history.at(-1).step !== this.steps) this.record();
    }
    return false;
  }

  /**
   * From a saddle: along its way down, with a random push as large as keeps the loss below that of
   * the saddle, since neurons that are equal would stay equal; then train on.
   */
  leaveSaddle() {
    const lower = this.seen.way?.lower;
    if (!lower) return false;
    const push = normals(this.choices.seed + 1, lower.W.length, this.embedded).values;
    let next = lower;
    for (let size = 1; size > 1e-3; size /= 2) {
      const trial = lower.moved(push, size);
      if (trial.loss < this.point.loss) {
        next = trial;
        break;
      }
    }
    this.begin(next);
    this.steps++;
    this.look();
    this.status = "paused";
    return true;
  }

  /** All steps at once. */
  run() {
    while (this.advance(1000));
    return this.verdict;
  }

  get verdict() {
    return verdictOf(this);
  }

  /** A plane through the path: its values, the path in it, and what it is. */
  slice() {
    const isSaddle = this.verdict.kind === "saddle";
    const origin = isSaddle ? this.point : this.start;
    const along = isSaddle ? this.seen.way.direction : difference(this.point, this.start);
    const size = norm(along);
    if (!(size > 0)) return null;
    const u = along.map((x) => x / size);
    const w = secondDirection(this, u, isSaddle);
    const places = this.path.map((point) => {
      const move = difference(point, origin);
      return [dot(move, u, u.length), dot(move, w, w.length)];
    });
    if (isSaddle) return { ...saddlePlane(this.point, u, w), places, isSaddle };
    const xRange = padded(places.map(([a]) => a));
    const yRange = padded(places.map(([, b]) => b), 0.5 * (xRange[1] - xRange[0]));
    return { grid: planeLosses(origin, u, w, xRange, yRange), places, xRange, yRange, isSaddle };
  }
}

/** The plane of the way down, so far across that the loss rises there as it falls along it. */
function saddlePlane(point, u, w) {
  const at = (s, t) => planeLosses(point, u, w, [s, s + 1], [t, t + 1], 2).values[0];
  const along = 3;
  const fall = Math.max(point.loss - Math.min(at(along, 0), at(-along, 0)), 1e-12);
  let across = along;
  while (across > 1e-4 && Math.max(at(0, across), at(0, -across)) > point.loss + fall) across /= 1.3;
  const [xRange, yRange] = [[-along, along], [-across, across]];
  const grid = planeLosses(point, u, w, xRange, yRange);
  return { grid, xRange, yRange, range: [point.loss - fall, point.loss + fall] };
}

const difference = (a, b) => a.W.map((x, i) => x - b.W[i]);

/** A unit direction beside u: where the path bends most, else the gradient at the start. */
function secondDirection(session, u, isSaddle) {
  const bent = session.path.map((point) => difference(point, isSaddle ? session.point : session.start));
  const candidates = [...bent, session.start.gradient, session.start.W];
  let best = null;
  for (const move of candidates) {
    const share = dot(move, u, u.length);
    const rest = move.map((x, i) => x - share * u[i]);
    const size = norm(rest);
    if (size > 1e-9 && (best === null || size > best.size)) best = { size, rest };
    if (best !== null && move === bent.at(-1)) break;
  }
  return best === null ? u.map(() => 0) : best.rest.map((x) => x / best.size);
}

function padded(values, least = 1e-6) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = Math.max(0.35 * (high - low), (least - (high - low)) / 2);
  return [low - room, high + room];
}

/** Losses on the plane origin + s u + t w; the pre-activations are linear in (s, t). */
function planeLosses(origin, u, w, xRange, yRange, side = null) {
  const { X, y, n, d, phi } = origin.task;
  const k = origin.v.length;
  const [Zu, Zw] = [u, w].map((direction) => productTransposed(X, direction, n, k, d));
  side ??= n * k > 4000 ? 23 : 35;
  return sampled((s, t) => {
    let sum = 0;
    for (let i = 0; i < n; i++) {
      let out = -y[i];
      for (let l = 0; l < k; l++) {
        const at = i * k + l;
        out += origin.v[l] * phi.value(origin.Z[at] + s * Zu[at] + t * Zw[at]);
      }
      sum += out * out;
    }
    return 0.5 * sum;
  }, xRange, yRange, side, side);
}
