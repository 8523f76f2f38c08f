// The table of variables: all of them can be searched, the first rows of what is found are shown.
report.table = (() => {
  const { data, evidenceAt, loading, integer, decimals } = report;
  const STEP = 200; // rows shown at once
  const element = (id) => document.getElementById(id);
  const [head, body] = [document.querySelector("#variables thead"), document.querySelector("#variables tbody")];
  const lowered = data.names.map((name) => name.toLowerCase());
  const range = Array.from({ length: data.nRanked }, (_, k) => k);
  const state = { size: data.nSelected, words: "", all: false, sort: "rank", ascending: true, rows: STEP };

  // Largest loading of a selected variable: [component, value].
  function strongest(k) {
    let best = 0;
    for (let j = 1; j < data.nComponents; j += 1) if (Math.abs(loading(j, k)) > Math.abs(loading(best, k))) best = j;
    return [best, loading(best, k)];
  }

  const hasLoadings = data.nComponents > 0 && data.nSelected > 0;
  const entryEvidence = Float64Array.from(range, (k) => evidenceAt(k + 1) - data.bestEvidence);
  const COLUMNS = [
    { key: "rank", title: "rank", num: true, value: (k) => k, text: (k) => integer(k + 1) },
    { key: "name", title: "variable", value: (k) => lowered[k], text: (k) => data.names[k], kind: "name" },
    { key: "column", title: "column", num: true, wide: true, value: (k) => data.columns[k], text: (k) => integer(data.columns[k]) },
    { key: "relevance", title: "relevance", num: true, meter: true, value: (k) => data.relevance[k], text: (k) => decimals(data.relevance[k], 3) },
    data.inclusion && { key: "inclusion", title: "probability", num: true, value: (k) => data.inclusion[k], text: (k) => decimals(data.inclusion[k], 3) },
    { key: "evidence", title: "evidence", num: true, value: (k) => entryEvidence[k], text: (k) => decimals(entryEvidence[k], 1) },
    hasLoadings && { key: "loading", title: "largest loading", num: true, wide: true, value: (k) => (k < data.nSelected ? Math.abs(strongest(k)[1]) : NaN),
      text: (k) => (k < data.nSelected ? `${decimals(strongest(k)[1], 3)} on ${strongest(k)[0]}` : "–") },
  ].filter(Boolean);

  const most = data.relevance.reduce((best, value) => Math.max(best, value), 0) || 1;
  const sorted = new Map(); // key -> all variables in ascending order; NaN last

  function ascendingBy(key) {
    if (!sorted.has(key)) {
      const column = COLUMNS.find((c) => c.key === key);
      const values = range.map(column.value);
      const compare = (a, b) => (values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : Number.isNaN(values[a]) - Number.isNaN(values[b]));
      sorted.set(key, range.slice().sort((a, b) => compare(a, b) || a - b));
    }
    return sorted.get(key);
  }

  // All variables that match, in the order shown.
  function matches() {
    const words = state.words.trim().toLowerCase();
    const found = ascendingBy(state.sort).filter((k) => (state.all || k < state.size) && (!words || lowered[k].includes(words)));
    return state.ascending ? found : found.reverse();
  }

  function cell(column, k) {
    const td = document.createElement("td");
    td.textContent = column.text(k);
    td.className = [column.num && "num", column.wide && "wide", column.meter && "meter", column.kind].filter(Boolean).join(" ");
    if (column.meter) td.style.setProperty("--share", `${(100 * data.relevance[k]) / most}%`);
    return td;
  }

  function render() {
    const found = matches();
    body.replaceChildren(...found.slice(0, state.rows).map((k) => {
      const row = document.createElement("tr");
      if (k >= state.size) row.className = "out";
      row.append(...COLUMNS.map((column) => cell(column, k)));
      return row;
    }));
    const shown = Math.min(found.length, state.rows);
    const among = state.all ? `${integer(data.nRanked)} variables` : `${integer(state.size)} selected variables`;
    element("table-count").textContent = (state.words.trim() ? `${integer(found.length)} of ${among} match` : among) +
      (shown < found.length ? `; the first ${integer(shown)} are shown.` : ".");
    element("more").hidden = shown === found.length;
    element("more").textContent = `Show ${integer(Math.min(STEP, found.length - shown))} more`;
    for (const th of head.querySelectorAll("th")) {
      const here = th.dataset.key === state.sort;
      th.setAttribute("aria-sort", here ? (state.ascending ? "ascending" : "descending") : "none");
      th.querySelector("span").textContent = here ? (state.ascending ? " ▲" : " ▼") : "";
    }
  }

  function change(what) {
    Object.assign(state, { rows: STEP }, what);
    render();
  }

  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const number = (value) => (Number.isNaN(value) ? "" : String(value));
  // Loadings are single precision: seven digits say all of it.
  const single = (value) => (Number.isNaN(value) ? "" : String(Number(value.toPrecision(7))));

  function csv() {
    const components = hasLoadings ? Array.from({ length: data.nComponents }, (_, j) => j) : [];
    const titles = ["rank", "name", "column", "selected", "relevance", ...(data.inclusion ? ["inclusion_probability"] : []),
      "log_evidence", ...components.map((j) => `gsppca${j}`)];
    const lines = matches().map((k) => [
      k + 1, quoted(data.names[k]), data.columns[k], k < state.size, number(data.relevance[k]),
      ...(data.inclusion ? [number(data.inclusion[k])] : []), number(evidenceAt(k + 1)), ...components.map((j) => single(loading(j, k))),
    ].join(","));
    return [titles.join(","), ...lines].join("\r\n") + "\r\n";
  }

  function download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    link.download = state.all ? "variables.csv" : "selected.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function start() {
    const row = document.createElement("tr");
    for (const column of COLUMNS) {
      const th = document.createElement("th"), button = document.createElement("button");
      th.scope = "col";
      th.dataset.key = column.key;
      th.className = [column.num && "num", column.wide && "wide"].filter(Boolean).join(" ");
      button.type = "button";
      button.append(column.title, document.createElement("span"));
      button.addEventListener("click", () => change(state.sort === column.key
        ? { ascending: !state.ascending }
        : { sort: column.key, ascending: column.key === "rank" || column.key === "name" || column.key === "column" }));
      th.append(button);
      row.append(th);
    }
    head.replaceChildren(row);
    element("search").addEventListener("input", (event) => change({ words: event.target.value }));
    element("all").addEventListener("change", (event) => change({ all: event.target.checked }));
    element("more").addEventListener("click", () => change({ rows: state.rows + STEP }));
    element("download").addEventListener("click", download);
    render();
  }

  return { start, showSize: (size) => change({ size }) };
})();
