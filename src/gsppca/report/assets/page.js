// The slider with its buttons, and everything that moves with it.
(() => {
  const { data, state, share, table, evidenceAt, explainedAt, integer, percent, decimals } = report;
  const element = (id) => document.getElementById(id);
  const [slider, number] = [element("size-slider"), element("size-number")];
  const p = data.nChoosable;
  // Among many variables the small sizes matter most: the slider then moves by ratios. Its keys always move by counts.
  const logarithmic = p > 500;
  const STEPS = 1000;
  const toSize = (position) => (logarithmic ? Math.round(p ** (position / STEPS)) : Number(position));
  const toPosition = (size) => (logarithmic ? (STEPS * Math.log(size)) / Math.log(p) : size);
  [slider.min, slider.max, slider.step] = logarithmic ? [0, STEPS, "any"] : [1, p, 1];
  let waiting = false, charts = null;

  function describe() {
    const { size } = state;
    if (state.fitted && !data.isCut) return `${integer(data.nSelected)} variables that the rule selected, not the first ones of the order; the slider shows the first 1, 2, 3, …`;
    const evidence = evidenceAt(size) - data.bestEvidence, held = explainedAt(size), carried = share();
    const parts = [];
    if (!Number.isNaN(carried)) parts.push(`${percent(carried)} of the structure on rows left out`);
    if (held) parts.push(`${held.exact ? "" : "≈ "}${percent(held.value)} of the variance`);
    if (Number.isFinite(evidence)) parts.push(evidence === 0 ? "the best evidence" : `log evidence ${decimals(evidence, 1)}`);
    parts.push(`last in: ${data.names[size - 1]}`);
    if (size < p) parts.push(`next out: ${data.names[size]}`);
    return parts.join(" · ");
  }

  function showCards() {
    const shown = state.fitted ? data.nSelected : state.size, carried = share();
    const held = state.fitted && !data.isCut ? null : explainedAt(state.size);
    element("card-selected").textContent = integer(shown);
    element("card-fitted").textContent = state.fitted || (data.isCut && shown === data.nSelected) ? "selected" : `selected (fitted: ${integer(data.nSelected)})`;
    element("card-share").textContent = Number.isNaN(carried) ? "–" : percent(carried);
    if (held) element("card-explained").textContent = `${held.exact ? "" : "≈ "}${percent(held.value)}`;
  }

  function show() {
    waiting = false;
    element("size-state").textContent = describe();
    showCards();
    for (const button of document.querySelectorAll("#presets button")) {
      button.setAttribute("aria-pressed", String(!state.fitted || data.isCut ? Number(button.dataset.size) === state.size : false));
    }
    table.render();
    if (charts) charts.show();
  }

  function place() {
    slider.value = toPosition(state.size);
    slider.setAttribute("aria-valuetext", `${integer(state.size)} variables`);
    number.value = state.size;
    // Dragging makes more events than frames.
    if (!waiting) { waiting = true; requestAnimationFrame(show); }
  }

  function choose(size) {
    if (!Number.isFinite(size)) return;
    const wanted = Math.min(Math.max(Math.round(size), 1), p);
    Object.assign(state, { size: wanted, fitted: data.isCut && wanted === data.nSelected });
    place();
  }

  function reset() {
    Object.assign(state, { size: Math.min(Math.max(data.nSelected, 1), p), fitted: true });
    place();
  }

  const page = Math.max(1, Math.round(p / 20));
  const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: page, PageDown: -page, Home: -p, End: p };
  slider.addEventListener("keydown", (event) => {
    if (!(event.key in KEYS)) return;
    event.preventDefault();
    choose(state.size + KEYS[event.key]);
  });
  slider.addEventListener("input", () => choose(toSize(slider.value)));
  number.addEventListener("change", () => { if (number.value) choose(Number(number.value)); });
  element("size-reset").addEventListener("click", reset);
  for (const { size, name } of data.presets) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.dataset.size = size;
    button.addEventListener("click", () => choose(size));
    element("presets").append(button);
  }

  // The plotting library comes compressed, and runs as the script whose hash the policy of the page names.
  async function unpackLibrary() {
    const bytes = Uint8Array.from(atob(element("library").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    script.remove();
  }

  table.start();
  reset();
  unpackLibrary().then(() => {
    report.charts = report.makeCharts();
    report.samples = report.makeSamples();
    charts = report.charts;
    charts.draw(choose);
    window.addEventListener("beforeprint", () => charts.fit(640));
    window.addEventListener("afterprint", () => charts.fit(null));
  }).catch((error) => {
    element("no-charts").hidden = false;
    console.warn(`The charts cannot be drawn: ${error}`);
  }).finally(() => { document.documentElement.dataset.ready = "true"; });
})();
