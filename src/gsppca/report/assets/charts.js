// The charts. Each `draw…` is called once; `show` moves what depends on the size.
report.makeCharts = () => {
  const { data, state, isIn, share, shareAt, lowerBound, evidenceAt, explainedAt, thin, plain, integer, percent, decimals } = report;
  const SELECTED = "#0072B2", MARK = "#D55E00";
  const ROLE_COLOURS = { core: "#0072B2", related: "#7CC2EA", noise: "#B0B5BC", relevant: "#0072B2" };
  const BUDGET = 1500; // points of a curve
  const touch = window.matchMedia("(pointer: coarse)").matches;
  // Named one by one: plotly's own choice has a button that would send the data away.
  const config = { responsive: true, displaylogo: false,
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]] };
  const counted = (size) => `${integer(size)} ${size === 1 ? "variable" : "variables"}`;
  const element = (id) => document.getElementById(id);
  const drawn = [];

  function layout(more) {
    return {
      margin: { l: 64, r: 16, t: 32, b: 48 }, showlegend: false, hovermode: "closest", dragmode: touch ? false : "zoom",
      font: { family: "system-ui, -apple-system, Segoe UI, Roboto, Arial, sans-serif", size: 13, color: "#1d2430" },
      paper_bgcolor: "#fff", plot_bgcolor: "#fff", ...more,
    };
  }
  const axis = (title, more) => ({
    title: { text: title, standoff: 8 }, gridcolor: "#e8ebef", zeroline: false, linecolor: "#c5cad2", automargin: true, ...more,
  });
  // A few chosen out of very many would stand in one pixel of a linear axis.
  const logarithmic = data.nRanked > 500 && data.nSelected < data.nRanked / 20;
  const inAxis = (size) => (logarithmic ? Math.log10(size) : size);
  const fromAxis = (value) => (logarithmic ? 10 ** value : value);
  const whole = [logarithmic ? -0.05 : data.nRanked > 60 ? 0 : 0.5, inAxis(data.nRanked + 0.5) + (logarithmic ? 0.03 : 0)];
  const sizeAxis = (title) => axis(title, logarithmic
    ? { type: "log", range: whole, tickformat: ",d" }
    : { range: whole, tickformat: ",d" });
  const chosen = Math.max(data.nSelected, 1);
  const dot = () => ({ x: [], y: [], mode: "markers", hoverinfo: "skip", marker: { color: MARK, size: 11 } });
  const at = (size) => ({ type: "line", x0: size, x1: size, y0: 0, y1: 1, yref: "paper", line: { color: MARK, width: 2, dash: "dash" } });

  function plot(id, traces, how) {
    drawn.push(element(id));
    return Plotly.newPlot(element(id), traces, how, config);
  }

  // Plotly tells of a zoom as range[0] and range[1], of going back as autorange.
  function onZoom(id, redraw) {
    element(id).on("plotly_relayout", (event) => {
      if ("xaxis.range[0]" in event) redraw(fromAxis(event["xaxis.range[0]"]), fromAxis(event["xaxis.range[1]"]));
      else if ("xaxis.range" in event) redraw(...event["xaxis.range"].map(fromAxis));
      else if (event["xaxis.autorange"]) redraw(-Infinity, Infinity);
    });
  }

  function saysThinned(id, shown, total, what) {
    element(id).textContent = shown < total
      ? `Drawn: ${integer(shown)} of ${integer(total)} ${what}, with the highest and lowest of every stretch; zoom in to see more of them.`
      : `All ${integer(total)} ${what} are drawn.`;
  }

  function evidenceCurve(from, to) {
    const sizes = data.evidenceSizes;
    const first = Math.max(lowerBound(sizes, from) - 1, 0), last = Math.min(lowerBound(sizes, to) + 1, sizes.length);
    const kept = new Set(thin(data.evidence, first, last, BUDGET, logarithmic).filter((i) => Number.isFinite(data.evidence[i])));
    const here = lowerBound(sizes, data.nSelected);
    for (let i = Math.max(here - 3, first); i < Math.min(here + 4, last); i += 1) if (Number.isFinite(data.evidence[i])) kept.add(i);
    const positions = [...kept].sort((a, b) => a - b);
    saysThinned("evidence-caption", positions.length, last - first, "evaluated sizes");
    return {
      x: positions.map((i) => sizes[i]), y: positions.map((i) => data.evidence[i] - data.bestEvidence),
      text: positions.map((i) => {
        const k = sizes[i] - 1;
        return `${counted(sizes[i])}<br>log evidence ${decimals(data.evidence[i], 1)} ` +
          `(${decimals(data.evidence[i] - data.bestEvidence, 1)})<br>the last one in: ${plain(data.names[k])}`;
      }),
    };
  }

  function drawEvidence(choose) {
    const sparse = data.evidenceSizes.length < 120;
    const curve = { ...evidenceCurve(-Infinity, Infinity), mode: sparse ? "lines+markers" : "lines", hoverinfo: "text",
      line: { color: SELECTED, width: 2 }, marker: { size: 5 } };
    plot("evidence", [curve, dot()], layout({
      hovermode: "x", xaxis: sizeAxis("number of variables"), yaxis: axis("log evidence − best", { tickformat: ",~r" }), shapes: [at(chosen)],
    }));
    element("evidence").on("plotly_click", (event) => choose(event.points[0].x));
    element("evidence-near").addEventListener("click", () => zoomEvidence(true));
    element("evidence-all").addEventListener("click", () => zoomEvidence(false));
    onZoom("evidence", (from, to) => {
      const { x, y, text } = evidenceCurve(from, to);
      Plotly.restyle("evidence", { x: [x], y: [y], text: [text] }, [0]);
    });
  }

  // To the sizes from half to twice the one on the slider, and their evidence; or to everything.
  function zoomEvidence(near) {
    const { size } = state, sizes = data.evidenceSizes;
    if (!near) { Plotly.relayout("evidence", { "xaxis.range": whole, "yaxis.autorange": true }); return; }
    const [from, to] = [Math.max(Math.min(size / 2, size - 5), 0.9), Math.min(Math.max(2 * size, size + 5), data.nRanked + 0.5)];
    const part = Array.from(data.evidence.subarray(lowerBound(sizes, from), lowerBound(sizes, to)), (value) => value - data.bestEvidence)
      .filter(Number.isFinite);
    const [low, high] = part.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
    const pad = 0.06 * (high - low) || 1;
    const range = part.length ? { "yaxis.range": [low - pad, high + pad] } : {};
    Plotly.relayout("evidence", { "xaxis.range": [inAxis(from), inAxis(to)], ...range });
  }

  function drawShare(choose) {
    const sizes = Array.from(data.shares, (_, i) => i + 1), [values, promised] = [Array.from(data.shares), Array.from(data.promised)];
    const last = Math.max(sizes.length, 5);
    const core = data.coreSize && data.coreSize <= sizes.length ? [data.coreSize] : [];
    const text = sizes.map((size, i) => `${counted(size)}: ${percent(values[i])} of the structure<br>the last one in: ${plain(data.names[i])}`);
    plot("share", [
      { x: sizes, y: promised, mode: "lines", name: "fitted to all rows", line: { color: "#B0B5BC", width: 1.5, dash: "dot" }, hoverinfo: "skip" },
      { x: sizes, y: values, mode: sizes.length <= 60 ? "lines+markers" : "lines", name: "on rows left out",
        line: { color: SELECTED, width: 2 }, marker: { size: 5 }, hoverinfo: "text", text },
      { x: core, y: core.map(shareAt), mode: "markers+text", name: "core", text: core.map((size) => `core: ${integer(size)}`), textposition: core[0] < 0.7 * last ? "bottom right" : "bottom left",
        hoverinfo: "skip", marker: { color: "#fff", size: 12, line: { color: SELECTED, width: 3 } } },
      dot(),
    ], layout({ hovermode: "x", xaxis: axis("number of variables", { range: [0.5, last * 1.08], tickformat: ",d" }),
      yaxis: axis("share of the structure", { tickformat: ".0%", range: [Math.min(0, ...values), 1.03] }), shapes: [at(chosen)] }));
    element("share").on("plotly_click", (event) => choose(event.points[0].x));
    element("share-caption").textContent = `Evaluated up to ${integer(sizes.length)} variables. Solid: predicted on rows left out. Dotted: what the model fitted to all rows promises.`;
  }

  function drawExplained(choose) {
    const sizes = Array.from(data.explainedSizes), values = Array.from(data.explained);
    const every = sizes.length === data.nRanked;
    plot("explained", [
      { x: sizes, y: values, mode: every ? "lines" : "lines+markers", line: { color: SELECTED, width: 2 }, marker: { size: 4 },
        hoverinfo: "text", text: sizes.map((size, i) => `${counted(size)}<br>${percent(values[i])} of the variance`) },
      dot(),
    ], layout({ hovermode: "x", xaxis: sizeAxis("number of variables"),
      yaxis: axis("explained variance", { tickformat: ".0%", rangemode: "tozero" }), shapes: [at(chosen)] }));
    element("explained").on("plotly_click", (event) => choose(event.points[0].x));
    element("explained-caption").textContent = every
      ? "Exact at every size."
      : `Exact at the ${integer(sizes.length)} sizes with a dot; in between, the line is an estimate that lies between its neighbours, marked ≈ elsewhere.`;
  }

  let profileRange = [-Infinity, Infinity];
  function profile() {
    const first = Math.max(0, Math.floor(profileRange[0]) - 1), last = Math.min(data.nRanked, Math.ceil(profileRange[1]));
    const positions = thin(data.relevance, first, last, BUDGET, logarithmic);
    saysThinned("relevance-caption", positions.length, last - first, "variables");
    return data.roles.map((role, r) => {
      const kept = positions.filter((k) => data.role[k] === r);
      return { x: kept.map((k) => k + 1), y: kept.map((k) => data.relevance[k]), opacity: kept.map((k) => (isIn(k) ? 1 : 0.45)),
        text: kept.map((k) => `${plain(data.names[k])}<br>${role}, rank ${integer(k + 1)}, relevance ${decimals(data.relevance[k], 3)}`) };
    });
  }

  const barred = data.nRanked <= 150;
  function drawRelevance() {
    const look = (role, opacity) => (barred
      ? { type: "bar", textposition: "none", marker: { color: ROLE_COLOURS[role], opacity } }
      : { mode: "markers", marker: { color: ROLE_COLOURS[role], size: 5, opacity } });
    plot("relevance", profile().map(({ opacity, ...part }, r) => ({ ...part, ...look(data.roles[r], opacity), name: data.roles[r], showlegend: part.x.length > 0, hoverinfo: "text" })),
      layout({ barmode: "overlay", bargap: 0.25, showlegend: true, legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, shapes: data.isCut ? [at(chosen + 0.5)] : [],
        xaxis: sizeAxis("rank of the variable"), yaxis: axis("relevance", { rangemode: "tozero" }) }));
    onZoom("relevance", (from, to) => { profileRange = [from, to]; showProfile(); });
  }
  function showProfile() {
    const parts = profile();
    Plotly.restyle("relevance", { x: parts.map((p) => p.x), y: parts.map((p) => p.y), text: parts.map((p) => p.text), "marker.opacity": parts.map((p) => p.opacity) },
      parts.map((_, r) => r));
    Plotly.relayout("relevance", { shapes: state.fitted && !data.isCut ? [] : [at(state.size + 0.5)] });
  }

  function showSize() {
    const { size } = state, whole = !state.fitted || data.isCut; // a set is at no place of the order
    const evidence = whole ? evidenceAt(size) : NaN, held = whole ? explainedAt(size) : null, carried = share();
    const lines = { shapes: whole ? [at(size)] : [] };
    if (data.evidenceSizes.length) {
      const known = Number.isFinite(evidence);
      Plotly.restyle("evidence", { x: [known ? [size] : []], y: [known ? [evidence - data.bestEvidence] : []] }, [1]);
      Plotly.relayout("evidence", lines);
    }
    if (data.explained) {
      Plotly.restyle("explained", { x: [held ? [size] : []], y: [held ? [held.value] : []] }, [1]);
      Plotly.relayout("explained", lines);
    }
    if (data.shares) {
      const known = whole && !Number.isNaN(carried);
      Plotly.restyle("share", { x: [known ? [size] : []], y: [known ? [carried] : []] }, [3]);
      Plotly.relayout("share", known ? lines : { shapes: [] });
    }
    showProfile();
    report.samples.show();
  }

  function draw(choose) {
    if (data.shares) drawShare(choose);
    if (data.evidenceSizes.length) drawEvidence(choose);
    if (data.explained) drawExplained(choose);
    drawRelevance();
    report.samples.draw();
    showSize();
  }

  // Paper has another width than the screen; plotly only hears of windows that change theirs.
  function fit(width) {
    for (const chart of drawn) Plotly.relayout(chart, width ? { autosize: false, width } : { autosize: true, width: null });
  }

  return { draw, show: showSize, fit, plot, layout, axis, config, touch };
};
