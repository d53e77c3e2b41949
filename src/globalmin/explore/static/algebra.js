// Dense linear algebra in Float64Array, row by row: products, Cholesky factors, eigenvalues.

const EPS = 2 ** -52;

function dot(a, b, length, i = 0, j = 0) {
  let sum = 0;
  for (let t = 0; t < length; t++) sum += a[i + t] * b[j + t];
  return sum;
}

const norm = (a) => Math.sqrt(dot(a, a, a.length));

/** A A^T for the n rows of length k. */
function rowProducts(A, n, k) {
  const K = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) K[j * n + i] = K[i * n + j] = dot(A, A, k, i * k, j * k);
  }
  return K;
}

/** A B^T for A of n rows and B of m rows, all of length k. */
function productTransposed(A, B, n, m, k) {
  const C = new Float64Array(n * m);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < m; j++) C[i * m + j] = dot(A, B, k, i * k, j * k);
  }
  return C;
}

/** Lower Cholesky factor of A + shift I, or null where a pivot is not positive. */
function cholesky(A, n, shift = 0) {
  const L = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) {
      L[i * n + j] = (A[i * n + j] - dot(L, L, j, i * n, j * n)) / L[j * n + j];
    }
    const pivot = A[i * n + i] + shift - dot(L, L, i, i * n, i * n);
    if (!(pivot > 0 && pivot < Infinity)) return null;
    L[i * n + i] = Math.sqrt(pivot);
  }
  return L;
}

/** L^{-1} b. */
function forwardSolve(L, n, b) {
  const x = new Float64Array(n);
  for (let i = 0; i < n; i++) x[i] = (b[i] - dot(L, x, i, i * n, 0)) / L[i * n + i];
  return x;
}

/** (L L^T)^{-1} b. */
function choleskySolve(L, n, b) {
  const x = forwardSolve(L, n, b);
  for (let i = n - 1; i >= 0; i--) {
    x[i] /= L[i * n + i];
    for (let j = 0; j < i; j++) x[j] -= L[i * n + j] * x[i];
  }
  return x;
}

/** Householder reflections of the lower half to a tridiagonal matrix with the same eigenvalues. */
function tridiagonal(matrix, n) {
  const A = Float64Array.from(matrix);
  const diagonal = new Float64Array(n);
  const beside = new Float64Array(Math.max(n - 1, 0));
  const v = new Float64Array(n);
  const p = new Float64Array(n);
  for (let k = 0; k < n - 1; k++) {
    diagonal[k] = A[k * n + k];
    let square = 0;
    for (let i = k + 1; i < n; i++) square += (v[i] = A[i * n + k]) ** 2;
    const length = Math.sqrt(square);
    const alpha = v[k + 1] > 0 ? -length : length;
    beside[k] = alpha;
    v[k + 1] -= alpha;
    const size = square - alpha * (v[k + 1] + alpha); // half of |v|^2
    if (!(size > 0)) continue; // the column is zero below the diagonal already
    p.fill(0, k + 1);
    for (let i = k + 1; i < n; i++) {
      const row = i * n;
      const vi = v[i];
      let sum = A[row + i] * vi;
      for (let j = k + 1; j < i; j++) {
        const entry = A[row + j];
        sum += entry * v[j];
        p[j] += entry * vi;
      }
      p[i] += sum;
    }
    const share = dot(p, v, n - k - 1, k + 1, k + 1) / (2 * size * size);
    for (let i = k + 1; i < n; i++) p[i] = p[i] / size - share * v[i];
    for (let i = k + 1; i < n; i++) {
      const row = i * n;
      const vi = v[i];
      const pi = p[i];
      for (let j = k + 1; j <= i; j++) A[row + j] -= vi * p[j] + pi * v[j];
    }
  }
  diagonal[n - 1] = A[n * n - 1];
  return { diagonal, beside };
}

/** One implicit step of the shifted QR iteration on rows low to high. */
function chase(d, e, low, high) {
  const half = (d[high - 1] - d[high]) / 2;
  const edge = e[high - 1];
  const root = Math.sqrt(half * half + edge * edge);
  const shift = d[high] - (edge * edge) / (half + (half < 0 ? -root : root) || EPS);
  let x = d[low] - shift;
  let z = e[low];
  for (let k = low; k < high; k++) {
    const length = Math.sqrt(x * x + z * z);
    const c = length > 0 ? x / length : 1;
    const s = length > 0 ? -z / length : 0;
    if (k > low) e[k - 1] = length;
    const a = d[k];
    const b = d[k + 1];
    const f = e[k];
    d[k] = c * c * a - 2 * c * s * f + s * s * b;
    d[k + 1] = s * s * a + 2 * c * s * f + c * c * b;
    e[k] = c * s * (a - b) + (c * c - s * s) * f;
    if (k + 1 < high) {
      x = e[k];
      z = -s * e[k + 1];
      e[k + 1] *= c;
    }
  }
}

/** All eigenvalues of a symmetric matrix, increasing. */
function eigenvalues(A, n) {
  if (n === 0) return new Float64Array(0);
  const { diagonal: d, beside: e } = tridiagonal(A, n);
  let high = n - 1;
  for (let rounds = 0; high > 0 && rounds < 60 * n; rounds++) {
    for (let i = 0; i < high; i++) {
      if (Math.abs(e[i]) <= EPS * (Math.abs(d[i]) + Math.abs(d[i + 1]))) e[i] = 0;
    }
    while (high > 0 && e[high - 1] === 0) high--;
    if (high === 0) break;
    let low = high - 1;
    while (low > 0 && e[low - 1] !== 0) low--;
    chase(d, e, low, high);
  }
  return d.sort();
}

/** The least eigenvalue and a unit vector of it, by inverse iteration below the spectrum. */
function leastEigenpair(A, n) {
  const values = eigenvalues(A, n);
  const spread = Math.max(Math.abs(values[0]), Math.abs(values[n - 1]));
  let L = null;
  for (let room = 1e-9; L === null && room < 1; room *= 10) {
    L = cholesky(A, n, -values[0] + room * spread);
  }
  let x = Float64Array.from({ length: n }, (_, i) => Math.sin(1 + 2.7 * i));
  for (let step = 0; L !== null && step < 6; step++) {
    x = choleskySolve(L, n, x);
    const size = norm(x);
    x = x.map((entry) => entry / size);
  }
  return { value: values[0], vector: x, largest: values[n - 1] };
}
