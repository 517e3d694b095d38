// args: --top=3 --min 3 words
// Count words from standard input, with a hand-written option parser and process.exit.
const args = process.argv.slice(2);
const options = { top: 5, min: 1, rest: [] };
for (let i = 0; i < args.length; i++) {
  const m = /^--(\w+)(?:=(.*))?$/.exec(args[i]);
  if (!m) options.rest.push(args[i]);
  else if (!(m[1] in options)) { console.error('unknown option', m[1]); process.exit(2); }
  else options[m[1]] = Number(m[2] ?? args[++i]);
}
console.log(options);
let text = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => { text += chunk; });
process.stdin.on('end', () => {
  const words = text.toLowerCase().match(/\p{L}+(?:'\p{L}+)?/gu) ?? [];
  const counts = Object.entries(Object.groupBy ? words.reduce((a, w) => ({ ...a, [w]: (a[w] ?? 0) + 1 }), {}) : words.reduce((a, w) => ({ ...a, [w]: (a[w] ?? 0) + 1 }), {}));
  counts.filter(([w]) => w.length >= options.min).sort(([a, x], [b, y]) => y - x || a.localeCompare(b)).slice(0, options.top)
    .forEach(([w, n], i) => console.log(`${i + 1}. ${w.padEnd(10, '.')}${n}`));
  console.log(text.split('\n').length - 1, 'lines', words.length, 'words', [...text].length, 'chars', Buffer.byteLength(text), 'bytes');
  process.stdout.write('no newline at the end');
  process.on('exit', (code) => process.stdout.write(` [exit ${code}]\n`));
  process.exit(words.length > 100 ? 1 : 3);
});
