/* The protocol dial: one encoder's number as score, measure, aggregation and tokens are chosen, among all others. */
"use strict";

(() => {
  const form = document.getElementById("dial");
  const output = document.querySelector(".sb-dial output");
  const words = document.getElementById("dial-words");
  const cloud = document.getElementById("dial-cloud");
  const near = document.getElementById("dial-near");
  const {encoder, house, fields, sets} = JSON.parse(document.getElementById("dial-data").textContent);
  const YEAR_SETS = fields.findIndex(field => field.name === "aggregation");
  const NEAR = 0.5;  // a number printed with one decimal, and what another seed moves it
  const SVG = new Set(["svg", "circle", "line", "path", "rect", "text", "title"]);

  const number = (value, signed) => (value < 0 ? "\u2212" : signed ? "+" : "") + Math.abs(value).toFixed(1);
  const mean = values => values.reduce((sum, value) => sum + value, 0) / values.length;
  const same = (one, other) => one.every((place, at) => place === other[at]);
  const inWords = at => fields.map((field, place) => field.choices[at[place]]).filter(Boolean).join(", ");
  const named = element => element.getAttribute("aria-label") || element.textContent;
  const label = point => `${number(point.value)}: ${inWords(point.at)}`;

  function make(tag, attributes, ...children) {
    const made = SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value);
    }
    made.append(...children.filter(Boolean));
    return made;
  }

  function choose(at) {
    const held = document.activeElement, around = [cloud, near].find(one => one.contains(held)), words = named(held);
    fields.forEach((field, place) => { if (at[place] >= 0) form.elements[field.name].value = at[place]; });
    draw();
    [...around?.querySelectorAll("[role=button], button") ?? []].find(one => named(one) === words)?.focus();
  }

  /* Dots one above the other where they are near, so that none hides another. */
  function stacked(points, across, size) {
    const placed = [];
    for (const point of [...points].sort((a, b) => a.value - b.value)) {
      const x = across(point.value), beside = placed.filter(one => Math.abs(one.x - x) < size);
      let level = 0;
      while (beside.some(one => one.level === level)) level++;
      placed.push({...point, x, level});
    }
    return placed;
  }

  function drawCloud(points, chosen, ours, asked) {
    const width = Math.max(300, Math.min(900, cloud.clientWidth || 700)), size = width < 500 ? 9 : 12;
    const ends = [...points.map(point => point.value), ...(asked === null ? [] : [asked])];
    const low = Math.floor(Math.min(...ends) - 1), high = Math.ceil(Math.max(...ends) + 1);
    const across = value => 14 + (value - low) / (high - low) * (width - 28);
    const dots = stacked(points, across, size);
    const base = 40 + (Math.max(...dots.map(dot => dot.level)) + 1) * size, height = base + 34;
    const y = dot => base - 8 - dot.level * size;
    const own = dots.find(dot => dot.at === chosen.at), diamond = dots.find(dot => dot.at === ours.at);
    const step = [1, 2, 5, 10, 20].find(one => (high - low) / one <= 8), ticks = [];
    for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(tick);

    const circle = dot => make("circle", {
      cx: dot.x, cy: y(dot), r: size / 2 - 1.5, tabindex: 0, role: "button", "aria-label": label(dot),
      class: ["sb-dot", dot.at[0] !== house[0] && "sb-hollow", isNear(dot, asked) && "sb-hit"].filter(Boolean).join(" "),
      onclick: () => choose(dot.at),
      onkeydown: event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(dot.at); } },
    }, make("title", {}, label(dot)));
    const middle = (x, top, text) => make("text", {x, y: top, "text-anchor": "middle"}, text);

    cloud.replaceChildren(make(
      "svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `${points.length} protocols`},
      make("line", {x1: 10, x2: width - 10, y1: base, y2: base, class: "sb-rule"}),
      ...ticks.map(tick => middle(across(tick), base + 18, String(tick))),
      asked !== null && make("rect", {
        x: across(asked - NEAR), width: across(asked + NEAR) - across(asked - NEAR), y: 26, height: base - 26,
        class: "sb-band",
      }),
      ...dots.map(circle),
      make("path", {d: `M${diamond.x} ${y(diamond) - 7}l7 7l-7 7l-7 -7z`, class: "sb-house"}),
      make("line", {x1: own.x, x2: own.x, y1: 22, y2: y(own), class: "sb-rule"}),
      make("circle", {cx: own.x, cy: y(own), r: size / 2 + 2, class: "sb-chosen"}),
      middle(Math.min(Math.max(own.x, 22), width - 22), 16, number(own.value)),
    ));
  }

  const isNear = (point, asked) => asked !== null && Math.abs(point.value - asked) <= NEAR;

  function listNear(points, asked) {
    if (asked === null) return near.replaceChildren();
    const byDistance = [...points].sort((a, b) => Math.abs(a.value - asked) - Math.abs(b.value - asked));
    const hits = byDistance.filter(point => isNear(point, asked));
    const found = `${hits.length} of ${points.length} protocols give ${encoder} a number within ${NEAR} of ${number(asked)}`;
    near.replaceChildren(
      make("p", {}, hits.length ? `${found}:` : `${found}; the nearest:`),
      make("ul", {}, ...(hits.length ? hits : byDistance.slice(0, 3)).map(point =>
        make("li", {}, make("button", {type: "button", onclick: () => choose(point.at)}, label(point))))),
    );
  }

  function draw() {
    const set = sets.find(one => one.name === form.elements.set.value);
    const hasYears = set.numbers.some(line => line[YEAR_SETS] >= 0);
    form.elements["aggregation-choices"].disabled = !hasYears;
    const wanted = at => at.map((place, field) => field === YEAR_SETS && !hasYears ? -1 : place);
    const points = set.numbers.map(line => ({at: line.slice(0, fields.length), value: mean(line.slice(fields.length))}));
    const at = wanted(fields.map(field => Number(form.elements[field.name].value)));
    const ours = points.find(point => same(point.at, wanted(house)));
    const chosen = points.find(point => same(point.at, at)) || ours;
    const typed = form.elements.near.value.trim().replace(",", ".");
    const asked = typed && Number.isFinite(Number(typed)) ? Number(typed) : null;
    const below = points.filter(point => point.value < chosen.value).length;
    const moved = chosen === ours ? "our protocol" : `${number(chosen.value - ours.value, true)} from our protocol`;
    output.value = number(chosen.value);
    words.textContent = `${encoder} on ${set.label}: ${inWords(chosen.at)}; ${moved}; `
      + `above ${below} of the other ${points.length - 1} protocols.`;
    drawCloud(points, chosen, ours, asked);
    listNear(points, asked);
    history.replaceState(null, "", `#${new URLSearchParams(new FormData(form))}`);
  }

  const first = form.elements.set.value;
  if (location.hash.includes("=")) {
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      if (form.elements[name]) form.elements[name].value = value;
    }
  }
  form.elements.set.value ||= first;  // an address may name a set that is not here
  form.addEventListener("input", draw);
  form.addEventListener("submit", event => event.preventDefault());
  document.getElementById("dial-house").addEventListener("click", () => choose(house));
  addEventListener("resize", draw);
  draw();
})();
