// The network with one normalized filter (DU chapter 5): population loss, descent, and its trap.

/** sin x - x cos x without cancellation for small x. */
function sineExcess(x) {
  if (Math.abs(x) >= 1) return Math.sin(x) - x * Math.cos(x);
  let total = 0;
  let factorial = 1; // (2m + 1)! from above, m = 12, 11, ..., 1
  for (let i = 2; i <= 25; i++) factorial *= i;
  for (let m = 12; m > 0; m--) {
    total = (2 * m) / factorial - x * x * total;
    factorial /= (2 * m + 1) * (2 * m);
  }
  return x ** 3 * total;
}

const turn = (phi) => sineExcess(Math.PI - phi); // g(phi)
const turnGap = (phi) => 2 * Math.PI * Math.sin(phi / 2) ** 2 - sineExcess(phi); // pi - g(phi)

/** The true filter (1, 0) and true output weights a*: two directions of the filter are enough. */
function filterTeacher(a) {
  const k = a.length;
  const size = dot(a, a, k);
  const s = a.reduce((sum, entry) => sum + entry, 0);
  const ratio = (s * s) / size;
  const threshold = (k + Math.PI - 1) / Math.PI;
  const spread = 1 - ratio / (k + Math.PI - 1);
  const stiffness = ((2 * Math.PI) / (Math.PI - 1)) * size * spread; // a*^T M^{-1} a*
  const barrier = ((Math.PI - 1) * size) / (4 * Math.PI * spread);
  const hasTrap = k > 1 && ratio < threshold;
  const saddleG = hasTrap ? 1 - (ratio * (Math.PI - 1)) / (k + Math.PI - 1 - ratio) : null;
  return { a, k, size, s, ratio, threshold, stiffness, barrier, hasTrap, saddleG };
}

/** The angle with g(phi) = value, by bisection. */
function angleOfTurn(value) {
  let [low, high] = [0, Math.PI];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    [low, high] = turn(middle) > value ? [middle, high] : [low, middle];
  }
  return (low + high) / 2;
}

function filterAngle(v) {
  return Math.abs(Math.atan2(v[1], v[0]));
}

function filterLoss(v, a, teacher) {
  let [square, sum, along] = [0, 0, 0];
  for (let i = 0; i < teacher.k; i++) {
    const miss = a[i] - teacher.a[i];
    square += miss * miss;
    sum += miss;
    along += a[i] * teacher.a[i];
  }
  return ((Math.PI - 1) * square + sum * sum) / (4 * Math.PI) +
    (turnGap(filterAngle(v)) * along) / (2 * Math.PI);
}

function filterGradient(v, a, teacher) {
  const phi = filterAngle(v);
  const length = Math.hypot(v[0], v[1]);
  const unit = [v[0] / length, v[1] / length];
  const along = dot(a, teacher.a, teacher.k);
  const factor = -(along * (Math.PI - phi)) / (2 * Math.PI * length);
  const dv = [factor * (1 - unit[0] * unit[0]), factor * (0 - unit[1] * unit[0])];
  const sum = a.reduce((total, entry) => total + entry, 0);
  const da = a.map((entry, i) => (sum + (Math.PI - 1) * entry) / (2 * Math.PI) -
    (teacher.s + (turn(phi) - 1) * teacher.a[i]) / (2 * Math.PI));
  return { dv, da };
}

/** Least loss over all output weights with a . a* = b |a*|^2, at the angle phi. */
function shadowLoss(phi, b, teacher) {
  const miss = (b - 1) * teacher.size;
  return (miss * miss) / (2 * teacher.stiffness) + (turnGap(phi) / (2 * Math.PI)) * b * teacher.size;
}

/** The output weights that attain it: W a* + c M^{-1} a*. */
function shadowHead(b, teacher) {
  const c = ((b - 1) * teacher.size) / teacher.stiffness;
  const mean = teacher.s / (teacher.k + Math.PI - 1);
  return teacher.a.map((entry) => entry + c * ((2 * Math.PI) / (Math.PI - 1)) * (entry - mean));
}

/** beta of theorem TB: steps below 2/beta lower the loss at every step. */
function filterSmoothness(length, loss, teacher) {
  const height = Math.sqrt(teacher.size);
  const most = teacher.size + height * Math.sqrt((4 * Math.PI * loss) / (Math.PI - 1));
  const diagonal = Math.max(most / (2 * length * length), (teacher.k + Math.PI - 1) / (2 * Math.PI));
  return diagonal + (1.81971 * height) / (2 * Math.PI * length);
}

/** Where descent from here ends, if the loss is below the barrier: the sign of a . a* decides. */
function filterBasin(v, a, teacher) {
  const side = dot(a, teacher.a, teacher.k);
  if (side === 0 || filterLoss(v, a, teacher) >= teacher.barrier) return "undecided";
  if (side < 0) return "trap";
  return filterAngle(v) < Math.PI ? "global" : "undecided";
}

/** Gradient descent from (v, a): the path in the plane (angle, b), with losses. */
function filterRun(v, a, teacher, { maxIter = 4000, tol = 1e-12 } = {}) {
  const step = Math.min(0.1, 1 / filterSmoothness(Math.hypot(v[0], v[1]), filterLoss(v, a, teacher), teacher));
  const path = [];
  let still = 0;
  for (let i = 0; i <= maxIter; i++) {
    const loss = filterLoss(v, a, teacher);
    path.push({ phi: filterAngle(v), b: dot(a, teacher.a, teacher.k) / teacher.size, loss });
    if (loss <= tol * teacher.size || still > 400) break;
    const { dv, da } = filterGradient(v, a, teacher);
    const size = Math.hypot(dv[0], dv[1], norm(da));
    still = size < 1e-9 * Math.sqrt(teacher.size) ? still + 1 : 0;
    v = [v[0] - step * dv[0], v[1] - step * dv[1]];
    a = a.map((entry, j) => entry - step * da[j]);
  }
  return { path, v, a, step, basin: filterBasin(v, a, teacher) };
}
