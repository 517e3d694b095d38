// args: report.txt
// Read a file given as an argument (written first), count, index, wrap, diff two versions line by line.
const fs = require('fs');
const name = process.argv[2] ?? 'none';
fs.writeFileSync(name, 'alpha beta gamma\nbeta delta\n\nepsilon alpha Alpha\n');
const text = fs.readFileSync(name, 'utf8');
const lines = text.split('\n');
console.log(lines.length - 1, text.split(/\s+/).filter(Boolean).length, text.length);
const index = {};
lines.forEach((l, i) => l.toLowerCase().split(/\W+/).filter(Boolean).forEach((w) => (index[w] ??= new Set()).add(i + 1)));
for (const w of Object.keys(index).sort()) console.log(w.padEnd(8), [...index[w]].join(','));
function diff(a, b) {
  const t = Array.from({ length: a.length + 1 }, () => Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) t[i][j] = a[i] === b[j] ? t[i + 1][j + 1] + 1 : Math.max(t[i + 1][j], t[i][j + 1]);
  const out = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { out.push(`  ${a[i]}`); i++; j++; } else if (j < b.length && (i === a.length || t[i][j + 1] > t[i + 1][j])) out.push(`+ ${b[j++]}`);
    else out.push(`- ${a[i++]}`);
  }
  return out;
}
console.log(diff(['a', 'b', 'c', 'd'], ['a', 'x', 'c', 'd', 'e']).join('\n'));
const wrap = (s, n) => s.replace(new RegExp(`(?![^\\n]{1,${n}}$)([^\\n]{1,${n}})\\s`, 'g'), '$1\n');
console.log(wrap('The quick brown fox jumps over the lazy dog', 15));
const slug = (s) => s.normalize('NFD').replace(/[\u0300-\u036f]/g, '').toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
console.log(slug('  Crème Brûlée & Co. — 100% '), 'title case here'.replace(/\b\w/g, (c) => c.toUpperCase()), [...'hello'].reverse().join(''), 'a-b-c'.split('-', 2), 'x'.concat('y', 1));
const levenshtein = (a, b) => { const d = Array.from({ length: a.length + 1 }, (_, i) => [i, ...Array(b.length).fill(0)]); for (let j = 1; j <= b.length; j++) d[0][j] = j; for (let i = 1; i <= a.length; i++) for (let j = 1; j <= b.length; j++) d[i][j] = Math.min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] !== b[j - 1])); return d[a.length][b.length]; };
console.log(levenshtein('kitten', 'sitting'), ['apple', 'aple', 'maple', 'ample'].map((w) => [w, levenshtein('appel', w)]));
console.log('a,b;c d'.split(/[,; ]/), 'one  two'.split(' '), 'abc'.split(''), '2024-01-02T03:04'.match(/\d+/g).map(Number), 'x=1&y=2'.split('&').map((p) => p.split('=')), /^[\w.]+@[\w.]+\.\w+$/.test('a.b@c.de'), 'aaa'.replace('a', 'b'), 'tEST'.charAt(0).toUpperCase() + 'tEST'.slice(1).toLowerCase(), 'abc'.substring(2, 0), 'abc'.substr(-2, 1), 'abc'.slice(-2), 'ab'.codePointAt(1), String.fromCodePoint(128512), 'z'.localeCompare('a'), '  x '.trim().length, 'abcabc'.indexOf('c', 3), 'abc'.search(/[bc]/), isNaN('x'), 'ß'.toUpperCase(), 'İ'.toLowerCase().length);
const rx = /(\d{3})-(\d{4})/g;
let mm; while ((mm = rx.exec('555-1234 and 999-0000'))) console.log(mm[0], mm.index, rx.lastIndex);
process.stdout.write(`${name} done\n`);
