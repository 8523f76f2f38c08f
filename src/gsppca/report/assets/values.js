"use strict";
// The data of the page, and small helpers. `report` is the only global name.
const report = (() => {
  const KINDS = { f8: Float64Array, f4: Float32Array, i4: Int32Array };

  function unpack(value) {
    if (value === null) return null;
    const text = atob(value.bytes);
    const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
    return new KINDS[value.kind](bytes.buffer);
  }

  const raw = JSON.parse(document.getElementById("report-data").textContent);
  const data = { names: raw.names, nSelected: raw.nSelected, nRanked: raw.nRanked, nComponents: raw.nComponents };
  for (const key of ["columns", "relevance", "inclusion", "evidenceSizes", "evidence", "explainedSizes", "explained",
    "loadings", "componentRatios"]) data[key] = unpack(raw[key]);
  data.scores = raw.scores && {
    ...raw.scores,
    values: unpack(raw.scores.values), rows: unpack(raw.scores.rows),
    group: unpack(raw.scores.group), numbers: unpack(raw.scores.numbers),
  };
  // A loop: spreading a long array over the arguments of Math.max would overflow the stack.
  data.bestEvidence = data.evidence.reduce((best, value) => Math.max(best, value), -Infinity);

  // Position of the first entry of an ascending array that is not below `wanted`.
  function lowerBound(sorted, wanted) {
    let low = 0, high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle] < wanted) low = middle + 1; else high = middle;
    }
    return low;
  }

  // Log evidence at a size; NaN where it was not evaluated.
  function evidenceAt(size) {
    const i = lowerBound(data.evidenceSizes, size);
    return data.evidenceSizes[i] === size ? data.evidence[i] : NaN;
  }

  // Explained variance at a size: known, or on the line between its known neighbours.
  function explainedAt(size) {
    const sizes = data.explainedSizes, values = data.explained;
    if (!sizes) return null;
    const i = lowerBound(sizes, size);
    if (sizes[i] === size) return { value: values[i], exact: true };
    const share = (size - sizes[i - 1]) / (sizes[i] - sizes[i - 1]);
    return { value: values[i - 1] + share * (values[i] - values[i - 1]), exact: false };
  }

  function loading(component, k) {
    return k < data.nSelected ? data.loadings[component * data.nSelected + k] : NaN;
  }

  // Least and most of every stretch, so that no peak is lost: about `budget` positions from `first` to before `last`.
  // The stretches are equally long, or on a logarithmic axis look so.
  function thin(values, first, last, budget, logarithmic) {
    const count = last - first;
    if (count <= budget) return Array.from({ length: Math.max(count, 0) }, (_, i) => first + i);
    const stretches = Math.floor(budget / 2), kept = new Set([first, last - 1]);
    const edge = (s) => Math.floor(logarithmic
      ? (first + 1) * ((last + 1) / (first + 1)) ** (s / stretches) - 1
      : first + (s * count) / stretches);
    for (let s = 0; s < stretches; s += 1) {
      const [from, to] = [edge(s), edge(s + 1)];
      if (from === to) continue;
      let low = from, high = from;
      for (let i = from; i < to; i += 1) {
        if (values[i] < values[low]) low = i;
        if (values[i] > values[high]) high = i;
      }
      kept.add(low).add(high);
    }
    return [...kept].sort((a, b) => a - b);
  }

  // Plotly reads some HTML in its labels: names must arrive there as text.
  function plain(text, longest = 60) {
    const characters = [...String(text)];
    const shown = characters.length > longest ? characters.slice(0, longest - 1).join("") + "…" : String(text);
    return shown.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  }

  const minus = (text) => text.replace("-", "−");
  const integer = (value) => value.toLocaleString("en-US");
  const percent = (value) => `${(100 * value).toFixed(1)}%`;
  const decimals = (value, digits) =>
    Number.isNaN(value) ? "–" : minus(value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));

  return { data, lowerBound, evidenceAt, explainedAt, loading, thin, plain, integer, percent, decimals };
})();
