// Reduce, group and format a data set of readings; percentiles; text histogram; moving averages; sparklines.
const readings = Array.from({ length: 48 }, (_, i) => ({ station: ['A', 'B', 'C'][i % 3], hour: i % 24, temp: Math.round((12 + 8 * Math.sin((i / 24) * 2 * Math.PI) + (i % 5)) * 10) / 10, rain: i % 7 === 0 ? i % 4 : 0 }));
const sum = (xs) => xs.reduce((a, b) => a + b, 0), mean = (xs) => sum(xs) / xs.length;
const quantile = (xs, q) => { const s = [...xs].sort((a, b) => a - b), p = (s.length - 1) * q, lo = Math.floor(p); return s[lo] + (s[Math.min(lo + 1, s.length - 1)] - s[lo]) * (p - lo); };
const by = {};
for (const r of readings) (by[r.station] ||= []).push(r);
for (const [station, rs] of Object.entries(by)) {
  const temps = rs.map((r) => r.temp);
  console.log(`${station}: n=${rs.length} mean=${mean(temps).toFixed(2)} min=${Math.min(...temps)} max=${Math.max(...temps)} p90=${quantile(temps, 0.9).toFixed(2)} rain=${sum(rs.map((r) => r.rain))}`);
}
const temps = readings.map((r) => r.temp);
const spark = (xs) => { const [lo, hi] = [Math.min(...xs), Math.max(...xs)]; return xs.map((x) => '▁▂▃▄▅▆▇█'[Math.round(((x - lo) / (hi - lo)) * 7)]).join(''); };
console.log(spark(temps));
const moving = temps.map((_, i) => mean(temps.slice(Math.max(0, i - 4), i + 1)));
console.log(spark(moving), moving.slice(-3).map((x) => x.toFixed(3)));
const bins = new Map();
for (const t of temps) { const b = Math.floor(t / 4) * 4; bins.set(b, (bins.get(b) ?? 0) + 1); }
for (const [b, n] of [...bins].sort((x, y) => x[0] - y[0])) console.log(`${String(b).padStart(3)}..${String(b + 4).padEnd(3)} ${'#'.repeat(n)} ${n}`);
const variance = mean(temps.map((t) => (t - mean(temps)) ** 2));
console.log(variance.toFixed(4), Math.sqrt(variance).toFixed(4), quantile(temps, 0.5));
const [hottest, ...rest] = [...readings].sort((a, b) => b.temp - a.temp || a.hour - b.hour);
console.log(hottest, rest.length, readings.filter((r) => r.rain > 0).map((r) => r.hour), readings.some((r) => r.temp > 25), readings.every((r) => r.temp > 0));
const matrix = Object.fromEntries(Object.keys(by).map((s) => [s, Object.fromEntries(by[s].slice(0, 3).map((r) => [`h${r.hour}`, r.temp]))]));
console.table(matrix);
console.log(JSON.stringify(matrix), Object.keys(matrix).length);
console.table([['a', 1], ['b', 2]]); console.table([{ x: 1, y: { z: 1 } }, { x: 'text' }], ['x']); console.table(5);
