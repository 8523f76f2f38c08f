// The table of variables: all of them can be searched, the first rows of what is found are shown.
report.table = (() => {
  const { data, state, isIn, modelShown, groups, evidenceAt, shareAt, integer, percent, signed, decimals } = report;
  const STEP = 200; // rows shown at once
  const GROUP = 40; // represented variables named at once
  const element = (id) => document.getElementById(id);
  const [head, body] = [document.querySelector("#variables thead"), document.querySelector("#variables tbody")];
  const lowered = data.names.map((name) => name.toLowerCase());
  const range = Array.from({ length: data.nRanked }, (_, k) => k);
  const own = { words: "", all: false, sort: "rank", ascending: true, rows: STEP };
  const open = new Set(); // variables of which more is shown
  const role = (k) => data.roles[data.role[k]];

  // Largest loading of a variable in the model shown: [component, value].
  function strongest(model, k) {
    let best = 0;
    for (let j = 1; j < model.nComponents; j += 1) if (Math.abs(model.loading(j, k)) > Math.abs(model.loading(best, k))) best = j;
    return [best, model.loading(best, k)];
  }

  // Of which variables of the selection of the fitted model speaks for which others.
  function standing(k) {
    if (data.selected[k]) {
      const members = groups.get(k) || [];
      return members.length ? `${data.names[members[0]]} ${signed(data.correlation[members[0]])}` + (members.length > 1 ? ` +${integer(members.length - 1)} more` : "") : "";
    }
    return data.representedBy[k] < 0 ? "" : `by ${data.names[data.representedBy[k]]} ${signed(data.correlation[k])}`;
  }

  const hasLoadings = data.nComponents > 0 && data.nSelected > 0;
  const known = (values) => values !== null && values.some((value) => !Number.isNaN(value));
  const COLUMNS = [
    { key: "rank", title: "rank", num: true, value: (k) => k, text: (k) => integer(k + 1) },
    { key: "name", title: "variable", value: (k) => lowered[k], text: (k) => data.names[k], kind: "name" },
    { key: "role", title: "role", value: (k) => data.role[k], text: role, kind: "role" },
    { key: "stands", title: "stands for", wide: true, value: (k) => (data.selected[k] ? -(groups.get(k) || []).length : 1 - Math.abs(data.correlation[k])), text: standing, kind: "stands" },
    known(data.predicted) && { key: "predicted", title: "predicted", num: true, value: (k) => data.predicted[k],
      text: (k) => (Number.isNaN(data.predicted[k]) ? "–" : percent(data.predicted[k], 0)) },
    data.shares && { key: "share", title: "share so far", num: true, wide: true, value: (k) => shareAt(k + 1),
      text: (k) => (Number.isNaN(shareAt(k + 1)) ? "–" : percent(shareAt(k + 1), 0)) },
    { key: "relevance", title: "relevance", num: true, meter: true, wide: true, value: (k) => data.relevance[k], text: (k) => decimals(data.relevance[k], 3) },
    data.inclusion && { key: "inclusion", title: "probability", num: true, wide: true, value: (k) => data.inclusion[k], text: (k) => decimals(data.inclusion[k], 3) },
    hasLoadings && { key: "loading", title: "largest loading", num: true, wide: true, fresh: true, value: (k) => {
      const model = modelShown();
      return model.exact && model.place.has(k) ? Math.abs(strongest(model, k)[1]) : NaN;
    }, text: (k, model) => (model.exact && model.place.has(k) ? `${decimals(strongest(model, k)[1], 3)} on PC${strongest(model, k)[0] + 1}` : "–") },
  ].filter(Boolean);

  const most = data.relevance.reduce((best, value) => Math.max(best, value), 0) || 1;
  const sorted = new Map(); // key -> all variables in ascending order; NaN last

  function ascendingBy(key) {
    const column = COLUMNS.find((c) => c.key === key);
    if (!sorted.has(key) || column.fresh) {
      const values = range.map(column.value);
      const compare = (a, b) => (values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : Number.isNaN(values[a]) - Number.isNaN(values[b]));
      sorted.set(key, range.slice().sort((a, b) => compare(a, b) || a - b));
    }
    return sorted.get(key);
  }

  // All variables that match, in the order shown.
  function matches() {
    const words = own.words.trim().toLowerCase();
    const found = ascendingBy(own.sort).filter((k) => (own.all || isIn(k)) && (!words || lowered[k].includes(words)));
    return own.ascending ? found : found.reverse();
  }

  function cell(column, k, model) {
    const td = document.createElement("td"), text = column.text(k, model);
    td.className = [column.num && "num", column.wide && "wide", column.meter && "meter", column.kind].filter(Boolean).join(" ");
    if (column.kind === "role") td.dataset.role = text;
    if (column.kind === "name") {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.setAttribute("aria-expanded", String(open.has(k)));
      button.addEventListener("click", () => { if (!open.delete(k)) open.add(k); render(); });
      td.append(button);
    } else td.textContent = text;
    if (column.meter) td.style.setProperty("--share", `${(100 * data.relevance[k]) / most}%`);
    return td;
  }

  // What a variable stands for, or what stands for it.
  function story(k) {
    const parts = [`column ${integer(data.columns[k] + 1)}`, role(k)];
    if (data.selected[k]) {
      const members = groups.get(k) || [];
      const shown = members.slice(0, GROUP).map((m) => `${data.names[m]} (${signed(data.correlation[m])})`).join(", ");
      parts.push(members.length ? `stands for ${integer(members.length)}: ${shown}${members.length > GROUP ? ", …" : ""}` : "stands for itself");
    } else if (data.representedBy[k] >= 0) {
      parts.push(`not selected; best represented by ${data.names[data.representedBy[k]]} (correlation ${signed(data.correlation[k])})`);
    }
    if (data.predicted && !Number.isNaN(data.predicted[k])) parts.push(`the core predicts ${percent(data.predicted[k], 0)} of it on rows left out`);
    const evidence = evidenceAt(k + 1);
    if (Number.isFinite(evidence)) parts.push(`log evidence of the first ${integer(k + 1)}: ${decimals(evidence, 1)}`);
    return parts.join(" · ");
  }

  function rowsOf(k, model) {
    const row = document.createElement("tr");
    if (!isIn(k)) row.className = "out";
    row.append(...COLUMNS.map((column) => cell(column, k, model)));
    if (!open.has(k)) return [row];
    const more = document.createElement("tr"), td = document.createElement("td");
    more.className = "more";
    td.colSpan = COLUMNS.length;
    td.textContent = story(k);
    more.append(td);
    return [row, more];
  }

  function render() {
    const found = matches(), model = modelShown();
    body.replaceChildren(...found.slice(0, own.rows).flatMap((k) => rowsOf(k, model)));
    const shown = Math.min(found.length, own.rows);
    const count = state.fitted ? data.nSelected : state.size;
    const among = own.all ? `${integer(data.nRanked)} variables` : `${integer(count)} selected variables`;
    element("table-count").textContent = (own.words.trim() ? `${integer(found.length)} of ${among} match` : among) +
      (shown < found.length ? `; the first ${integer(shown)} are shown.` : ".");
    element("more").hidden = shown === found.length;
    element("more").textContent = `Show ${integer(Math.min(STEP, found.length - shown))} more`;
    for (const th of head.querySelectorAll("th")) {
      const here = th.dataset.key === own.sort;
      th.setAttribute("aria-sort", here ? (own.ascending ? "ascending" : "descending") : "none");
      th.querySelector("span").textContent = here ? (own.ascending ? " ▲" : " ▼") : "";
    }
  }

  function change(what) {
    Object.assign(own, { rows: STEP }, what);
    render();
  }

  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  // A spreadsheet would run a name such as =cmd as a formula: the apostrophe makes it text, as in the files of gsppca fit.
  const asText = (text) => (/^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) && !(text.trim() === text && Number.isFinite(Number(text))) ? `'${text}` : text);
  const number = (value) => (!Number.isFinite(value) ? "" : String(value));
  // Loadings are single precision: seven digits say all of it.
  const single = (value) => (!Number.isFinite(value) ? "" : String(Number(value.toPrecision(7))));

  function csv() {
    const model = modelShown();
    const components = hasLoadings && model.exact ? Array.from({ length: model.nComponents }, (_, j) => j) : [];
    const titles = ["rank", "name", "column", "selected", "role", "represented_by", "correlation", "predicted_share", "relevance",
      ...(data.inclusion ? ["inclusion_probability"] : []), "share", "log_evidence", ...components.map((j) => `PC${j + 1}`)];
    const lines = matches().map((k) => {
      const by = data.selected[k] ? -1 : data.representedBy[k];
      return [
        k + 1, quoted(asText(data.names[k])), data.columns[k], isIn(k), role(k), by < 0 ? "" : quoted(asText(data.names[by])), by < 0 ? "" : single(data.correlation[k]),
        single(data.predicted[k]), number(data.relevance[k]), ...(data.inclusion ? [number(data.inclusion[k])] : []), number(shareAt(k + 1)),
        number(evidenceAt(k + 1)), ...components.map((j) => single(model.loading(j, k))),
      ].join(",");
    });
    return [titles.join(","), ...lines].join("\r\n") + "\r\n";
  }

  function download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    link.download = own.all ? "variables.csv" : "selected.csv";
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
      button.addEventListener("click", () => change(own.sort === column.key
        ? { ascending: !own.ascending }
        : { sort: column.key, ascending: ["rank", "name", "role", "stands"].includes(column.key) }));
      th.append(button);
      row.append(th);
    }
    head.replaceChildren(row);
    element("search").addEventListener("input", (event) => change({ words: event.target.value }));
    element("all").addEventListener("change", (event) => change({ all: event.target.checked }));
    element("more").addEventListener("click", () => change({ rows: own.rows + STEP }));
    element("download").addEventListener("click", download);
    render();
  }

  return { start, render: () => change({}) };
})();
