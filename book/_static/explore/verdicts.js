/* The page of verdicts: all claims as dots, filters, and what other readings of the rules would have judged. */
"use strict";

(() => {
  const {element, drawn, refill, data, number, address, roving, inLine, select, radios, checkbox, scale} = window.sentbook;
  const {papers, said, claims} = data("verdicts-data");
  const box = document.getElementById("verdict-explorer");
  const OURS = "ours", OUT = "out of scale", DOT = 4.5;
  const PANELS = [
    ["score", "Scores", "the paper, or the bound of a rule", "ours"],
    ["difference", "Differences", "the paper's A \u2212 B, root scale; 0: not printed", "our A \u2212 B"],
    ["count", "Rows on which a claim holds, %", "as the paper says, or the rule asks", "ours"],
  ];
  const CAUSES = [["", "any"], ["tested", "tested"], ["guess", "a guess"], ["scope", "what it would need"], ["none", "none named"]];
  const READINGS = {above: ["counts", "within"], over: ["both", "pairs"]};
  const state = {};
  let view;

  for (const claim of claims) {
    claim.verdicts = claim.verdicts.map(at => Object.keys(said)[at]);
    claim.dots = claim.dots.map(([kind, x, y, both, pairs, bound, part, what]) =>
      ({kind: PANELS[kind][0], x, y, both: both || undefined, pairs: pairs || undefined, bound, part, what}));
    claim.line = document.getElementById(`claim-${claim.id}`).closest("details");
    claim.badge = claim.line.querySelector("summary > .verdict");
    claim.words = claim.line.querySelector(".sb-claim-text").textContent;
  }

  // -- what is chosen ---------------------------------------------------------------------------------------------------

  function read() {
    const asked = address.read(), of = (name, known) => known.includes(asked.get(name)) ? asked.get(name) : "";
    Object.assign(state, {
      paper: of("paper", Object.keys(papers)), verdict: of("verdict", Object.keys(said)),
      cause: of("cause", CAUSES.map(([name]) => name)), scale: of("scale", ["as", "smaller"]),
      above: of("above", READINGS.above) || "counts", over: of("over", READINGS.over) || "both", out: asked.get("out") === "left",
    });
  }

  function set(changes) {
    Object.assign(state, changes);
    address.write({paper: state.paper, verdict: state.verdict, cause: state.cause, scale: state.scale,
      above: state.above === "counts" ? "" : state.above, over: state.over === "both" ? "" : state.over, out: state.out ? "left" : ""});
    draw();
  }

  /** A claim's verdict by the chosen reading, out of those that the book's judge gave. */
  const judged = claim => claim.verdicts[2 * (state.over === "pairs") + (state.above === "within")];

  const asked = claim => (!state.paper || claim.paper === state.paper)
    && (!state.verdict || judged(claim) === state.verdict)
    && (!state.cause || (claim.cause || "none") === state.cause)
    && (!state.scale || claim.smaller === (state.scale === "smaller"))
    && !(state.out && judged(claim) === OUT);

  // -- words ------------------------------------------------------------------------------------------------------------

  const classOf = verdict => verdict.replaceAll(" ", "-");
  const badge = (verdict, words = said[verdict]) => element("span", {class: `verdict verdict-${classOf(verdict)}`}, words);

  /** Each claim's own line: its verdict by the chosen reading, and the recorded one where that is another. */
  function line(claim) {
    const verdict = judged(claim), changed = verdict !== claim.verdicts[0];
    claim.line.hidden = !asked(claim);
    claim.line.className = `sb-claim sb-claim-${classOf(verdict)}`;
    const other = state.above !== "counts" || state.over !== "both";
    const note = changed ? `recorded: ${claim.verdicts[0]}`
      : other && !claim.again && claim.dots.length ? "its rows do not carry enough to judge it again" : "";
    claim.badge.replaceWith(claim.badge = badge(verdict));
    claim.line.querySelector(".sb-claim-was")?.remove();
    if (note) claim.badge.after(element("span", {class: "sb-claim-was sb-soft"}, ` ${note} `));
  }

  function counts(shown) {
    const papersOwn = shown.filter(claim => claim.paper !== OURS), ours = shown.length - papersOwn.length;
    const changed = shown.filter(claim => judged(claim) !== claim.verdicts[0]).length;
    const items = Object.keys(said).map(verdict => [verdict, papersOwn.filter(claim => judged(claim) === verdict).length])
      .filter(([, count]) => count).map(([verdict, count]) =>
        element("li", {class: "sb-badge", "data-verdict": verdict}, `${count} `, badge(verdict)));
    return [element("p", {class: "sb-caption", role: "status"}, element("strong", {}, `${papersOwn.length} claims of the papers`),
      element("span", {class: "sb-how"}, `${ours} of this book, not counted with them; ${changed} judged otherwise than recorded`)),
    element("ul", {class: "sb-badges", "aria-label": "Verdicts"}, items)];
  }

  // -- dots -------------------------------------------------------------------------------------------------------------

  /** A verdict's sign, so that it is told without colour. */
  function sign(verdict, x, y, attributes) {
    const r = DOT, shape = {
      "reproduced": `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
      "exceeded": `M${x} ${y - r - 1}l${r + 1} ${2 * r}h${-2 * r - 2}z`,
      "not reproduced": `M${x - r} ${y - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`,
      "inconclusive": `M${x} ${y - r - 1}l${r + 1} ${r + 1}l${-r - 1} ${r + 1}l${-r - 1} ${-r - 1}z`,
    }[verdict] || `M${x - r} ${y - r + 1}h${2 * r}v${2 * r - 2}h${-2 * r}z`;
    return drawn("path", {d: shape, class: `sb-claim-dot sb-dot-${classOf(verdict)}`, tabindex: "-1", role: "button", ...attributes});
  }

  const part = (claim, at) => claim.line.querySelectorAll(".sb-parts tbody th")[at].firstChild.textContent;
  const spoken = (claim, dot) => `${claim.id}: ${claim.words} (${judged(claim)})`
    + (dot ? `; ${dot.what || part(claim, dot.part)}: ${dot.bound ? "rule" : "paper"} ${number(dot.x)}, ours ${number(dot.y)}` : "");

  function bind(claim, dot) {
    return {"aria-label": spoken(claim, dot), "data-of": claim.id, onclick: () => go(claim),
      onkeydown: event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); go(claim); } },
      onfocus: () => tell(claim, dot), onmouseenter: () => tell(claim, dot)};
  }

  function tell(claim, dot) {
    view.told.textContent = spoken(claim, dot);
    view.plots.querySelectorAll("[data-of]").forEach(one => one.classList.toggle("sb-same", one.dataset.of === claim.id));
  }

  function go(claim) {
    claim.line.open = true;
    history.replaceState(null, "", `#claim-${claim.id}`);
    claim.line.scrollIntoView({block: "start"});
    claim.line.querySelector("summary").focus({preventScroll: true});
  }

  function panel([kind, title, below, beside], shown) {
    const dots = shown.flatMap(claim => claim.dots.filter(dot => dot.kind === kind).map(dot => ({claim, dot})));
    if (!dots.length) return null;
    const side = 340, left = 34, foot = 40, top = 24;
    const all = dots.flatMap(({dot}) => [dot.x, dot.y]), most = Math.max(...all.map(Math.abs));
    const root = value => kind === "difference" ? Math.sign(value) * Math.sqrt(Math.abs(value)) : value;  // most are small
    const low = kind === "difference" ? -most - 5 : Math.min(0, ...all), high = kind === "difference" ? most + 5 : 100;
    const across = scale(root(low), root(high), left + 8, side - 16), up = scale(root(low), root(high), side - foot, top);
    const x = value => across(root(value)), y = value => up(root(value));
    const ticks = kind === "difference" ? [-50, -20, -5, 0, 5, 20, 50].filter(tick => tick > low && tick < high) : across.ticks;
    const end = (value, ends) => Math.min(Math.max(value, ends[0]), ends[1]);
    const range = ({claim, dot}) => dot[state.over] || dot.both;
    return element("figure", {class: "sb-panel"}, element("figcaption", {}, element("strong", {}, title)),
      drawn("svg", {viewBox: `0 0 ${side} ${side}`, role: "group", "aria-label": title},
        ticks.map(tick => [drawn("line", {x1: x(tick), x2: x(tick), y1: top, y2: side - foot, class: "sb-grid-line"}),
          drawn("line", {x1: left, x2: side - 4, y1: y(tick), y2: y(tick), class: "sb-grid-line"}),
          drawn("text", {x: x(tick), y: side - foot + 14, "text-anchor": "middle"}, number(tick, 0)),
          drawn("text", {x: left - 4, y: y(tick) + 4, "text-anchor": "end"}, number(tick, 0))]),
        drawn("line", {x1: x(low), y1: y(low), x2: x(high), y2: y(high), class: "sb-equal"}),
        kind === "difference" && drawn("line", {x1: left, x2: side - 4, y1: y(0), y2: y(0), class: "sb-rule"}),
        drawn("text", {x: side - 4, y: side - 6, "text-anchor": "end", class: "sb-axis-name"}, below),
        drawn("text", {x: 4, y: 14, class: "sb-axis-name"}, beside),
        dots.map(one => range(one) && drawn("line", {x1: x(one.dot.x), x2: x(one.dot.x), y1: end(y(range(one)[0]), [top, side - foot]),
          y2: end(y(range(one)[1]), [top, side - foot]), class: `sb-range-line sb-dot-${classOf(judged(one.claim))}`, "data-of": one.claim.id})),
        dots.map(({claim, dot}) => sign(judged(claim), x(dot.x), y(dot.y), bind(claim, dot)))));
  }

  /** Claims that name no number, or one on a scale of its own, in a row. */
  function strip(shown) {
    const rest = shown.filter(claim => !claim.dots.length);
    if (!rest.length) return null;
    const room = view.plots.clientWidth || 900, step = 20, across = Math.max(1, Math.floor((room - 16) / step));
    const height = Math.ceil(rest.length / across) * step + 8;
    return element("figure", {class: "sb-panel sb-strip"}, element("figcaption", {}, element("strong", {}, "No number, or one on a scale of its own")),
      drawn("svg", {viewBox: `0 0 ${room} ${height}`, width: room, height, role: "group", "aria-label": "claims without a number"},
        rest.map((claim, at) => sign(judged(claim), 14 + (at % across) * step, 14 + Math.floor(at / across) * step, bind(claim, null)))));
  }

  // -- the page ---------------------------------------------------------------------------------------------------------

  function draw() {
    claims.forEach(line);
    for (const group of document.querySelectorAll(".sentbook-claims")) {
      group.hidden = !group.querySelector("details.sb-claim:not([hidden])");
      const below = group.nextElementSibling;
      if (below?.classList.contains("sb-substitutes")) below.hidden = group.hidden;
    }
    const shown = claims.filter(asked);
    view.counts.replaceChildren(...counts(shown));
    const panels = [...PANELS.map(one => panel(one, shown)), strip(shown)].filter(Boolean);
    view.plots.replaceChildren(...panels);
    panels.forEach(one => roving(one, ".sb-claim-dot", inLine));
    view.told.textContent = shown.length ? "Point at a sign, or move among them with the arrow keys; Enter opens its card." : "No claim is left by these filters.";
  }

  function controls() {
    const option = words => [["", "all"], ...Object.entries(words)];
    const smaller = claims.filter(claim => claim.smaller).length;
    refill(view.controls,
      select("Paper", option(papers), state.paper, paper => set({paper})),
      select("Verdict", option(said), state.verdict, verdict => set({verdict})),
      select("Cause", CAUSES, state.cause, cause => set({cause})),
      select("Scale", [["", "any"], ["as", "the run has what the claim is about"], ["smaller", `smaller than that (${smaller})`]], state.scale, scale => set({scale})),
      radios("A number above the printed one", "above", [["counts", "counts"], ["within", "must lie within the interval"]], state.above, above => set({above})),
      radios("Intervals over", "over", [["both", "pairs and seeds"], ["pairs", "pairs alone"]], state.over, over => set({over})),
      element("div", {class: "sb-field"}, checkbox("Leave out what is out of scale", state.out, out => set({out}))),
      element("button", {type: "button", onclick: () => { history.replaceState(null, "", location.pathname); read(); controls(); draw(); }}, "As recorded, all"));
  }

  /** Open the card that the address names; one that a filter hides is shown. */
  function opened() {
    const claim = claims.find(one => `#claim-${one.id}` === location.hash);
    if (!claim) return;
    if (!asked(claim)) { read(); controls(); draw(); }
    claim.line.open = true;
    claim.line.scrollIntoView({block: "start"});
  }

  view = {controls: element("form", {class: "sb-controls", onsubmit: event => event.preventDefault()}), counts: element("div", {}),
    plots: element("div", {class: "sb-plots"}), told: element("p", {class: "sb-live", role: "status"})};
  box.replaceChildren(view.controls, view.counts, view.told, view.plots,
    element("p", {class: "sb-foot"}, "A claim of several parts has a sign for each; on the line both numbers are the same. Upright lines: our interval of 95 %. "
      + "\u25cf reproduced, \u25b2 exceeded, \u2715 not reproduced, \u25c7 inconclusive, \u25ad the rest."));
  box.classList.add("sb-explore");
  read();
  controls();
  draw();
  opened();
  let room = box.clientWidth;
  addEventListener("resize", () => { if (box.clientWidth !== room) { room = box.clientWidth; draw(); } });
  addEventListener("hashchange", () => { if (location.hash.includes("=")) { read(); controls(); draw(); } else opened(); });
})();
