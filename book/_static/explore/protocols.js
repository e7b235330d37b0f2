/* The page on protocols: one encoder's number as score, measure, aggregation and tokens are chosen, among all the others. */
"use strict";

(() => {
  const {element, drawn, refill, data, number, mean, address, roving, inLine, select, radios, scale} = window.sentbook;
  const box = document.getElementById("protocol-dial");
  const {encoder, run, profile, house, fields, measures, seeds, first, sets} = data("protocols-data");
  const AGGREGATION = fields.findIndex(field => field.name === "aggregation");
  const NEAR = 0.5;  // a number printed with one decimal, and what another seed moves it
  const state = {set: first, at: [...house], near: ""};
  let view;

  const values = numbers => numbers.slice(fields.length);
  const all = () => sets[state.set].numbers.map(numbers => ({at: numbers.slice(0, fields.length), value: mean(values(numbers)), seeds: values(numbers)}));
  /** The place of a choice on a test set that has no year: no mean of sets to choose. */
  const wanted = at => at.map((place, field) => field === AGGREGATION && !sets[state.set].year ? -1 : place);
  const same = (one, other) => one.every((place, field) => place === other[field]);
  const said = at => fields.filter((_, field) => at[field] >= 0).map(field =>
    `${field.choices[at[fields.indexOf(field)]]}${field.name === "tokens" ? " tokens" : ""}`).join(", ");

  function read() {
    const asked = address.read();
    const place = sets.findIndex(one => one.name === asked.get("set"));
    state.set = place < 0 ? first : place;
    state.near = asked.get("near") || "";
    state.at = fields.map((field, at) => {
      const chosen = field.choices.indexOf(asked.get(field.name));
      return chosen < 0 ? house[at] : chosen;
    });
  }

  function set(changes) {
    Object.assign(state, changes);
    const chosen = Object.fromEntries(fields.map((field, at) => [field.name, state.at[at] === house[at] ? "" : field.choices[state.at[at]]]));
    address.write({set: state.set === first ? "" : sets[state.set].name, ...chosen, near: state.near});
    draw();
  }

  const choose = at => { set({at: at.map((place, field) => place < 0 ? state.at[field] : place)}); controls(); };

  // -- the cloud --------------------------------------------------------------------------------------------------------

  /** Dots above each other where they are near, so that none hides another. */
  function stacked(points, across, size) {
    const placed = [];
    return [...points].sort((a, b) => a.value - b.value).map(point => {
      const x = across(point.value), near = placed.filter(one => Math.abs(one.x - x) < size);
      let level = 0;
      while (near.some(one => one.level === level)) level++;
      placed.push({x, level});
      return {...point, x, level};
    });
  }

  function cloud(points, chosen, near) {
    const width = Math.max(300, Math.min(900, view.cloud.clientWidth || 700)), size = width < 500 ? 9 : 12;
    const ends = [...points.map(point => point.value), ...near === null ? [] : [near]];
    const low = Math.floor(Math.min(...ends) - 1), high = Math.ceil(Math.max(...ends) + 1);
    const across = scale(low, high, 14, width - 14), dots = stacked(points, across, size);
    const top = Math.max(...dots.map(dot => dot.level)), base = 40 + (top + 1) * size, height = base + 34;
    const y = level => base - 8 - level * size;
    const own = dots.find(dot => dot.at === chosen.at), ours = dots.find(dot => same(dot.at, wanted(house)));
    const isNear = dot => near !== null && Math.abs(dot.value - near) <= NEAR;
    const made = drawn("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `${points.length} protocols on ${sets[state.set].label}`},
      drawn("line", {x1: 10, x2: width - 10, y1: base, y2: base, class: "sb-rule"}),
      across.ticks.map(tick => [drawn("line", {x1: across(tick), x2: across(tick), y1: base, y2: base + 4, class: "sb-rule"}),
        drawn("text", {x: across(tick), y: base + 18, "text-anchor": "middle"}, number(tick, 0))]),
      near !== null && [drawn("rect", {x: across(near - NEAR), width: across(near + NEAR) - across(near - NEAR), y: 26, height: base - 26, class: "sb-near"}),
        drawn("line", {x1: across(near), x2: across(near), y1: 26, y2: base, class: "sb-asked"})],
      dots.map((dot, place) => drawn("circle", {cx: dot.x, cy: y(dot.level), r: size / 2 - 1.5, tabindex: "-1", role: "button", "data-dot": place,
        class: `sb-dot${isNear(dot) ? " sb-hit" : ""}${trained(dot) ? " sb-head" : ""}`,
        "aria-label": `${number(dot.value)}: ${said(dot.at)}`, onclick: () => choose(dot.at),
        onkeydown: event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(dot.at); view.cloud.querySelectorAll(".sb-dot")[place].focus(); } }},
        drawn("title", {}, `${number(dot.value)}: ${said(dot.at)}`))),
      ours && drawn("path", {d: `M${ours.x} ${y(ours.level) - 7}l7 7l-7 7l-7 -7z`, class: "sb-house"}),
      drawn("g", {class: "sb-marker"}, drawn("line", {x1: own.x, x2: own.x, y1: 22, y2: y(own.level)}),
        drawn("circle", {cx: own.x, cy: y(own.level), r: size / 2 + 2}),
        drawn("text", {x: Math.min(Math.max(own.x, 22), width - 22), y: 16, "text-anchor": "middle"}, number(own.value))));
    view.cloud.replaceChildren(made);
    roving(view.cloud, ".sb-dot", inLine);
  }

  const SCORE = fields.findIndex(field => field.name === "score");
  const trained = dot => fields[SCORE].choices[dot.at[SCORE]] !== fields[SCORE].choices[house[SCORE]];

  // -- words ------------------------------------------------------------------------------------------------------------

  function draw() {
    const points = all(), at = wanted(state.at);
    const chosen = points.find(point => same(point.at, at)) || points[0];
    const ours = points.find(point => same(point.at, wanted(house)));
    const typed = Number(state.near.replace(",", ".")), near = state.near.trim() && Number.isFinite(typed) ? typed : null;
    const below = points.filter(point => point.value < chosen.value).length;
    const measure = measures[chosen.at[fields.findIndex(field => field.name === "measure")]];
    const moved = chosen === ours ? "our protocol" : `${number(chosen.value - ours.value, 1, true)} from our protocol`;
    view.number.replaceChildren(element("output", {}, number(chosen.value)),
      element("span", {}, element("strong", {}, `${sets[state.set].label}: ${said(chosen.at)}`),
        element("span", {class: "sb-how"}, `${moved}; above ${below} of the other ${points.length - 1} protocols, which go from `
          + `${number(Math.min(...points.map(point => point.value)))} to ${number(Math.max(...points.map(point => point.value)))}; by training ${chosen.seeds.map(one => number(one)).join(", ")}; `,
          element("a", {href: `_runs/${run}.html#${profile}-${sets[state.set].rows[measure]}`}, "its run"))));
    cloud(points, chosen, near);
    const hits = near === null ? [] : points.map(point => ({...point, off: Math.abs(point.value - near)})).sort((a, b) => a.off - b.off);
    const close = hits.filter(hit => hit.off <= NEAR), listed = close.length ? close : hits.slice(0, 3);
    refill(view.near, ...near === null ? [] : [
      element("p", {role: "status"}, close.length
        ? `${close.length} of ${points.length} protocols give ${encoder} a number within ${NEAR} of ${number(near)}:`
        : `No protocol gives ${encoder} a number within ${NEAR} of ${number(near)}; the nearest:`),
      element("ul", {class: "sb-hits"}, listed.map(hit => element("li", {}, element("button", {type: "button", onclick: () => choose(hit.at)},
        element("strong", {}, number(hit.value)), ` ${said(hit.at)}`))))]);
  }

  function controls() {
    refill(view.controls,
      select("Test set", sets.map((one, at) => [String(at), one.label]), String(state.set), at => { set({set: Number(at)}); controls(); }),
      ...fields.map((field, at) => {
        const made = radios(field.label, `protocol-${field.name}`, field.choices.map((words, place) => [String(place), words]), String(state.at[at]),
          place => set({at: state.at.map((old, other) => other === at ? Number(place) : old)}));
        made.disabled = at === AGGREGATION && !sets[state.set].year;
        return made;
      }),
      element("label", {class: "sb-field sb-stack"}, element("span", {}, "A published number"),
        element("input", {type: "text", inputmode: "decimal", size: 6, value: state.near, placeholder: "71.2", oninput: event => set({near: event.target.value})})),
      element("button", {type: "button", onclick: () => { state.at = [...house]; set({near: ""}); controls(); }}, "Our protocol"));
  }

  const still = box.firstElementChild;
  view = {controls: element("form", {class: "sb-controls", onsubmit: event => event.preventDefault()}), number: element("p", {class: "sb-number", role: "status"}),
    cloud: element("div", {class: "sb-cloud"}), near: element("div", {})};
  read();
  box.replaceChildren(element("div", {class: "sentbook sb-explore"}, view.controls, view.number, view.cloud,
    element("p", {class: "sb-foot"}, `${encoder}, mean of ${seeds.length} trainings; every dot is the same vectors under another protocol. Filled: the cosine; hollow: a trained head; diamond: our protocol. `
      + "Another encoder has other numbers; what carries over is how far a choice can move one."), view.near),
    element("details", {}, element("summary", {}, "The same as a table"), still));
  controls();
  draw();
  addEventListener("resize", draw);
  addEventListener("hashchange", () => { if (location.hash.includes("=")) { read(); controls(); draw(); } });
})();
