// Samples on two components, and the loadings: of the variables on the slider, or of the nearest size that was computed.
report.makeSamples = () => {
  const { data, state, modelShown, plain, integer, percent, decimals } = report;
  const { plot, layout, axis, config, touch } = report.charts;
  const SELECTED = "#0072B2";
  const GROUP_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#A6761D"];
  const GROUP_SHAPES = ["circle", "diamond", "cross"];
  const DIVERGING = [[0, "#B35806"], [0.25, "#F1A340"], [0.5, "#F7F7F7"], [0.75, "#998EC3"], [1, "#542788"]];
  const HEATMAP_ROWS = 40;
  const element = (id) => document.getElementById(id);
  const title = (model, j) => `PC${j + 1}` + (model.componentRatios ? ` (${percent(model.componentRatios[j])})` : "");
  const of = (model) => `${integer(model.size)} ${model.size === 1 ? "variable" : "variables"}`;
  const note = (model) => (model.exact ? ` Components of ${of(model)}.`
    : ` Components of ${of(model)}: the nearest size to ${integer(state.size)} that this page holds; the buttons above lead to such sizes.`);

  function scoreTraces(model, xAxis, yAxis) {
    const { rows, groups, group, numbers, sampleNames } = data.scores, { values } = model, n = rows.length;
    const trace = (members, more) => ({
      x: members.map((i) => values[xAxis * n + i]),
      y: members.map((i) => (yAxis === null ? 0 : values[yAxis * n + i])),
      text: members.map((i) => plain(sampleNames ? sampleNames[i] : `sample ${rows[i] + 1}`) +
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

  function fill(choice, count, wanted) {
    if (choice.options.length !== count) choice.replaceChildren(...Array.from({ length: count }, (_, j) => new Option(`PC${j + 1}`, j)));
    choice.value = Math.min(wanted, count - 1);
  }

  function showScores() {
    const model = modelShown(), { rows, nSamples, group } = data.scores, { nAxes } = model;
    const [xChoice, yChoice] = [element("score-x"), element("score-y")];
    fill(xChoice, nAxes, Number(xChoice.value || 0));
    fill(yChoice, nAxes, Number(yChoice.value || 1));
    element("score-tools").hidden = nAxes < 2;
    const [i, j] = [Number(xChoice.value), nAxes < 2 ? null : Number(yChoice.value)];
    const zero = { zeroline: true, zerolinecolor: "#c5cad2" };
    const how = layout({
      dragmode: touch ? false : "pan", showlegend: group !== null, margin: { l: 64, r: 16, t: 32, b: 64 }, legend: { orientation: "h", y: -0.2, yanchor: "top", itemsizing: "constant" },
      xaxis: axis(title(model, i), zero), yaxis: axis(j === null ? "" : title(model, j), { ...zero, showticklabels: j !== null }),
    });
    if (element("scores").data) Plotly.react("scores", scoreTraces(model, i, j), how, config);
    else plot("scores", scoreTraces(model, i, j), how);
    element("scores-caption").textContent = (rows.length < nSamples
      ? `Drawn: ${integer(rows.length)} of ${integer(nSamples)} samples, the extremes of every component and others at equal steps.`
      : `All ${integer(nSamples)} samples are drawn.`) + note(model);
  }

  function showLoadings() {
    const model = modelShown(), d = model.nComponents;
    const components = Array.from({ length: d }, (_, j) => j);
    const strength = new Map(model.members.map((k) => [k, components.reduce((sum, j) => sum + model.loading(j, k) ** 2, 0)]));
    const shown = [...strength.keys()].sort((a, b) => strength.get(b) - strength.get(a)).slice(0, HEATMAP_ROWS).sort((a, b) => a - b);
    const z = shown.map((k) => components.map((j) => model.loading(j, k)));
    const most = Math.max(...z.flat().map(Math.abs));
    element("loadings").style.height = `${112 + 20 * Math.max(shown.length, 4)}px`;
    const traces = [{
      type: "heatmap", z, x: components.map((j) => j + 1), y: shown.map((_, i) => i), zmin: -most, zmax: most, colorscale: DIVERGING,
      hoverinfo: "text", xgap: 1, ygap: 1, colorbar: { thickness: 12 },
      text: shown.map((k) => components.map((j) => `${plain(data.names[k])}<br>PC${j + 1}: ${decimals(model.loading(j, k), 3)}`)),
    }];
    const how = layout({
      dragmode: false, margin: { l: 20, r: 10, t: 32, b: 48 }, xaxis: axis("component", { dtick: d > 15 ? 5 : 1, tick0: d > 15 ? 0 : 1, showgrid: false }),
      // Positions, not names, are the categories: two variables may have one name.
      yaxis: axis("", { autorange: "reversed", showgrid: false, tickvals: shown.map((_, i) => i), ticktext: shown.map((k) => plain(data.names[k], 18)) }),
    });
    if (element("loadings").data) Plotly.react("loadings", traces, how, config);
    else plot("loadings", traces, how);
    element("loadings-caption").textContent = (shown.length < model.members.length
      ? `Drawn: the ${integer(shown.length)} of ${integer(model.members.length)} variables with the largest loadings, in the order of their ranks.`
      : "All of the variables, in the order of their ranks.") + note(model);
  }

  let last = null;
  function show(force) {
    const model = modelShown();
    const now = model && `${model.size} ${model.exact} ${state.size}`;
    if (!model || (now === last && force !== true)) return;
    last = now;
    if (data.scores) showScores();
    if (element("loadings")) showLoadings();
  }

  function draw() {
    if (data.scores) for (const id of ["score-x", "score-y"]) element(id).addEventListener("change", () => show(true));
  }

  return { draw, show };
};
