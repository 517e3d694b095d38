// Timers: intervals, clearing, unref, promises, microtasks inside timers, performance, process hooks.
const { performance } = require('perf_hooks');
const { setTimeout: sleep, setInterval: every } = require('timers/promises');
const { EventEmitter, once, on } = require('events');
let n = 0;
const id = setInterval(() => { console.log('tick', ++n); if (n === 3) { clearInterval(id); after(); } }, 2);
const never = setTimeout(() => console.log('never'), 5);
clearTimeout(never);
setTimeout(() => { console.log('timer 1'); Promise.resolve().then(() => console.log('micro in timer 1')); process.nextTick(() => console.log('tick in timer 1')); }, 0);
setTimeout(() => console.log('timer 2'), 1);
setTimeout((a, b) => console.log('args', a, b), 3, 'x', 'y');
async function after() {
  const t0 = performance.now();
  console.log(await sleep(5, 'value'), performance.now() - t0 >= 4);
  let k = 0;
  for await (const _ of every(1)) if (++k === 3) break;
  console.log('interval ended', k);
  const em = new EventEmitter();
  setTimeout(() => em.emit('ready', 1, 2), 1);
  console.log(await once(em, 'ready'));
  const ac = new AbortController();
  setTimeout(() => { em.emit('n', 1); em.emit('n', 2); ac.abort(); }, 1);
  try { for await (const [v] of on(em, 'n', { signal: ac.signal })) console.log('got', v); } catch (e) { console.log(e.name, e.code); }
  await sleep(5, null, { signal: AbortSignal.timeout(1) }).catch((e) => console.log(e.name));
  const t = setTimeout(() => {}, 1e6);
  t.unref();
  console.log(typeof t.ref, t.hasRef(), process.uptime() > 0, typeof performance.timeOrigin, process.hrtime.bigint() > 0n, process.memoryUsage().heapUsed > 0);
  em.on('x', () => { throw new Error('from listener'); });
  try { em.emit('x'); } catch (e) { console.log(e.message); }
  em.prependListener('y', () => console.log('second')).prependOnceListener('y', () => console.log('first'));
  console.log(em.emit('y'), em.emit('y'), em.emit('z'), em.rawListeners('y').length, EventEmitter.listenerCount(em, 'y'));
  process.on('uncaughtException', (e, origin) => { console.log('uncaught', e.message, origin); });
  setTimeout(() => { throw new Error('late'); }, 1);
  setTimeout(() => { console.log('still alive'); process.exitCode = 2; }, 5);
  process.on('exit', (c) => console.log('exit', c));
}
