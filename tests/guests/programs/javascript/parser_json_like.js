// A recursive descent parser for a relaxed JSON with comments, trailing commas and error positions.
class ParseError extends Error {
  constructor(message, text, pos) {
    const before = text.slice(0, pos).split('\n');
    super(`${message} at ${before.length}:${before.at(-1).length + 1}`);
    this.name = 'ParseError';
  }
}
function parse(text) {
  let i = 0;
  const fail = (m) => { throw new ParseError(m, text, i); };
  const skip = () => { const m = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y; m.lastIndex = i; m.exec(text); i = m.lastIndex; };
  const eat = (c) => { skip(); if (text[i] === c) { i++; return true; } return false; };
  const sticky = (re) => { const r = new RegExp(re, 'y'); r.lastIndex = i; const m = r.exec(text); if (m) i = r.lastIndex; return m?.[0]; };
  function value() {
    skip();
    const c = text[i];
    if (c === '{') return object();
    if (c === '[') return array();
    if (c === '"' || c === "'") return string(c);
    const num = sticky('-?(?:0x[0-9a-f]+|\\d+\\.?\\d*(?:e[+-]?\\d+)?)');
    if (num !== undefined) return Number(num);
    const word = sticky('[a-z]+');
    if (word === undefined) fail(i >= text.length ? 'unexpected end' : `unexpected ${JSON.stringify(c)}`);
    if (!(word in { true: 1, false: 1, null: 1 })) { i -= word.length; fail(`unknown word ${word}`); }
    return { true: true, false: false, null: null }[word];
  }
  function string(q) {
    let out = '';
    for (i++; text[i] !== q; i++) {
      if (i >= text.length) fail('unterminated string');
      if (text[i] === '\\') {
        i++;
        if (text[i] === 'u') { out += String.fromCharCode(parseInt(text.substr(i + 1, 4), 16)); i += 4; } else out += { n: '\n', t: '\t' }[text[i]] ?? text[i];
      } else out += text[i];
    }
    i++;
    return out;
  }
  function array() {
    const out = [];
    i++;
    while (!eat(']')) { out.push(value()); if (!eat(',') && (skip(), text[i] !== ']')) fail('expected , or ]'); }
    return out;
  }
  function object() {
    const out = {};
    i++;
    while (!eat('}')) {
      skip();
      const key = text[i] === '"' || text[i] === "'" ? string(text[i]) : sticky('[A-Za-z_$][\\w$]*') ?? fail('expected a key');
      if (!eat(':')) fail('expected :');
      out[key] = value();
      if (!eat(',') && (skip(), text[i] !== '}')) fail('expected , or }');
    }
    return out;
  }
  const v = value();
  skip();
  if (i < text.length) fail('trailing text');
  return v;
}
console.log(parse(`{ // settings
  name: 'demo', "list": [1, 2.5, -3e2, 0xff,], /* c */ nested: {a: null, b: true,},
  text: "line\\nbreak \\u2603",
}`));
for (const bad of ['{a 1}', '[1, 2', '{"x": tru}', "'open", '[1] 2', '{\n  a: 1\n  b: 2\n}', '']) {
  try { console.log(parse(bad)); } catch (e) { console.log(`${e.name}: ${e.message}`, e instanceof ParseError, e instanceof Error); }
}
