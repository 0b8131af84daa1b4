// Draws the charts in the page's own colours, and again when the reader's light changes.
const narrow = window.matchMedia("(max-width: 760px)");
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function layout(chart, tall) {
  const css = getComputedStyle(document.documentElement);
  const colour = (name) => css.getPropertyValue(name).trim();
  const axis = { gridcolor: colour("--line"), zerolinecolor: colour("--line"), automargin: true };
  return {
    ...chart.layout,
    template: undefined,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 13, color: colour("--quiet") },
    hovermode: tall ? "x unified" : "closest",
    hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--ink") } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--quiet"), activecolor: colour("--ink") },
    showlegend: tall,
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
    margin: { l: 56, r: 16, t: tall ? (narrow.matches ? 72 : 44) : 16, b: 52 },
    xaxis: { ...chart.layout.xaxis, ...axis, title: { ...chart.layout.xaxis.title, font: { size: 12 } } },
    yaxis: { ...chart.layout.yaxis, ...axis },
  };
}

function draw() {
  for (const [name, chart] of Object.entries(charts)) {
    const options = { responsive: true, displaylogo: false, displayModeBar: narrow.matches ? false : "hover", modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
    Plotly.react(name, chart.data, layout(chart, name === "rounds"), options);
  }
}

draw();
dark.addEventListener("change", draw);
narrow.addEventListener("change", draw);
