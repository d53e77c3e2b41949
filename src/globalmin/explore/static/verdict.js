// What is said of a point: one of three verdicts, with its reason in words and numbers.

const STATIONARY = 1e-6; // relative gradient below which a point counts as stationary
const LARGEST_HESSIAN = 640; // order kd up to which the way down is looked for

/** The numbers behind a verdict; `isLast` asks for the costly ones too. */
function observe(point, { isLast = false } = {}) {
  const found = { ...inequalities(point), loss: point.loss, slope: relativeGradient(point) };
  found.low = point.spectrum[0];
  const isStill = found.slope < STATIONARY && found.newton >= 1 && point.relativeResidual > 1e-7;
  found.isStationary = isStill;
  if (isStill && isLast && point.W.length <= LARGEST_HESSIAN) {
    const way = wayDown(point);
    const lower = way.exists ? escape(point, way.direction) : null;
    found.way = { ...way, lower: lower !== null && lower.loss < (1 - 1e-9) * point.loss ? lower : null };
  }
  return found;
}

/** The name of the ratio that must fall below 1, by the kind of neuron. */
const ratioName = (point) => (point.task.phi.hasKink ? "margin ratio" : "2 Lip e/a");

const say = (kind, color, card, word, sentence) => ({ kind, color, card, word, sentence });

/** The verdict on a state: point, what was observed there, and how the run stands. */
function verdictOf(state) {
  const { seen, point } = state;
  if (!Number.isFinite(point.loss)) {
    return say("yet", "amber", "card-yet", "Not there yet", "The loss overflowed: the step is too large. Take a smaller one and reset.");
  }
  if (seen.newton < 1) {
    return say("near", "green", "card-near", "Zero loss is near",
      `The proof’s inequality holds in floats: ${ratioName(point)} = ${shown(seen.newton)} is below 1. If it is so over the reals, weights of zero loss, the global minimum, lie within ${shown(seen.radius)} of these: run globalmin certify for the certificate.`);
  }
  if (seen.isStationary && seen.way) {
    return seen.way.lower !== null
      ? say("saddle", "red", "card-stuck", "Saddle: there is a way down",
        `The gradient has vanished at loss ${shown(seen.loss)}, but the loss curves down along one direction (curvature ${shown(seen.way.curvature)}). Following it reaches ${shown(seen.way.lower.loss)}.`)
      : say("stuck", "red", "card-stuck", "Stuck: no way down was found",
        `The gradient has vanished at loss ${shown(seen.loss)} and following the least curvature (${shown(seen.way.curvature)}) does not lower the loss: a local minimum or a flat place, as far as floats can tell.${point.task.phi.hasKink ? " Between kinks relu networks have no curvature but that of the squares, so saddles cannot be told from minima here." : ""} Take another seed or more neurons.`);
  }
  return say("yet", "amber", "card-yet", "Not there yet", unfinished(state));
}

function unfinished({ seen, point, steps, status, equal }) {
  const { n, d } = point.task;
  const k = point.v.length;
  const bar = Number.isFinite(seen.newton) ? `The ${point.task.phi.hasKink ? "" : "ratio "}${ratioName(point)} is ${shown(seen.newton)} and must fall below 1.` : "J Jᵀ is singular in floats, so the ratio has no value yet.";
  if (equal.floor > 0) return `Equal rows have different labels: no network has a loss below ${shown(equal.floor)}, so zero is out of reach. globalmin fit proves that floor.`;
  if (equal.equal.length > 0) return "Some rows occur twice, so J Jᵀ is singular and the inequality cannot hold here; globalmin fit takes each such row once.";
  if (k * d < n) return `W has ${k * d} numbers for ${n} samples: J Jᵀ is singular and the inequality can never hold. Take at least ${Math.ceil(n / d)} neurons.`;
  if (steps === 0) return `These are the first weights. ${bar}`;
  if (status === "running" || status === "paused") return `The loss still falls. ${bar}`;
  if (status === "limit") return `Stopped after ${steps.toLocaleString("en")} steps, and the loss still falls. ${bar} Gradient descent may need far more steps than Levenberg-Marquardt.`;
  return `The method found no further progress at loss ${shown(seen.loss)}. ${bar} Take more neurons or another seed.`;
}
