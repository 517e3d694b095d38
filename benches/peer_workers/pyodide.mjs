// pyodide: CPython in V8's WebAssembly, one interpreter per session. Interrupts come from another thread, as it documents.
import { Worker } from 'node:worker_threads';
import { loadPyodide } from 'pyodide';
import { WARM_CALLS, check, late, serve } from './_loop.mjs';

const kept = [];
let live;

const session = async () => (live ??= await loadPyodide());
const ask = python => check(python.runPython('1+1') === 2, '1+1');
const alarm = `
  const { workerData } = require('node:worker_threads');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, workerData.ms);
  const flags = new Uint8Array(workerData.buffer);
  const again = setInterval(() => { flags[0] = 2; }, 20);
  setTimeout(() => clearInterval(again), 2000);
`;

await serve({
  async new_session() {
    ask(await loadPyodide());
  },
  async warm_call() {
    const python = await session();
    for (let i = 0; i < WARM_CALLS; i++) ask(python);
  },
  async setup({ code }) {
    (await session()).runPython(code);
  },
  async run({ code }) {
    return { value: String((await session()).runPython(code)) };
  },
  async tool_calls({ count }) {
    const python = await session();
    let made = 0;
    python.globals.set('give', value => {
      made++;
      return value;
    });
    python.runPython(`for i in range(${count}): give(i)`);
    check(made === count, made);
  },
  async open_sessions({ count }) {
    for (let i = 0; i < count; i++) {
      const python = await loadPyodide();
      ask(python);
      kept.push(python);
    }
  },
  async deadline({ code, deadline_ms }) {
    const python = await loadPyodide();
    const buffer = new SharedArrayBuffer(1);
    python.setInterruptBuffer(new Uint8Array(buffer));
    const worker = new Worker(alarm, { eval: true, workerData: { buffer, ms: deadline_ms } });
    await new Promise(ready => worker.once('online', ready));
    const answer = await late(deadline_ms, () => python.runPython(code));
    await worker.terminate();
    return answer;
  },
});
