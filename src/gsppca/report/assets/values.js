"use strict";
// The data of the page, and small helpers. `report` is the only global name.
const report = (() => {
  const KINDS = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u1: Uint8Array };

  function unpack(value) {
    if (value === null) return null;
    const text = atob(value.bytes);
    const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
    return new KINDS[value.kind](bytes.buffer);
  }

  const raw = JSON.parse(document.getElementById("report-data").textContent);
  const data = {};
  for (const key of ["names", "nSelected", "nRanked", "nChoosable", "nComponents", "roles", "presets", "isCut", "coreSize", "selectedShare"]) {
    data[key] = raw[key];
  }
  for (const key of ["columns", "relevance", "inclusion", "selected", "role", "representedBy", "correlation", "predicted", "shares",
    "promised", "evidenceSizes", "evidence", "explainedSizes", "explained", "loadings", "componentRatios"]) data[key] = unpack(raw[key]);
  data.scores = raw.scores && {
    ...raw.scores,
    values: unpack(raw.scores.values), rows: unpack(raw.scores.rows),
    group: unpack(raw.scores.group), numbers: unpack(raw.scores.numbers),
  };
  data.sized = raw.sized.map((one) => ({ ...one,
    loadings: unpack(one.loadings), componentRatios: unpack(one.componentRatios), values: unpack(one.values) }));
  // A loop: spreading a long array over the arguments of Math.max would overflow the stack.
  data.bestEvidence = data.evidence.reduce((best, value) => (value > best ? value : best), -Infinity);

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

  // Share of the structure that the first `size` variables carry on rows left out; NaN where it was not evaluated.
  function shareAt(size) {
    return data.shares && size <= data.shares.length ? data.shares[size - 1] : NaN;
  }

  // What is shown: the selection of the fitted model, or the first `size` variables.
  const state = { size: Math.max(data.nSelected, 1), fitted: true };
  const isIn = (k) => (state.fitted ? data.selected[k] === 1 : k < state.size);
  const share = () => (state.fitted && data.selectedShare !== null ? data.selectedShare : state.fitted && !data.isCut ? NaN : shareAt(state.size));

  const ranks = Array.from({ length: data.nRanked }, (_, k) => k);
  const fittedModel = data.loadings && data.nSelected ? {
    size: data.nSelected, members: ranks.filter((k) => data.selected[k]), nComponents: data.nComponents, loadings: data.loadings,
    componentRatios: data.componentRatios, values: data.scores && data.scores.values, nAxes: data.scores ? data.scores.nAxes : 0,
  } : null;
  const models = data.sized.map((one) => ({ ...one, members: ranks.slice(0, one.size) }));
  for (const one of [fittedModel, ...models]) {
    if (!one) continue;
    one.place = new Map(one.members.map((k, i) => [k, i]));
    one.loading = (j, k) => (one.place.has(k) ? one.loadings[j * one.members.length + one.place.get(k)] : NaN);
  }

  // Loadings and scores: of the variables shown, or of the nearest size for which they were computed.
  function modelShown() {
    if (!fittedModel) return null;
    if (state.fitted) return { ...fittedModel, exact: true };
    const known = [...(data.isCut ? [fittedModel] : []), ...models];
    if (!known.length) return { ...fittedModel, exact: false };
    const distance = (one) => Math.abs(Math.log(one.size / state.size));
    const nearest = known.reduce((best, one) => (distance(one) < distance(best) ? one : best));
    return { ...nearest, exact: nearest.size === state.size };
  }

  // Relevant variables that a selected one represents, the strongest correlation first.
  const groups = new Map();
  ranks.forEach((k) => {
    const by = data.representedBy[k];
    if (by < 0 || data.selected[k] || data.roles[data.role[k]] === "noise") return;
    if (!groups.has(by)) groups.set(by, []);
    groups.get(by).push(k);
  });
  for (const members of groups.values()) members.sort((a, b) => Math.abs(data.correlation[b]) - Math.abs(data.correlation[a]) || a - b);

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
  const percent = (value, digits = 1) => `${(100 * value).toFixed(digits)}%`;
  const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);
  const decimals = (value, digits) =>
    Number.isNaN(value) ? "–" : minus(value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));

  return { data, state, isIn, share, shareAt, modelShown, groups, lowerBound, evidenceAt, explainedAt, thin, plain, integer, percent, signed, decimals };
})();
