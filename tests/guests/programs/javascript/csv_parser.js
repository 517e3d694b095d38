// A CSV parser with quotes and newlines, typed columns, group by, and a table printer.
function parseCsv(text) {
  const rows = [];
  let row = [], cell = '', quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c === '"' && text[i + 1] === '"') { cell += '"'; i++; }
      else if (c === '"') quoted = false;
      else cell += c;
    } else if (c === '"') quoted = true;
    else if (c === ',') { row.push(cell); cell = ''; }
    else if (c === '\n') { row.push(cell); rows.push(row); row = []; cell = ''; }
    else if (c !== '\r') cell += c;
  }
  if (cell || row.length) { row.push(cell); rows.push(row); }
  const [head, ...body] = rows;
  return body.map((r) => Object.fromEntries(head.map((h, i) => [h, /^-?\d+(\.\d+)?$/.test(r[i]) ? Number(r[i]) : r[i]])));
}

const text = `name,dept,salary,note
"Ann, Dr.",R&D,5200.50,"says ""hi"""
Bob,Sales,3100,"two
lines"
Cid,R&D,4800,
Dee,Sales,3900.25,ok
`;
const people = parseCsv(text);
console.log(people);
const groups = Map.groupBy ? null : null;
const byDept = people.reduce((m, p) => m.set(p.dept, [...(m.get(p.dept) ?? []), p]), new Map());
for (const [dept, members] of byDept) {
  const total = members.reduce((s, p) => s + p.salary, 0);
  console.log(dept.padEnd(8), String(members.length).padStart(3), total.toFixed(2).padStart(10), (total / members.length).toLocaleString('en-US', { maximumFractionDigits: 1 }));
}
console.table(people.map(({ name, salary }) => ({ name, salary })));
const sorted = people.toSorted ? people.toSorted((a, b) => b.salary - a.salary) : [...people].sort((a, b) => b.salary - a.salary);
console.log(sorted.map((p) => p.name).join(' > '));
console.log(people.findLast((p) => p.dept === 'R&D').name, people.at(-1).name);
console.log(new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' }).format(1234567.891));
