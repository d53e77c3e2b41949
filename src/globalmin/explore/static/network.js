// f(x) = v . phi(W x), the loss L = (1/2) sum r_i^2, and everything that follows from the weights.

const logistic = (z) => {
  const decay = Math.exp(-Math.abs(z));
  return (z >= 0 ? 1 : decay) / (1 + decay);
};
const logisticSlope = (z) => {
  const decay = Math.exp(-Math.abs(z));
  return decay / (1 + decay) ** 2;
};
const logisticBend = (z) => -logisticSlope(z) * Math.tanh(z / 2);
const sech2 = (z) => 4 * logisticSlope(2 * z);

/** phi and its first two derivatives; the suprema of all orders come with the page. */
const FORMULAS = {
  softplus: [(z) => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z))), logistic, logisticSlope],
  tanh: [Math.tanh, sech2, (z) => -2 * Math.tanh(z) * sech2(z)],
  sigmoid: [logistic, logisticSlope, logisticBend],
  quadratic: [(z) => z * z, (z) => 2 * z, () => 2],
  relu: [(z) => Math.max(z, 0), (z) => (z >= 0 ? 1 : 0), () => 0],
};

/** An activation with sup |phi'|, sup |phi''|, sup |phi'''| (Infinity where there is none). */
function activation(name, suprema) {
  const [value, slope, bend] = FORMULAS[name];
  const hasKink = name === "relu";
  return { name, value, slope, bend, hasKink, suprema: suprema.map((s) => (s === null ? Infinity : s)) };
}

/** The least-squares problem: n rows of d inputs (bias included) and n labels. */
function problem(X, y, n, d, phi) {
  const size = norm(y);
  return { X, y, n, d, phi, scale: size > 0 ? size : 1, products: rowProducts(X, n, d) };
}

/** Weights of a problem with everything that follows from them, each computed once. */
class Point {
  constructor(task, W, v) {
    this.task = task;
    this.W = W;
    this.v = v;
  }

  get Z() {
    const { X, n, d } = this.task;
    return (this._Z ??= productTransposed(X, this.W, n, this.v.length, d));
  }

  get features() {
    return (this._features ??= this.Z.map(this.task.phi.value));
  }

  /** S = phi'(Z) diag(v): J J^T = (S S^T) o (X X^T). */
  get slopes() {
    const k = this.v.length;
    return (this._slopes ??= this.Z.map((z, i) => this.task.phi.slope(z) * this.v[i % k]));
  }

  get residual() {
    const { n, y } = this.task;
    const k = this.v.length;
    return (this._residual ??= Float64Array.from(
      { length: n }, (_, i) => dot(this.features, this.v, k, i * k, 0) - y[i]));
  }

  get norm() {
    return (this._norm ??= norm(this.residual));
  }

  get loss() {
    return 0.5 * this.norm * this.norm;
  }

  get relativeResidual() {
    return this.norm / this.task.scale;
  }

  /** J^T u, shaped like W. */
  pullBack(u) {
    const { X, n, d } = this.task;
    const k = this.v.length;
    const G = new Float64Array(k * d);
    for (let i = 0; i < n; i++) {
      for (let l = 0; l < k; l++) {
        const s = this.slopes[i * k + l] * u[i];
        for (let j = 0; j < d; j++) G[l * d + j] += s * X[i * d + j];
      }
    }
    return G;
  }

  get gradient() {
    return (this._gradient ??= this.pullBack(this.residual));
  }

  /** K = J J^T. */
  get gram() {
    if (!this._gram) {
      const K = rowProducts(this.slopes, this.task.n, this.v.length);
      const { products } = this.task;
      for (let i = 0; i < K.length; i++) K[i] *= products[i];
      this._gram = K;
    }
    return this._gram;
  }

  get spectrum() {
    return (this._spectrum ??= eigenvalues(this.gram, this.task.n));
  }

  /** Size of the rounding errors in r, an estimate. */
  get rounding() {
    const { X, n, d } = this.task;
    const k = this.v.length;
    const shifts = productTransposed(X.map(Math.abs), this.W.map(Math.abs), n, k, d);
    let square = 0;
    for (let i = 0; i < n; i++) {
      let size = 0;
      for (let l = 0; l < k; l++) {
        const at = i * k + l;
        size += Math.abs(this.slopes[at]) * shifts[at] + Math.abs(this.features[at] * this.v[l]);
      }
      square += size * size;
    }
    return EPS * Math.sqrt(square);
  }

  isFitted(tol) {
    const relative = this.relativeResidual;
    return relative <= tol || (tol <= 1e-8 && relative <= 1e-8 && this.norm <= this.rounding);
  }

  moved(direction, step = -1) {
    return new Point(this.task, this.W.map((w, i) => w + step * direction[i]), this.v);
  }

  distance(other) {
    return norm(this.W.map((w, i) => w - other.W[i]));
  }

  /** Outputs at other rows, m x d by rows. */
  outputs(rows, m) {
    const { d, phi } = this.task;
    const k = this.v.length;
    const Z = productTransposed(rows, this.W, m, k, d);
    return Float64Array.from({ length: m }, (_, i) => {
      let sum = 0;
      for (let l = 0; l < k; l++) sum += this.v[l] * phi.value(Z[i * k + l]);
      return sum;
    });
  }
}

/** The head of OS: half +|y|/sqrt(kn), half the negative, and where k is odd one more +: a zero would leave
 * a neuron idle. */
function balancedHead(y, k) {
  const size = (norm(y) / Math.sqrt(y.length) || 1) / Math.sqrt(k);
  if (k === 1) return Float64Array.of(size);
  const half = Math.floor(k / 2);
  return Float64Array.from({ length: k }, (_, l) => (l >= half && l < 2 * half ? -size : size));
}

/** Hessian of L in W, kd x kd: J^T J and the blocks sum_i r_i v_l phi''(w_l . x_i) x_i x_i^T. */
function hessian(point) {
  const { X, n, d, phi } = point.task;
  const k = point.v.length;
  const p = k * d;
  const H = new Float64Array(p * p);
  const row = new Float64Array(p);
  for (let i = 0; i < n; i++) {
    for (let l = 0; l < k; l++) {
      for (let j = 0; j < d; j++) row[l * d + j] = point.slopes[i * k + l] * X[i * d + j];
    }
    for (let a = 0; a < p; a++) {
      const s = row[a];
      for (let b = 0; b <= a; b++) H[a * p + b] += s * row[b];
    }
    for (let l = 0; l < k; l++) {
      const bend = point.residual[i] * point.v[l] * phi.bend(point.Z[i * k + l]);
      for (let a = 0; a < d; a++) {
        const s = bend * X[i * d + a];
        for (let b = 0; b <= a; b++) H[(l * d + a) * p + l * d + b] += s * X[i * d + b];
      }
    }
  }
  for (let a = 0; a < p; a++) for (let b = 0; b < a; b++) H[b * p + a] = H[a * p + b];
  return H;
}
