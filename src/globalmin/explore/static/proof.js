// The inequalities of the theorems, evaluated in floats: never a proof, only a sign that one exists.

const ROOM = 1 + 1e-4; // the margins of the program that writes certificates

/** Lip of the Jacobian on the ball of radius rho (LIP-W, bound of size d x d). */
function lipschitz(point, rho) {
  const { X, n, d, phi } = point.task;
  const k = point.v.length;
  const [, bound, slope] = phi.suprema;
  const sizes = productTransposed(X.map(Math.abs), point.W.map(Math.abs), n, k, d);
  const M = new Float64Array(d * d);
  for (let i = 0; i < n; i++) {
    const square = dot(X, X, d, i * d, i * d);
    let most = 0;
    for (let l = 0; l < k; l++) {
      const at = i * k + l;
      const reach = rho * Math.sqrt(square) + (d + 2) * EPS * sizes[at];
      const bend = Math.min(bound, Math.abs(phi.bend(point.Z[at])) + slope * reach);
      most = Math.max(most, bend * Math.abs(point.v[l]));
    }
    for (let a = 0; a < d; a++) {
      const s = most * most * square * X[i * d + a];
      for (let b = 0; b < d; b++) M[a * d + b] += s * X[i * d + b];
    }
  }
  return Math.sqrt(Math.max(eigenvalues(M, d)[d - 1], 0));
}

/**
 * Numbers of the two theorems at a point. `newton` = 2 Lip e/a below 1: weights of zero loss exist
 * within `radius`; `descent` = 2 Lip |r|/a^2 below 1: gradient descent with a small step converges
 * from here. Infinity where J J^T is singular in floats.
 */
function inequalities(point) {
  const n = point.task.n;
  const none = { a: 0, e: Infinity, newton: Infinity, descent: Infinity, radius: Infinity };
  const L = cholesky(point.gram, n);
  const low = point.spectrum[0];
  if (L === null || !(low > EPS * meanDiagonal(point.gram, n) * n)) return none;
  const a = Math.sqrt(low);
  const e = norm(forwardSolve(L, n, point.residual));
  const newton = (ROOM * 2 * lipschitz(point, 2 * e) * e) / a;
  const g = point.norm;
  const descent = (ROOM * 2 * lipschitz(point, (2 * g) / a) * g) / low;
  const radius = newton <= 1 ? (2 * e) / (1 + Math.sqrt(1 - newton)) : Infinity;
  return { a, e, newton, descent, radius };
}

/** |J^T r| / (|J| |r|): between 0 (stationary) and 1. */
function relativeGradient(point) {
  const size = Math.sqrt(Math.max(point.spectrum[point.task.n - 1], 0)) * point.norm;
  return size > 0 ? norm(point.gradient) / size : 0;
}

/** At a stationary point: the least curvature of the loss, its direction, and whether it is below rounding. */
function wayDown(point) {
  const p = point.W.length;
  const { value, vector, largest } = leastEigenpair(hessian(point), p);
  const rounding = 8 * p * EPS * Math.max(Math.abs(value), Math.abs(largest)) * Math.sqrt(p);
  return { curvature: value, direction: vector, exists: value < -Math.max(rounding, 1e-7 * largest) };
}

/** The point of least loss among a few along the direction, both ways; null if none is lower. */
function escape(point, direction) {
  let best = null;
  for (let step = 4; step > 1e-4; step /= 2) {
    for (const sign of [1, -1]) {
      const trial = point.moved(direction, sign * step);
      if (trial.norm < (best ?? point).norm) best = trial;
    }
  }
  return best;
}
