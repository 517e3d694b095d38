// Dates, ISO strings, arithmetic, formatting in UTC, relative ages.
const d = new Date(Date.UTC(2024, 1, 29, 13, 45, 30, 123));
console.log(d.toISOString(), d.getTime(), d.getUTCDay(), JSON.stringify({ d }));
const addDays = (x, n) => new Date(x.getTime() + n * 864e5);
const addMonths = (x, n) => { const y = new Date(x); y.setUTCMonth(y.getUTCMonth() + n); return y; };
console.log(addDays(d, 1).toISOString().slice(0, 10), addMonths(d, 12).toISOString().slice(0, 10), addMonths(new Date('2024-01-31'), 1).toISOString().slice(0, 10));
console.log(new Date('2024-03-10T10:00:00+05:30').toISOString(), new Date('2024-03-10').getTime(), Date.parse('not a date'), new Date(NaN).getTime());
try { new Date(NaN).toISOString(); } catch (e) { console.log(e.name, e.message); }
const fmt = new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', weekday: 'short', year: 'numeric', month: 'long', day: 'numeric', hour: '2-digit', minute: '2-digit' });
console.log(fmt.format(d));
console.log(d.toLocaleDateString('en-US', { timeZone: 'UTC' }), d.toLocaleTimeString('en-US', { timeZone: 'UTC' }), d.toUTCString());
console.log(d.toLocaleDateString('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short', year: 'numeric' }), d.toLocaleDateString('de-DE', { timeZone: 'UTC' }));
console.log(new Intl.DateTimeFormat('en-US', { timeZone: 'America/New_York', dateStyle: 'medium', timeStyle: 'short' }).format(d));
const units = [['year', 31536e6], ['month', 2592e6], ['day', 864e5], ['hour', 36e5], ['minute', 6e4]];
const ago = (ms) => { for (const [name, size] of units) if (ms >= size) { const n = Math.floor(ms / size); return `${n} ${name}${n > 1 ? 's' : ''} ago`; } return 'just now'; };
console.log([5e3, 7e4, 36e5 * 5, 864e5 * 45, 31536e6 * 3].map(ago));
console.log(new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(-1, 'day'), new Intl.PluralRules('en', { type: 'ordinal' }).select(3), new Intl.ListFormat('en', { type: 'conjunction' }).format(['a', 'b', 'c']));
const cal = (y, m) => {
  const first = new Date(Date.UTC(y, m, 1)).getUTCDay(), days = new Date(Date.UTC(y, m + 1, 0)).getUTCDate();
  const cells = [...Array(first).fill('  '), ...Array.from({ length: days }, (_, i) => String(i + 1).padStart(2))];
  let out = 'Su Mo Tu We Th Fr Sa\n';
  for (let i = 0; i < cells.length; i += 7) out += cells.slice(i, i + 7).join(' ') + '\n';
  return out;
};
console.log(cal(2024, 1));
console.log(Math.round((Date.UTC(2024, 11, 25) - Date.UTC(2024, 0, 1)) / 864e5), new Date(2024, 0, 1) < new Date(2024, 0, 2), new Date(0).valueOf());
console.log((1234.5).toLocaleString(), (0.256).toLocaleString('en-US', { style: 'percent' }), (1e6).toLocaleString('de-DE'), (12345.678).toLocaleString('en-US', { style: 'currency', currency: 'EUR' }));
