function* fibonacci(): Generator<bigint, void, unknown> {
  let [a, b] = [0n, 1n];
  while (true) {
    yield a;
    [a, b] = [b, a + b];
  }
}
function* take<T>(n: number, source: Iterable<T>): Generator<T> {
  let i = 0;
  for (const x of source) {
    if (i++ >= n) return;
    yield x;
  }
}
console.log([...take(10, fibonacci())].map(String).join(" "));
const html = (strings: TemplateStringsArray, ...values: unknown[]): string =>
  strings.reduce((out, s, i) => out + s + (i < values.length ? String(values[i]).replace(/</g, "&lt;") : ""), "");
console.log(html`<b>${"<script>"}</b> and ${1 + 1}`);
const hidden: unique symbol = Symbol("hidden");
const obj = { [hidden]: 1, shown: 2 };
console.log(Object.keys(obj), obj[hidden], hidden.toString(), hidden.description);
async function* ticks(n: number): AsyncGenerator<number> {
  for (let i = 0; i < n; i++) { await null; yield i; }
}
(async () => {
  const seen: number[] = [];
  for await (const t of ticks(3)) seen.push(t);
  console.log(seen);
})();
