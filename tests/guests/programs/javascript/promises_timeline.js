// Order of microtasks and timers, promise combinators, async iteration, retry with backoff.
const sleep = (ms, v) => new Promise((r) => setTimeout(r, ms, v));

async function retry(f, times) {
  for (let i = 1; ; i++) {
    try { return await f(i); } catch (e) {
      console.log(`attempt ${i} failed: ${e.message}`);
      if (i === times) throw new Error('gave up', { cause: e });
      await sleep(2 ** i);
    }
  }
}

async function* pages(n) {
  for (let i = 1; i <= n; i++) { await sleep(1); yield { page: i, items: [i * 10, i * 10 + 1] }; }
}

async function main() {
  setTimeout(() => console.log('timeout'), 0);
  process.nextTick(() => console.log('nextTick'));
  Promise.resolve().then(() => console.log('micro 1')).then(() => console.log('micro 2'));
  queueMicrotask(() => console.log('queueMicrotask'));
  console.log('sync');
  await sleep(10);

  console.log(await Promise.all([sleep(3, 'a'), 'b', sleep(1, 'c')]));
  console.log(await Promise.race([sleep(20, 'slow'), sleep(1, 'fast')]));
  console.log((await Promise.allSettled([sleep(1, 1), Promise.reject(new TypeError('no'))])).map((r) => r.value ?? `${r.status} ${r.reason.message}`));
  console.log(await Promise.any([Promise.reject(new Error('x')), sleep(2, 'any')]));
  try { await Promise.any([Promise.reject(new Error('x')), Promise.reject(new Error('y'))]); } catch (e) {
    console.log(e.constructor.name, e.message, e.errors.map((x) => x.message));
  }
  console.log(await retry(async (i) => { if (i < 3) throw new Error(`no ${i}`); return 'ok'; }, 5));
  try { await retry(async () => { throw new Error('always'); }, 2); } catch (e) { console.log(e.message, '<-', e.cause.message); }
  const all = [];
  for await (const { items } of pages(3)) all.push(...items);
  console.log(all);
  const controller = new AbortController();
  const job = new Promise((_, reject) => controller.signal.addEventListener('abort', () => reject(controller.signal.reason)));
  setTimeout(() => controller.abort(new Error('cancelled by user')), 2);
  await job.catch((e) => console.log(e.message, controller.signal.aborted));
  const { promise, resolve } = { promise: sleep(1, 5), resolve: null };
  console.log(await promise.finally(() => console.log('finally')));
}
main();
