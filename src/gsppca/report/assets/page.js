// The slider, and everything that moves with it.
(() => {
  const { data, charts, table, evidenceAt, explainedAt, integer, percent, decimals } = report;
  const element = (id) => document.getElementById(id);
  const [slider, number] = [element("size-slider"), element("size-number")];
  const p = data.nRanked;
  // Among many variables the small sizes matter most: the slider then moves by ratios. Its keys always move by counts.
  const logarithmic = p > 500;
  const STEPS = 1000;
  const toSize = (position) => (logarithmic ? Math.round(p ** (position / STEPS)) : Number(position));
  const toPosition = (size) => (logarithmic ? (STEPS * Math.log(size)) / Math.log(p) : size);
  [slider.min, slider.max, slider.step] = logarithmic ? [0, STEPS, "any"] : [1, p, 1];
  let current = Math.max(data.nSelected, 1), waiting = false;

  function describe(size) {
    const evidence = evidenceAt(size) - data.bestEvidence, held = explainedAt(size);
    const parts = [];
    if (held) parts.push(`${held.exact ? "" : "≈ "}${percent(held.value)} of the variance`);
    parts.push(Number.isNaN(evidence) ? "evidence not evaluated here" : evidence === 0 ? "the best evidence" : `log evidence ${decimals(evidence, 1)}`);
    parts.push(`last in: ${data.names[size - 1]}`);
    if (size < p) parts.push(`next out: ${data.names[size]}`);
    return parts.join(" · ");
  }

  function showCards(size) {
    const held = explainedAt(size);
    element("card-selected").textContent = integer(size);
    element("card-fitted").textContent = size === data.nSelected ? "selected" : `selected (fitted: ${integer(data.nSelected)})`;
    if (held) element("card-explained").textContent = `${held.exact ? "" : "≈ "}${percent(held.value)}`;
  }

  function show() {
    waiting = false;
    element("size-state").textContent = describe(current);
    showCards(current);
    table.showSize(current);
    charts.showSize(current);
  }

  function choose(size) {
    if (!Number.isFinite(size)) return;
    current = Math.min(Math.max(Math.round(size), 1), p);
    slider.value = toPosition(current);
    slider.setAttribute("aria-valuetext", `${integer(current)} variables`);
    number.value = current;
    // Dragging makes more events than frames.
    if (!waiting) { waiting = true; requestAnimationFrame(show); }
  }

  const page = Math.max(1, Math.round(p / 20));
  const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: page, PageDown: -page, Home: -p, End: p };
  slider.addEventListener("keydown", (event) => {
    if (!(event.key in KEYS)) return;
    event.preventDefault();
    choose(current + KEYS[event.key]);
  });
  slider.addEventListener("input", () => choose(toSize(slider.value)));
  number.addEventListener("change", () => { if (number.value) choose(Number(number.value)); });
  element("size-reset").addEventListener("click", () => choose(Math.max(data.nSelected, 1)));

  slider.value = toPosition(current);
  slider.setAttribute("aria-valuetext", `${integer(current)} variables`);
  number.value = current;
  element("size-state").textContent = describe(current);
  table.start();
  charts.draw(current, choose);
  if (data.nSelected > 0) charts.showSize(current);
  window.addEventListener("beforeprint", () => charts.fit(640));
  window.addEventListener("afterprint", () => charts.fit(null));
  document.documentElement.dataset.ready = "true";
})();
