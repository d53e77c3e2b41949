// Levenberg-Marquardt in the n x n form and gradient descent, step by step as in globalmin.shallow.

const METHODS = { levenberg_marquardt: levenbergMarquardt, gradient_descent: gradientDescent };
const START_DAMPING = 0.1; // relative to the mean of the diagonal of K
const MAX_REJECTIONS = 12;
const PATIENCE = 60; // systems that must lower the residual by one per cent
const PROGRESS = 0.99;
const GRADIENT_PATIENCE = 1000; // steps without a new smallest loss

function meanDiagonal(K, n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += K[i * n + i];
  return sum / n;
}

/** The step -J^T u with (K + shift I) u = r; null where the matrix is not positive definite. */
function dampedSolution(point, shift) {
  const n = point.task.n;
  const L = cholesky(point.gram, n, shift);
  const u = L === null ? null : choleskySolve(L, n, point.residual);
  return u !== null && u.every(Number.isFinite) ? u : null;
}

/** Damped steps to the tolerance, then undamped ones to the rounding floor: a point per system. */
function* levenbergMarquardt(start, { tol = 1e-13 } = {}) {
  let point = start;
  const n = point.task.n;
  let diagonal = meanDiagonal(point.gram, n);
  let mu = point.norm > 0 ? (START_DAMPING * diagonal) / point.norm : 0;
  let growth = 2;
  let rejections = 0;
  const norms = [point.norm];
  while (!point.isFitted(tol) && diagonal > 0) {
    const shift = Math.max(mu * point.norm, EPS * diagonal);
    const u = dampedSolution(point, shift);
    const trial = u === null ? null : point.moved(point.pullBack(u));
    if (trial !== null && trial.norm < point.norm) {
      const model = point.norm ** 2 - shift ** 2 * dot(u, u, n);
      const gain = (point.norm ** 2 - trial.norm ** 2) / Math.max(model, Number.MIN_VALUE);
      mu *= Math.max(1 / 3, 1 - (2 * Math.min(gain, 1) - 1) ** 3);
      [point, growth, rejections] = [trial, 2, 0];
      diagonal = meanDiagonal(point.gram, n);
    } else {
      [mu, growth, rejections] = [mu * growth, 2 * growth, rejections + 1];
    }
    yield point;
    norms.push(point.norm);
    const isSlow = norms.length > PATIENCE && point.norm > PROGRESS * norms.at(-PATIENCE - 1);
    if (rejections >= MAX_REJECTIONS || isSlow) break;
  }
  if (point.isFitted(tol)) yield* undampedSteps(point);
}

function* undampedSteps(point) {
  let improves = point.norm > 0;
  while (improves) {
    const u = dampedSolution(point, 0);
    const trial = u === null ? point : point.moved(point.pullBack(u));
    improves = trial.norm > 0 && trial.norm < 0.9 * point.norm;
    if (trial.norm < point.norm) yield (point = trial);
  }
}

/** Gradient steps until the loss has found no new minimum for a thousand of them. */
function* gradientDescent(start, { tol = 1e-13, step = 1 } = {}) {
  let point = start;
  let [lowest, since] = [point.norm, 0];
  while (since < GRADIENT_PATIENCE && Number.isFinite(point.norm)) {
    point = point.moved(point.gradient, -step);
    yield point;
    if (point.relativeResidual <= tol) return;
    [lowest, since] = point.norm < lowest ? [point.norm, 0] : [lowest, since + 1];
  }
}

/**
 * The step of theory: OS-T6.2 (relu: OS-T6.3) for unit rows and the balanced head, else 1/(|J| + Lip S)^2 where
 * OS-C1 holds at the start, else 1/(B^2 |v|^2 |X|^2), else 1/(2 |J|^2) at the start.
 */
function theoryStep(point) {
  const { X, n, d, phi, y } = point.task;
  const B = phi.suprema[0];
  const isPublished = B < Infinity && hasUnitRows(point.task) && hasBalancedHead(point);
  const certified = isPublished || phi.hasKink ? null : descentStep(point);
  if (certified !== null) return certified;
  if (B === Infinity) {
    const square = point.spectrum[n - 1];
    return square > 0 ? 1 / (2 * square) : 1;
  }
  const XtX = new Float64Array(d * d);
  for (let i = 0; i < n; i++) {
    for (let a = 0; a < d; a++) {
      for (let b = 0; b < d; b++) XtX[a * d + b] += X[i * d + a] * X[i * d + b];
    }
  }
  const largest = eigenvalues(XtX, d)[d - 1];
  if (isPublished) return n / ((phi.hasKink ? 3 : 2 * B * B) * dot(y, y, n) * largest);
  return 1 / (B * B * dot(point.v, point.v, point.v.length) * largest);
}

function descentStep(point) {
  const n = point.task.n;
  const [low, high] = [point.spectrum[0], point.spectrum[n - 1]];
  if (!(low > n * EPS * high)) return null;
  const [a, g] = [Math.sqrt(low), point.norm];
  const Lip = lipschitz(point, (2 * g) / a);
  if (!((2 * Lip * g) / low < 1)) return null;
  const path = (2 * g) / (a + Math.sqrt(low - 2 * Lip * g));
  return 1 / (Math.sqrt(high) + Lip * path) ** 2;
}

function hasUnitRows({ X, n, d }) {
  for (let i = 0; i < n; i++) {
    if (Math.abs(Math.sqrt(dot(X, X, d, i * d, i * d)) - 1) > 1e-9) return false;
  }
  return true;
}

function hasBalancedHead({ v, task }) {
  const expected = norm(task.y) / Math.sqrt(v.length * task.n);
  const nonzero = v.filter((entry) => entry !== 0);
  return expected > 0 && nonzero.length > 0 &&
    nonzero.every((entry) => Math.abs(Math.abs(entry) - expected) <= 1e-9 * expected);
}
