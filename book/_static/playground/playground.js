/* The playground's page: loads the encoders on a click, then follows what is typed. */
"use strict";

(() => {
  const form = document.getElementById("pg-form"), home = document.currentScript.src.replace(/[^/]*$/, "");
  const {tokens, cosine, contributions} = sentbookPlayground;
  const load = document.getElementById("pg-load"), status = document.getElementById("pg-status");
  const body = form.querySelector("tbody"), words = document.getElementById("pg-words");
  const {a: first, b: second} = form.elements;

  const number = (value, signed) => {
    const text = Math.abs(value).toFixed(2);
    return (text === "0.00" ? "" : value < 0 ? "\u2212" : signed ? "+" : "") + text;
  };

  function make(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function start() {
    document.getElementById("pg-table").hidden = true;
    load.hidden = true;
    form.hidden = false;
    for (const {name} of sentbookPlayground.data.encoders) {
      const radio = make("input", {type: "radio", name: "e", value: name});
      radio.checked = name === "CSE";
      body.append(make("tr", {}, make("th", {scope: "row"}, make("label", {}, radio, ` ${name}`)),
        make("td", {}, make("meter", {min: 0, max: 1, "aria-label": name})), make("td", {}, make("output", {}))));
    }
    const given = new URLSearchParams(location.hash.slice(1));
    for (const name of ["a", "b", "e"]) if (given.has(name)) form.elements[name].value = given.get(name);
    show();
    first.focus();
  }

  function show() {
    const data = sentbookPlayground.data, sides = [tokens(first.value), tokens(second.value)];
    const both = sides.every(side => side.length);
    status.textContent = both ? "" : "Type a word into each field.";
    data.encoders.forEach((model, at) => {
      const value = both ? cosine(model.encode(sides[0]), model.encode(sides[1])) : 0;
      body.rows[at].querySelector("meter").value = value;
      body.rows[at].querySelector("output").value = both ? number(value) : "\u2013";
    });
    const model = data.encoders.find(one => one.name === form.elements.e.value);
    words.replaceChildren(make("h3", {}, `What each word adds to the cosine of ${model.name}`),
      ...sides.map((side, at) => chips(model, data, side, sides[1 - at])));
    history.replaceState(null, "", `#${new URLSearchParams(new FormData(form))}`);
  }

  function chips(model, data, side, other) {
    const values = other.length ? contributions(model, side, other) : side.map(() => 0);
    const largest = Math.max(0.02, ...values.map(Math.abs));
    return make("p", {}, ...side.map((word, at) => {
      const known = data.known(word), kind = known ? values[at] < 0 ? "sb-minus" : "sb-plus" : "sb-unknown";
      const adds = make("small", {}, known ? number(values[at], true) : "unknown");
      const chip = make("span", {class: `sb-word ${kind}`}, word, adds);
      chip.style.setProperty("--share", `${Math.round(60 * Math.abs(values[at]) / largest)}%`);
      return chip;
    }));
  }

  function shuffled(text) {
    const said = tokens(text), middle = said.slice(2, -2);
    for (let at = middle.length - 1; at > 0; at--) {
      const other = Math.floor(Math.random() * (at + 1));
      [middle[at], middle[other]] = [middle[other], middle[at]];
    }
    return [...said.slice(0, 2), ...middle, ...said.slice(Math.max(2, said.length - 2))].join(" ");
  }

  load.addEventListener("click", () => {
    load.disabled = true;
    status.textContent = "Loading …";
    const script = make("script", {src: `${home}data.js`});
    script.onload = start;
    script.onerror = () => {
      load.disabled = false;
      status.textContent = "The file with the encoders could not be read.";
    };
    document.head.append(script);
  });
  form.addEventListener("input", show);
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("click", event => {
    const example = event.target.closest("[data-a]");
    if (example) [first.value, second.value] = [example.dataset.a, example.dataset.b];
    else if (event.target.id === "pg-shuffle") second.value = shuffled(first.value);
    else return;
    show();
  });
  if (new URLSearchParams(location.hash.slice(1)).has("a")) load.click();
})();
