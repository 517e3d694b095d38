// Word statistics over a text with Maps, Sets, comparators, regular expressions and formatting.
const TEXT = `It was the best of times, it was the worst of times,
it was the age of wisdom... it was the age of foolishness!`;
interface WordStat { readonly word: string; count: number; lines: Set<number> }
const stats = new Map<string, WordStat>();
TEXT.split('\n').forEach((line, index) => {
  for (const [word] of line.toLowerCase().matchAll(/[a-z']+/g)) {
    const stat: WordStat = stats.get(word) ?? { word, count: 0, lines: new Set() };
    stat.count++;
    stat.lines.add(index + 1);
    stats.set(word, stat);
  }
});
type Comparator<T> = (a: T, b: T) => number;
const by = <T, K extends string | number>(key: (x: T) => K, desc = false): Comparator<T> => (a, b) => { const [x, y] = [key(a), key(b)]; return (x < y ? -1 : x > y ? 1 : 0) * (desc ? -1 : 1); };
const then = <T>(...cs: Comparator<T>[]): Comparator<T> => (a, b) => cs.reduce((r, c) => r || c(a, b), 0);
const top = [...stats.values()].sort(then(by((s) => s.count, true), by((s) => s.word))).slice(0, 5);
for (const { word, count, lines } of top) console.log(`${word.padEnd(6)} ${'#'.repeat(count).padEnd(5)} lines ${[...lines].join(',')}`);
const sentences = TEXT.split(/[.!?]+\s*/).filter(Boolean);
console.log(sentences.length, sentences.map((s) => s.split(/\s+/).length));
const acronym = (s: string): string => s.replace(/\b(\w)\w*\W*/g, '$1').toUpperCase();
console.log(acronym('portable network graphics'), 'snake_case_here'.replace(/_(\w)/g, (_, c: string) => c.toUpperCase()), 'dromedaryCase'.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`));
const wrap = (s: string, n: number): string[] => s.split(/\s+/).reduce<string[]>((ls, w) => { const l = ls.at(-1)!; if ((l + ' ' + w).trim().length > n) ls.push(w); else ls[ls.length - 1] = (l + ' ' + w).trim(); return ls; }, ['']);
console.log(wrap(TEXT, 30).map((l) => `|${l.padEnd(30)}|`).join('\n'));
const vowels: Record<string, number> = {};
for (const c of TEXT) if ('aeiou'.includes(c)) vowels[c] = (vowels[c] ?? 0) + 1;
console.log(vowels, Object.entries(vowels).reduce((a, [, n]) => a + n, 0));
