/* The playground's page: loads the encoders when asked to, then follows what is typed. Works with the keyboard alone. */
"use strict";

(() => {
  const home = document.currentScript.src.replace(/[^/]*$/, "");
  const root = document.getElementById("pg");
  if (!root) return;
  const {tokens, cosine, contributions} = sentbookPlayground;
  const state = {first: "a dog bites a man", second: "a man bites a dog", chosen: "CSE", near: new Map(), turn: 0};

  function make(tag, options = {}, ...children) {
    const {class: name, text, ...rest} = options, node = document.createElement(tag);
    if (name) node.className = name;
    if (text !== undefined) node.textContent = text;
    for (const [key, value] of Object.entries(rest)) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value); else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  }

  const number = (value, sign) => {
    const said = value.toFixed(2).replace(/^-(?=0\.00$)/, "");
    return `${sign && !said.startsWith("-") ? "+" : ""}${said}`.replace("-", "−");
  };

  /* -- loading ---------------------------------------------------------------------------------------------------- */

  const fallback = root.querySelector(".pg-static"), size = fallback?.dataset.size;
  const button = make("button", {type: "button", class: "pg-load", text: `Load the encoders (${size})`});
  const status = make("p", {class: "pg-status", role: "status"});
  button.addEventListener("click", () => {
    button.disabled = true;
    status.textContent = "Loading …";
    const script = make("script", {src: `${home}data.js`});
    script.onload = () => { button.remove(); status.textContent = ""; begin(); };
    script.onerror = () => { button.disabled = false; status.textContent = "The file of the encoders could not be read."; };
    document.head.append(script);
  });
  root.prepend(button, status);
  try {
    const given = new URLSearchParams(location.hash.slice(1));
    if (given.has("a") && given.has("b")) {
      [state.first, state.second, state.chosen] = [given.get("a"), given.get("b"), given.get("e") || "CSE"];
      button.click();
    }
  } catch { /* an address that is none of ours */ }

  /* -- the page --------------------------------------------------------------------------------------------------- */

  const view = {};

  function begin() {
    const data = sentbookPlayground.data;
    if (!data.encoders.some(model => model.name === state.chosen)) state.chosen = data.encoders[0].name;
    fallback?.setAttribute("hidden", "");
    const field = (name, words) => {
      view[name] = make("input", {
        id: `pg-${name}`, type: "text", value: state[name], spellcheck: "false", autocomplete: "off", maxlength: "300",
        oninput: event => { state[name] = event.target.value; later(); },
      });
      return make("div", {class: "pg-field"}, make("label", {for: `pg-${name}`, text: words}), view[name]);
    };
    const put = (first, second) => {
      [state.first, state.second] = [view.first.value, view.second.value] = [first, second];
      show();
    };
    const examples = data.examples.map(([first, second]) =>
      make("button", {type: "button", text: `${first} / ${second}`, onclick: () => put(first, second)}));
    const shuffle = make("button", {type: "button", text: "Second = first, its middle shuffled", onclick: () => {
      const said = tokens(state.first), middle = said.slice(2, -2);
      for (let at = middle.length - 1; at > 0; at--) {
        const other = Math.floor(Math.random() * (at + 1));
        [middle[at], middle[other]] = [middle[other], middle[at]];
      }
      put(state.first, [...said.slice(0, 2), ...middle, ...said.slice(Math.max(2, said.length - 2))].join(" "));
    }});
    view.scores = make("tbody");
    view.words = make("div", {class: "pg-words"});
    view.near = make("div", {class: "pg-near"});
    view.spoken = make("p", {class: "pg-spoken", role: "status"});
    view.heading = make("h3", {text: "Words"});
    data.encoders.forEach(model => view.scores.append(row(model)));
    root.append(
      field("first", "First sentence"), field("second", "Second sentence"),
      make("div", {class: "pg-examples", role: "group", "aria-label": "Examples"}, ...examples, shuffle),
      make("table", {class: "pg-scores"},
        make("caption", {text: "Similarity: the cosine of the two vectors. Choose an encoder to look into."}), view.scores),
      view.spoken, view.heading, view.words, make("h3", {text: "Nearest sentences of the mini-world"}), view.near,
      sizes(data));
    show();
    view.first.focus();
  }

  function row(model) {
    const radio = make("input", {type: "radio", name: "pg-encoder", id: `pg-${model.name}`, value: model.name});
    radio.checked = model.name === state.chosen;
    radio.addEventListener("change", () => { state.chosen = model.name; show(); });
    const bar = make("span", {class: "pg-bar"}), value = make("td", {class: "pg-value"});
    view[model.name] = {bar, value};
    return make("tr", {},
      make("th", {scope: "row"}, make("label", {for: `pg-${model.name}`}, radio, ` ${model.name}`)),
      make("td", {class: "pg-track"}, bar), value);
  }

  function sizes(data) {
    const lines = data.encoders.map(model => make("li", {text:
      `${model.name}: ${model.dimension} numbers a sentence; 8 bits change a cosine by ${model.largest.toFixed(4)} at most.`}));
    return make("details", {class: "pg-sizes"}, make("summary", {text: "How large they are, and what 8 bits change"}),
      make("p", {text: `${data.words.length.toLocaleString("en")} words.`}), make("ul", {}, ...lines));
  }

  /* -- what is typed ---------------------------------------------------------------------------------------------- */

  let timer = 0;
  function later() {
    clearTimeout(timer);
    timer = setTimeout(show, 150);
  }

  function show() {
    const data = sentbookPlayground.data, sides = [tokens(state.first), tokens(state.second)];
    const turn = ++state.turn, said = [];
    for (const model of data.encoders) {
      const value = cosine(model.encode(sides[0]), model.encode(sides[1])), {bar, value: cell} = view[model.name];
      bar.style.width = `${100 * Math.max(0, Math.min(1, value))}%`;
      cell.textContent = number(value);
      said.push(`${model.name} ${number(value)}`);
    }
    const model = data.encoders.find(one => one.name === state.chosen);
    view.spoken.textContent = sides.every(side => side.length) ? "" : "Type a word into each field.";
    view.heading.textContent = `Words: what each adds to the cosine of ${model.name}`;
    view.words.replaceChildren(...sides.map((side, at) => chips(model, data, side, sides[1 - at])));
    const query = new URLSearchParams({a: state.first, b: state.second, e: state.chosen});
    history.replaceState(null, "", `#${query}`);
    neighbours(model, data, turn).then(vectors => vectors && view.near.replaceChildren(...sides.map(side => nearest(
      side, vectors.map(({text, vector}) => ({text, value: cosine(model.encode(side), vector)}))))));
  }

  function chips(model, data, side, other) {
    const values = contributions(model, side, other), largest = Math.max(0.02, ...values.map(Math.abs));
    return make("p", {class: "pg-line"}, ...side.map((word, at) => {
      const unknown = !data.known(word), kind = unknown ? "pg-unknown" : values[at] < 0 ? "pg-minus" : "pg-plus";
      const chip = make("span", {class: `pg-word ${kind}`}, make("span", {text: word}),
        make("small", {text: unknown ? "unknown" : number(values[at], true)}));
      chip.style.setProperty("--pg-share", `${Math.round(60 * Math.abs(values[at]) / largest)}%`);
      return chip;
    }));
  }

  /* The mini-world's sentences under one encoder, once; in pieces, so that typing is not held up. */
  async function neighbours(model, data, turn) {
    if (!state.near.has(model.name)) {
      const found = [];
      for (const text of data.sentences) {
        found.push({text, vector: model.encode(tokens(text))});
        if (found.length % 10 === 0) await new Promise(go => setTimeout(go));
        if (turn !== state.turn && !state.near.has(model.name)) return null;
      }
      state.near.set(model.name, found);
    }
    return turn === state.turn ? state.near.get(model.name) : null;
  }

  function nearest(side, scored) {
    const best = scored.sort((one, other) => other.value - one.value).slice(0, 5);
    const items = best.map(({text, value}) => make("li", {},
      make("button", {type: "button", text, title: "Make it the second sentence", onclick: () => {
        state.second = view.second.value = text;
        view.second.focus();
        show();
      }}), make("span", {class: "pg-value", text: number(value)})));
    return make("div", {}, make("p", {text: `to “${side.join(" ")}”`}), make("ol", {}, ...items));
  }
})();
