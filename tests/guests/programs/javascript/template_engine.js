// A template engine with loops, conditionals, filters and escaping, compiled with new Function; a markdown to text converter.
function compile(template) {
  const code = ['const out = []; with (scope) {'];
  const re = /\{\{\s*(.+?)\s*\}\}|\{%\s*(\w+)\s*(.*?)\s*%\}/gs;
  let last = 0;
  const text = (s) => s && code.push(`out.push(${JSON.stringify(s)});`);
  for (const m of template.matchAll(re)) {
    text(template.slice(last, m.index));
    last = m.index + m[0].length;
    if (m[1]) {
      const [expr, ...filters] = m[1].split('|').map((s) => s.trim());
      code.push(`out.push(escape(${filters.reduce((e, f) => `filters.${f}(${e})`, expr)}));`);
    } else if (m[2] === 'for') { const [v, , ...list] = m[3].split(/\s+/); code.push(`for (const ${v} of ${list.join(' ')}) {`); }
    else if (m[2] === 'if') code.push(`if (${m[3]}) {`);
    else if (m[2] === 'else') code.push('} else {');
    else if (m[2].startsWith('end')) code.push('}');
    else throw new SyntaxError(`unknown tag ${m[2]}`);
  }
  text(template.slice(last));
  code.push("} return out.join('');");
  const f = new Function('scope', 'filters', 'escape', code.join('\n'));
  return (scope) => f(scope, filters, (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`));
}
const filters = { upper: (s) => s.toUpperCase(), money: (n) => `$${n.toFixed(2)}`, join: (a) => a.join(', '), title: (s) => s.replace(/\b\w/g, (c) => c.toUpperCase()) };
const render = compile(`Dear {{ name | title }},
{% if items.length %}You bought:
{% for i in items %} - {{ i.name }} for {{ i.price | money }}{% if i.tags %} [{{ i.tags | join }}]{% endif %}
{% endfor %}Total {{ items.reduce((s, i) => s + i.price, 0) | money }}{% else %}Nothing.{% endif %}
`);
console.log(render({ name: 'ann smith', items: [{ name: 'Tea <hot>', price: 3.5, tags: ['a', 'b'] }, { name: '"Cake"', price: 4 }] }));
console.log(render({ name: 'bob', items: [] }));
try { compile('{% frobnicate %}'); } catch (e) { console.log(e.name, e.message); }
try { render({ name: 'x' }); } catch (e) { console.log(e.name, e.message); }
const plural = (strings, ...values) => strings.reduce((s, t, i) => s + t + (i < values.length ? (typeof values[i] === 'number' ? `${values[i]} item${values[i] === 1 ? '' : 's'}` : values[i]) : ''), '');
console.log(plural`${'Ann'} has ${1} and ${'Bob'} has ${3}`);
console.log(String.raw`C:\new\table ${1 + 1}`, `multi
line`, 'abc'.replaceAll('b', '$&$&'), 'aXbX'.replace(/X/g, (m, off) => off), 'x-y_z'.split(/[-_]/), 'ab'.padStart(5, '12'), 'trim me '.trimEnd() + '|', 'abc'.at(-1), 'a\u0301'.normalize('NFC').length);
console.log([...'a1b22c333'.matchAll(/([a-z])(\d+)/g)].map(({ 1: l, 2: d, index }) => [l, d, index]), '2024-05-06'.match(/(?<y>\d+)-(?<m>\d+)/).groups.y, /(?<=\$)\d+/.exec('cost $42')[0], 'aaa'.lastIndexOf('a'), 'x'.codePointAt(0), '😀'.length, 'I'.localeCompare('i'), 'camelCaseString'.replace(/([A-Z])/g, ' $1').toLowerCase());
