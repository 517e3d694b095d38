// quickjs-wasi: QuickJS in V8's WebAssembly. The module is compiled once, as its documentation advises.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { QuickJS } from 'quickjs-wasi';
import { WARM_CALLS, check, late, milliseconds, serve } from './_loop.mjs';

const wasm = await WebAssembly.compile(readFileSync(fileURLToPath(import.meta.resolve('quickjs-wasi/quickjs.wasm'))));
const kept = [];
let live, plain, saved;

const session = async () => (live ??= await QuickJS.create({ wasm }));
const evaluate = (vm, code) => vm.evalCode(code).consume(handle => vm.dump(handle));
const ask = vm => check(evaluate(vm, '1+1') === 2, '1+1');

async function save() {
  if (!plain) {
    plain = await QuickJS.create({ wasm });
    evaluate(plain, 'var x = [1, 2, 3]; function f() { return 6 }; 1');
  }
  saved = QuickJS.serializeSnapshot(plain.snapshot());
  return { bytes: saved.length };
}

await serve({
  async new_session() {
    const vm = await QuickJS.create({ wasm });
    ask(vm);
    return () => vm.dispose();
  },
  async warm_call() {
    const vm = await session();
    for (let i = 0; i < WARM_CALLS; i++) ask(vm);
  },
  async setup({ code }) {
    evaluate(await session(), code);
  },
  async run({ code }) {
    return { value: String(evaluate(await session(), code)) };
  },
  async tool_calls({ count }) {
    const vm = await QuickJS.create({ wasm });
    let made = 0;
    const give = vm.newFunction('give', value => {
      made++;
      return vm.newNumber(value.toNumber());
    });
    vm.setProp(vm.global, 'give', give);
    give.dispose();
    const started = process.hrtime.bigint();
    evaluate(vm, `for (let i = 0; i < ${count}; i++) give(i); 1`);
    const ms = milliseconds(started);
    check(made === count, made);
    vm.dispose();
    return { ms };
  },
  async open_sessions({ count }) {
    for (let i = 0; i < count; i++) {
      const vm = await QuickJS.create({ wasm });
      ask(vm);
      kept.push(vm);
    }
  },
  save_small: save,
  async restore_small() {
    if (!saved) await save();
    const vm = await QuickJS.restore(QuickJS.deserializeSnapshot(saved), { wasm });
    check(evaluate(vm, 'f()') === 6, 'f()');
    return () => vm.dispose();
  },
  async deadline({ code, deadline_ms }) {
    let until = Infinity;
    const vm = await QuickJS.create({ wasm, interruptHandler: () => performance.now() > until });
    return await late(deadline_ms, () => {
      until = performance.now() + deadline_ms;
      return evaluate(vm, code);
    });
  },
  async memory({ code, limit_mb }) {
    const vm = await QuickJS.create({ wasm, memoryLimit: limit_mb << 20 });
    try {
      return { said: `ended: ${evaluate(vm, code)}`, stopped: false };
    } catch (error) {
      return { said: String(error).slice(0, 200), stopped: true };
    }
  },
});
