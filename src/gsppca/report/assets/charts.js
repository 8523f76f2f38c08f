// The charts. Each `draw…` is called once; `showSize` moves what depends on the size.
report.charts = (() => {
  const { data, lowerBound, evidenceAt, explainedAt, loading, thin, plain, integer, percent, decimals } = report;
  const SELECTED = "#0072B2", OTHER = "#B0B5BC", MARK = "#D55E00";
  const GROUP_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#A6761D"];
  const GROUP_SHAPES = ["circle", "diamond", "cross"];
  const DIVERGING = [[0, "#B35806"], [0.25, "#F1A340"], [0.5, "#F7F7F7"], [0.75, "#998EC3"], [1, "#542788"]];
  const BUDGET = 1500; // points of a curve
  const HEATMAP_ROWS = 40;
  const touch = window.matchMedia("(pointer: coarse)").matches;
  // Named one by one: plotly's own choice has a button that would send the data away.
  const config = { responsive: true, displaylogo: false,
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]] };
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
    const kept = new Set(thin(data.evidence, first, last, BUDGET, logarithmic));
    const here = lowerBound(sizes, data.nSelected);
    for (let i = Math.max(here - 3, first); i < Math.min(here + 4, last); i += 1) kept.add(i);
    const positions = [...kept].sort((a, b) => a - b);
    saysThinned("evidence-caption", positions.length, last - first, "evaluated sizes");
    return {
      x: positions.map((i) => sizes[i]), y: positions.map((i) => data.evidence[i] - data.bestEvidence),
      text: positions.map((i) => {
        const k = sizes[i] - 1;
        return `${integer(sizes[i])} variables<br>log evidence ${decimals(data.evidence[i], 1)} ` +
          `(${decimals(data.evidence[i] - data.bestEvidence, 1)})<br>the last one in: ${plain(data.names[k])}`;
      }),
    };
  }

  function drawEvidence(choose) {
    const sparse = data.evidenceSizes.length < 120;
    const curve = { ...evidenceCurve(-Infinity, Infinity), mode: sparse ? "lines+markers" : "lines", hoverinfo: "text",
      line: { color: SELECTED, width: 2 }, marker: { size: 5 } };
    const dot = { x: [], y: [], mode: "markers", hoverinfo: "skip", marker: { color: MARK, size: 11 } };
    plot("evidence", [curve, dot], layout({
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
    const size = Number(element("size-number").value), sizes = data.evidenceSizes;
    if (!near) { Plotly.relayout("evidence", { "xaxis.range": whole, "yaxis.autorange": true }); return; }
    const [from, to] = [Math.max(Math.min(size / 2, size - 5), 0.9), Math.min(Math.max(2 * size, size + 5), data.nRanked + 0.5)];
    const part = Array.from(data.evidence.subarray(lowerBound(sizes, from), lowerBound(sizes, to)), (value) => value - data.bestEvidence);
    const [low, high] = part.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
    const pad = 0.06 * (high - low) || 1;
    const range = part.length ? { "yaxis.range": [low - pad, high + pad] } : {};
    Plotly.relayout("evidence", { "xaxis.range": [inAxis(from), inAxis(to)], ...range });
  }

  function drawExplained(choose) {
    const sizes = Array.from(data.explainedSizes), values = Array.from(data.explained);
    const every = sizes.length === data.nRanked;
    plot("explained", [
      { x: sizes, y: values, mode: every ? "lines" : "lines+markers", line: { color: SELECTED, width: 2 }, marker: { size: 4 },
        hoverinfo: "text", text: sizes.map((size, i) => `${integer(size)} variables<br>${percent(values[i])} of the variance`) },
      { x: [], y: [], mode: "markers", hoverinfo: "skip", marker: { color: MARK, size: 11 } },
    ], layout({ hovermode: "x", xaxis: sizeAxis("number of variables"),
      yaxis: axis("explained variance", { tickformat: ".0%", rangemode: "tozero" }), shapes: [at(chosen)] }));
    element("explained").on("plotly_click", (event) => choose(event.points[0].x));
    element("explained-caption").textContent = every
      ? "Exact at every size."
      : `Exact at the ${integer(sizes.length)} sizes with a dot; in between, the line is an estimate that lies between its neighbours, marked ≈ elsewhere.`;
  }

  let profileRange = [-Infinity, Infinity];
  function profile(size) {
    const first = Math.max(0, Math.floor(profileRange[0]) - 1), last = Math.min(data.nRanked, Math.ceil(profileRange[1]));
    const positions = thin(data.relevance, first, last, BUDGET, logarithmic);
    saysThinned("relevance-caption", positions.length, last - first, "variables");
    const part = (keep) => {
      const kept = positions.filter(keep);
      return { x: kept.map((k) => k + 1), y: kept.map((k) => data.relevance[k]),
        text: kept.map((k) => `${plain(data.names[k])}<br>rank ${integer(k + 1)}, relevance ${decimals(data.relevance[k], 3)}`) };
    };
    return [part((k) => k < size), part((k) => k >= size)];
  }

  const barred = data.nRanked <= 150;
  function drawRelevance(size) {
    const look = (colour) => (barred
      ? { type: "bar", textposition: "none", marker: { color: colour } }
      : { mode: "lines", fill: "tozeroy", line: { color: colour, width: 1 }, fillcolor: colour });
    plot("relevance", profile(size).map((part, i) => ({ ...part, ...look(i ? OTHER : SELECTED), hoverinfo: "text" })),
      layout({ barmode: "overlay", bargap: 0.25, xaxis: sizeAxis("rank of the variable"), yaxis: axis("relevance", { rangemode: "tozero" }) }));
    onZoom("relevance", (from, to) => { profileRange = [from, to]; showProfile(Number(element("size-number").value)); });
  }
  function showProfile(size) {
    const parts = profile(size);
    Plotly.restyle("relevance", { x: parts.map((p) => p.x), y: parts.map((p) => p.y), text: parts.map((p) => p.text) }, [0, 1]);
  }

  function componentTitle(j) {
    return `component ${j}` + (data.componentRatios ? ` (${percent(data.componentRatios[j])})` : "");
  }

  function scoreTraces(xAxis, yAxis) {
    const { values, rows, groups, group, numbers, sampleNames } = data.scores, n = rows.length;
    const trace = (members, more) => ({
      x: members.map((i) => values[xAxis * n + i]),
      y: members.map((i) => (yAxis === null ? 0 : values[yAxis * n + i])),
      text: members.map((i) => plain(sampleNames ? sampleNames[i] : `sample ${rows[i]}`) +
        (group ? `<br>${plain(groups[group[i]])}` : "") + (numbers ? `<br>${plain(numbers[i])}` : "")),
      mode: "markers", hoverinfo: "text", ...more,
    });
    const everyone = Array.from(rows, (_, i) => i);
    const size = n > 1000 ? 5 : 7;
    if (group) {
      return groups.map((name, g) => trace(everyone.filter((i) => group[i] === g), {
        name: plain(name, 28), marker: { size, opacity: 0.8, color: GROUP_COLOURS[g % 8], symbol: GROUP_SHAPES[Math.floor(g / 8)] },
      }));
    }
    const scale = numbers
      ? { color: Array.from(numbers), colorscale: "Cividis", showscale: true, colorbar: { thickness: 12 } }
      : { color: SELECTED };
    return [trace(everyone, { marker: { size, opacity: 0.75, ...scale } })];
  }

  function drawScores() {
    const { nAxes, rows, nSamples, group } = data.scores;
    const [xChoice, yChoice] = [element("score-x"), element("score-y")];
    for (const choice of [xChoice, yChoice]) {
      for (let j = 0; j < nAxes; j += 1) choice.add(new Option(`component ${j}`, j));
    }
    yChoice.value = Math.min(1, nAxes - 1);
    element("score-tools").hidden = nAxes < 2;
    const show = () => {
      const [i, j] = [Number(xChoice.value), nAxes < 2 ? null : Number(yChoice.value)];
      const how = layout({
        dragmode: touch ? false : "pan", showlegend: group !== null, margin: { l: 64, r: 16, t: 32, b: 64 }, legend: { orientation: "h", y: -0.2, yanchor: "top", itemsizing: "constant" },
        xaxis: axis(componentTitle(i), { zeroline: true, zerolinecolor: "#c5cad2" }),
        yaxis: axis(j === null ? "" : componentTitle(j), { zeroline: true, zerolinecolor: "#c5cad2", showticklabels: j !== null }),
      });
      return element("scores").data ? Plotly.react("scores", scoreTraces(i, j), how, config) : plot("scores", scoreTraces(i, j), how);
    };
    xChoice.addEventListener("change", show);
    yChoice.addEventListener("change", show);
    show();
    element("scores-caption").textContent = rows.length < nSamples
      ? `Drawn: ${integer(rows.length)} of ${integer(nSamples)} samples, the extremes of every component and others at equal steps.`
      : `All ${integer(nSamples)} samples are drawn.`;
  }

  function drawLoadings() {
    const d = data.nComponents, all = data.nSelected;
    const strength = Array.from({ length: all }, (_, k) => {
      let sum = 0;
      for (let j = 0; j < d; j += 1) sum += loading(j, k) ** 2;
      return sum;
    });
    const shown = Array.from(strength.keys()).sort((a, b) => strength[b] - strength[a]).slice(0, HEATMAP_ROWS).sort((a, b) => a - b);
    const components = Array.from({ length: d }, (_, j) => j);
    const z = shown.map((k) => components.map((j) => loading(j, k)));
    const most = Math.max(...z.flat().map(Math.abs));
    element("loadings").style.height = `${112 + 20 * Math.max(shown.length, 4)}px`;
    plot("loadings", [{
      type: "heatmap", z, x: components, y: shown.map((_, i) => i), zmin: -most, zmax: most, colorscale: DIVERGING,
      hoverinfo: "text", xgap: 1, ygap: 1, colorbar: { thickness: 12 },
      text: shown.map((k) => components.map((j) => `${plain(data.names[k])}<br>component ${j}: ${decimals(loading(j, k), 3)}`)),
    }], layout({
      dragmode: false, margin: { l: 20, r: 10, t: 32, b: 48 }, xaxis: axis("component", { dtick: d > 15 ? 5 : 1, showgrid: false }),
      // Positions, not names, are the categories: two variables may have one name.
      yaxis: axis("", { autorange: "reversed", showgrid: false, tickvals: shown.map((_, i) => i), ticktext: shown.map((k) => plain(data.names[k], 18)) }),
    }));
    element("loadings-caption").textContent = (shown.length < all
      ? `Drawn: the ${integer(shown.length)} of ${integer(all)} selected variables with the largest loadings, in the order of their ranks.`
      : "All selected variables, in the order of their ranks.") + " These are the loadings of the fitted model; the slider does not change them.";
  }

  function showSize(size) {
    const evidence = evidenceAt(size), held = explainedAt(size);
    const known = !Number.isNaN(evidence);
    Plotly.restyle("evidence", { x: [known ? [size] : []], y: [known ? [evidence - data.bestEvidence] : []] }, [1]);
    Plotly.relayout("evidence", { shapes: [at(size)] });
    if (held) {
      Plotly.restyle("explained", { x: [[size]], y: [[held.value]] }, [1]);
      Plotly.relayout("explained", { shapes: [at(size)] });
    }
    showProfile(size);
  }

  function draw(size, choose) {
    drawEvidence(choose);
    if (data.explained) drawExplained(choose);
    drawRelevance(size);
    if (data.scores) drawScores();
    if (element("loadings")) drawLoadings();
  }

  // Paper has another width than the screen; plotly only hears of windows that change theirs.
  function fit(width) {
    for (const chart of drawn) Plotly.relayout(chart, width ? { autosize: false, width } : { autosize: true, width: null });
  }

  return { draw, showSize, fit };
})();
