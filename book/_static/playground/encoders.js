/* The arithmetic of the playground: tokens, four encoders, cosines. A test compares it with the package. */
"use strict";

var sentbookPlayground = (() => {
  const QUOTES = {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-"};
  // sentbook.data.text.tokenise_ptb
  const TOKENS = new RegExp([
    "\\.\\.\\.", "--+", "[a-z]+(?=n't(?![\\p{L}\\p{N}_]))", "n't(?![\\p{L}\\p{N}_])",
    "'(?:s|m|d|ll|re|ve)(?![\\p{L}\\p{N}_])", "\\p{Nd}+(?:[.,:/]\\p{Nd}+)*", "(?:[a-z]\\.){2,}",
    "\\p{L}+(?:-[\\p{L}\\p{N}]+)*(?:_[\\p{L}\\p{N}]+)*", "[#@][\\p{L}\\p{N}_]+", "[\\p{L}\\p{N}_]+",
    "[^\\p{L}\\p{N}_\\s]",
  ].join("|"), "gu");

  const tokens = text => text.replace(/[’‘“”–—]/g, mark => QUOTES[mark]).toLowerCase().match(TOKENS) || [];

  function dot(a, at, b, from, size) {
    let sum = 0;
    for (let i = 0; i < size; i++) sum += a[at + i] * b[from + i];
    return sum;
  }

  function cosine(one, other) {
    const size = one.length, length = Math.sqrt(dot(one, 0, one, 0, size) * dot(other, 0, other, 0, size));
    return length ? dot(one, 0, other, 0, size) / length : 0;
  }

  /* The features of one width: every filter on every window, rows one behind the other; `use` takes each. */
  function windows(words, depth, filters, bias, use) {
    const height = filters.columns / depth, count = Math.max(words.length, height) - height + 1;
    const line = new Float32Array(Math.max(words.length, height) * depth);  // a short sentence is padded to one window
    words.forEach((word, at) => line.set(word, at * depth));
    for (let at = 0; at < count; at++) {
      for (let f = 0; f < filters.rows; f++) {
        const value = dot(line, at * depth, filters.values, f * filters.columns, filters.columns);
        use(f, value + (bias ? bias[f] : 0), count);
      }
    }
  }

  const KINDS = {
    average(model, words) {
      const found = new Float64Array(model.words.columns);
      for (const word of words) word.forEach((value, i) => { found[i] += value / words.length; });
      return found;
    },
    cse(model, words) {
      const {activation, pooling} = model.options;
      const activate = activation === "tanh" ? Math.tanh : value => value;
      return joined(model, filters => new Float64Array(filters.rows), (found, f, value, count) => {
        found[f] += activate(value) / (pooling === "mean" ? count : 1);
      }, words);
    },
    cnn(model, words) {
      return joined(model, filters => new Float64Array(filters.rows).fill(-1), (found, f, value) => {
        found[f] = Math.max(found[f], Math.tanh(value));
      }, words);
    },
    /* Cell (i, j) of the convolved map is a sum over the nine taps of what row i + a and column j + b give. */
    wsv(model, words) {
      const taps = model.filters[0], size = taps.rows / 9, n = words.length, [row, column] = model.weights;
      const products = words.map(word => {
        const found = new Float64Array(taps.rows);
        for (let r = 0; r < taps.rows; r++) found[r] = dot(word, 0, taps.values, r * taps.columns, taps.columns);
        return found;
      });
      const best = Array.from({length: size}, () => []), k = Math.min(model.options.k, n * n);
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) {
          const cell = new Float64Array(size);
          for (let a = -1; a <= 1; a++) {
            for (let b = -1; b <= 1; b++) {
              if (!(i + a in products && j + b in products)) continue;
              const from = ((a + 1) * 3 + b + 1) * size, left = products[i + a], right = products[j + b];
              for (let f = 0; f < size; f++) cell[f] += row * left[from + f] + column * right[from + f];
            }
          }
          best.forEach((top, f) => {
            const value = Math.max(0, cell[f]);
            if (top.length < k) top.push(value); else if (value > top[0]) top[0] = value; else return;
            top.sort((x, y) => x - y);
          });
        }
      }
      return Float64Array.from(best, top => top.reduce((sum, value) => sum + value, 0) / k);
    },
  };

  function joined(model, begin, take, words) {
    const parts = model.filters.map((filters, at) => {
      const found = begin(filters);
      windows(words, model.words.columns, filters, model.biases[at], (f, value, count) => take(found, f, value, count));
      return [...found];
    });
    return Float64Array.from(parts.flat());
  }

  /* The matrices of data.js: 8-bit integers times one scale per row. */
  function unpack(header, text) {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at);
    const scales = new Float32Array(bytes.buffer, 0, header.scales);
    const numbers = new Int8Array(bytes.buffer, 4 * header.scales);
    const matrix = place => {
      const values = new Float32Array(place.rows * place.columns);
      for (let r = 0; r < place.rows; r++) {
        for (let c = r * place.columns; c < (r + 1) * place.columns; c++) {
          values[c] = numbers[place.number + c] * scales[place.scale + r];
        }
      }
      return {...place, values};
    };
    const ids = new Map(header.words.map((word, at) => [word, at + 1]));  // 0 is the unknown word
    const id = word => ids.get(word) ?? (word.startsWith("#") ? ids.get(word.slice(1)) : undefined) ?? 0;
    const encoders = header.encoders.map(made => {
      const filters = Object.keys(made.parts).filter(part => part !== "words").map(part => matrix(made.parts[part]));
      const model = {...made, words: matrix(made.parts.words), filters};
      const width = model.words.columns;
      const vector = word => model.words.values.subarray(id(word) * width, (id(word) + 1) * width);
      /* The vector of a sentence's tokens; of none at all a vector of zeros. */
      model.encode = said => said.length ? KINDS[made.kind](model, said.map(vector)) : new Float64Array(made.dimension);
      return model;
    });
    return {...header, encoders, known: word => id(word) > 0};
  }

  /* How much nearer each token of `said` brings the cosine to `other`: with it, minus without it. */
  function contributions(model, said, other) {
    const target = model.encode(other), whole = cosine(model.encode(said), target);
    return said.map((_, at) => whole - cosine(model.encode(said.filter((_, place) => place !== at)), target));
  }

  return {tokens, cosine, unpack, contributions, take(header, text) { this.data = unpack(header, text); }};
})();
