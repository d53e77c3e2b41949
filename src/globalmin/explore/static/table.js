// Tables in, network files out: csv, standardization, starts, and the safetensors layout.

/** Cells of a csv text: quotes, CRLF, and the delimiter that the first line has most of. */
function parseCsv(text) {
  const first = text.slice(0, (text.indexOf("\n") + 1 || text.length + 1) - 1);
  const count = (mark) => first.split(mark).length;
  const mark = [",", ";", "\t"].reduce((best, next) => (count(next) > count(best) ? next : best));
  const rows = [];
  let row = [];
  let cell = "";
  let isQuoted = false;
  const source = text.replace(/^\uFEFF/, "");
  for (let i = 0; i < source.length; i++) {
    const c = source[i];
    if (isQuoted) {
      if (c !== '"') cell += c;
      else if (source[i + 1] === '"') cell += source[++i];
      else isQuoted = false;
    } else if (c === '"' && cell === "") isQuoted = true;
    else if (c === mark) row.push(cell.trim()), (cell = "");
    else if (c === "\n") row.push(cell.trim()), rows.push(row), (row = []), (cell = "");
    else if (c !== "\r") cell += c;
  }
  if (cell !== "" || row.length) row.push(cell.trim()), rows.push(row);
  return rows.filter((cells) => cells.some((entry) => entry !== ""));
}

const isNumber = (text) => text !== "" && Number.isFinite(Number(text));

/**
 * A table of numbers from csv text, or an Error that says what is wrong with the file. Columns
 * with text are left out; `target` is the last column unless another is named.
 */
function tableFrom(text, target = null) {
  const rows = parseCsv(text);
  if (rows.length < 3) throw new Error("The file has fewer than two rows of data. Give a csv file with a header line.");
  const [header, ...body] = rows;
  if (header.every(isNumber)) {
    throw new Error("The first line holds numbers only. Add a header line with the names of the columns.");
  }
  const ragged = body.findIndex((cells) => cells.length !== header.length);
  if (ragged >= 0) {
    throw new Error(`Line ${ragged + 2} has ${body[ragged].length} cells, the header ${header.length}. Mend that line.`);
  }
  const numeric = header.map((_, j) => body.every((cells) => isNumber(cells[j])));
  const names = header.filter((_, j) => numeric[j]);
  if (names.length < 2) {
    throw new Error("Fewer than two columns hold numbers in every row. Text and gaps are for globalmin fit.");
  }
  const label = target !== null && names.includes(target) ? target : names.at(-1);
  const features = names.filter((name) => name !== label);
  const column = (name) => header.indexOf(name);
  return {
    features, target: label, names,
    dropped: header.filter((_, j) => !numeric[j]),
    raw: body.map((cells) => features.map((name) => Number(cells[column(name)]))),
    labels: body.map((cells) => Number(cells[column(label)])),
  };
}

/** Mean and standard deviation (divisor n); a constant column gives (c, 1). */
function columnStatistics(values) {
  const n = values.length;
  let mean = values.reduce((sum, x) => sum + x, 0) / n;
  mean += values.reduce((sum, x) => sum + (x - mean), 0) / n;
  if (values.every((x) => x === values[0])) return [values[0], 1];
  return [mean, Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / n)];
}

/** The stored form of a table: standardized columns and labels and a bias column, as globalmin does. */
function standardized(table) {
  const shifts = table.features.map((_, j) => columnStatistics(table.raw.map((row) => row[j])));
  const [yShift, yScale] = columnStatistics(table.labels);
  return {
    ...table,
    preprocessing: {
      scaling: "standardize", bias: true, y_shift: yShift, y_scale: yScale,
      x_shift: shifts.map(([shift]) => shift), x_scale: shifts.map(([, scale]) => scale),
    },
  };
}

/** X (n x d, bias last) and y of a table, from its preprocessing. */
function stored(table) {
  const { x_shift: shift, x_scale: scale, y_shift, y_scale, bias } = table.preprocessing;
  const n = table.raw.length;
  const raw = table.features.length;
  const d = raw + (bias ? 1 : 0);
  const X = new Float64Array(n * d).fill(1);
  table.raw.forEach((row, i) => row.forEach((x, j) => (X[i * d + j] = (x - shift[j]) / scale[j])));
  return { X, y: Float64Array.from(table.labels, (t) => (t - y_shift) / y_scale), n, d };
}

/** Groups of equal rows, and the loss that their different labels cost every network. */
function equalRows({ X, y, n, d }) {
  const groups = new Map();
  for (let i = 0; i < n; i++) {
    const key = X.subarray(i * d, (i + 1) * d).join();
    groups.set(key, [...(groups.get(key) ?? []), i]);
  }
  let floor = 0;
  const equal = [...groups.values()].filter((group) => group.length > 1);
  for (const group of equal) {
    const mean = group.reduce((sum, i) => sum + y[i], 0) / group.length;
    floor += 0.5 * group.reduce((sum, i) => sum + (y[i] - mean) ** 2, 0);
  }
  return { equal, floor };
}

/** Normal numbers of a seed: numpy's own where the page holds them, else a generator of ours. */
function normals(seed, count, embedded) {
  const known = embedded[String(seed)];
  if (known !== undefined && count <= known.length) return { values: known.slice(0, count), isNumpy: true };
  let state = (seed * 2654435761 + 97) >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const values = Float64Array.from({ length: count }, () =>
    Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()));
  return { values, isNumpy: false };
}

function decodeFloats(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return new Float64Array(bytes.buffer);
}

const ascii = (value) => JSON.stringify(value).replace(/[\u0080-\uffff]/g,
  (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

/** A file of `globalmin-network/1`: one network with its preprocessing, for globalmin certify. */
function networkFile(point, table) {
  const { x_shift, x_scale, ...scaling } = table.preprocessing;
  const d = point.task.d;
  const tensors = {
    "0.W": [point.W, [point.v.length, d]],
    "0.v": [point.v, [point.v.length]],
    "0.x_scale": [Float64Array.from(x_scale), [x_scale.length]],
    "0.x_shift": [Float64Array.from(x_shift), [x_shift.length]],
  };
  const fields = [{ ...scaling, feature_names: table.features, target_name: table.target }];
  const header = {
    __metadata__: {
      format: "globalmin-network/1", activation: point.task.phi.name, networks: "1",
      preprocessing: ascii(fields), extra: ascii({ made_by: "globalmin explore" }),
    },
  };
  if (point.task.phi.name in PARAMETERS) header.__metadata__.parameter = PARAMETERS[point.task.phi.name];
  let offset = 0;
  for (const [name, [values, shape]] of Object.entries(tensors)) {
    header[name] = { dtype: "F64", shape, data_offsets: [offset, (offset += 8 * values.length)] };
  }
  let text = ascii(header);
  text += " ".repeat((8 - (text.length % 8)) % 8);
  const bytes = new Uint8Array(8 + text.length + offset);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(text.length), true);
  bytes.set(new TextEncoder().encode(text), 8);
  let at = 8 + text.length;
  for (const [values] of Object.values(tensors)) {
    for (const value of values) view.setFloat64(at, value, true), (at += 8);
  }
  return bytes;
}

const PARAMETERS = { softplus: "1.0", sigmoid: "1.0" };

/** The rows that were trained on, every number with all its digits. */
function csvText(columns, rows) {
  const quoted = (cell) => (/[",\n\r]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));
  return [columns, ...rows].map((row) => row.map(quoted).join(",")).join("\n") + "\n";
}

const tableText = (table) => csvText([...table.features, table.target],
  table.raw.map((row, i) => [...row, table.labels[i]]));
