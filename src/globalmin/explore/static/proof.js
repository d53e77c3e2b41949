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

/** min over i of (|z_il| - rounding)/|x_i| per neuron: how far a neuron is from its nearest kink. */
function relativeMargins(point) {
  const { X, n, d } = point.task;
  const k = point.v.length;
  const sizes = productTransposed(X.map(Math.abs), point.W.map(Math.abs), n, k, d);
  const margins = new Float64Array(k).fill(Infinity);
  for (let i = 0; i < n; i++) {
    const size = Math.sqrt(dot(X, X, d, i * d, i * d));
    for (let l = 0; l < k && size > 0; l++) {
      const at = i * k + l;
      const safe = Math.abs(point.Z[at]) - (d + 2) * EPS * sizes[at];
      margins[l] = Math.min(margins[l], safe / size);
    }
  }
  return margins;
}

/** Smallest eigenvalue of G = K o sum over the neurons of v_l^2 D_li D_lj; 0 where it is singular in floats. */
function cellEigenvalue(point, neurons) {
  const { n, products } = point.task;
  const k = point.v.length;
  const S = new Float64Array(n * neurons.length);
  for (let i = 0; i < n; i++) {
    neurons.forEach((l, j) => (S[i * neurons.length + j] = point.Z[i * k + l] > 0 ? point.v[l] : 0));
  }
  const G = rowProducts(S, n, neurons.length);
  for (let i = 0; i < G.length; i++) G[i] *= products[i];
  const spectrum = eigenvalues(G, n);
  return spectrum[0] > n * EPS * spectrum[n - 1] ? spectrum[0] : 0;
}

/**
 * Theorem RI for relu: with a set T of neurons, the largest |x_i| |r|/(|z_li| sqrt(mu)) over T below 1 says
 * that the step to zero loss stays in the activation cell. Neurons whose margin is too small leave T, which
 * lowers mu, until nothing more falls out.
 */
function cellInequality(point) {
  const g = point.norm;
  const margins = relativeMargins(point);
  let best = { a: 0, e: Infinity, newton: Infinity, descent: Infinity, radius: Infinity };
  let neurons = [...margins.keys()].filter((l) => margins[l] > 0);
  while (neurons.length > 0) {
    const mu = cellEigenvalue(point, neurons);
    if (mu === 0) break;
    const a = Math.sqrt(mu);
    const newton = (ROOM * g) / (a * Math.min(...neurons.map((l) => margins[l])));
    const found = { a, e: g / a, newton, descent: Infinity, radius: newton <= 1 ? g / a : Infinity };
    if (newton < best.newton) best = found;
    const kept = neurons.filter((l) => margins[l] >= (ROOM * g) / a);
    if (kept.length === neurons.length) return found;
    neurons = kept;
  }
  return best;
}

/**
 * Numbers of the two theorems at a point. `newton` = 2 Lip e/a below 1: weights of zero loss exist
 * within `radius`; `descent` = 2 Lip |r|/a^2 below 1: gradient descent with a small step converges
 * from here. Infinity where J J^T is singular in floats.
 */
function inequalities(point) {
  if (point.task.phi.hasKink) return cellInequality(point);
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
