// quickjs-wasi: QuickJS in V8's WebAssembly. The module is compiled once, as its documentation advises.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { QuickJS } from 'quickjs-wasi';

const wasm = await WebAssembly.compile(readFileSync(fileURLToPath(import.meta.resolve('quickjs-wasi/quickjs.wasm'))));
const WARM_CALLS = 10;
let live;

function ask(vm) {
  if (vm.evalCode('1+1').consume(h => h.toNumber()) !== 2) throw new Error('a wrong answer');
}

const ops = {
  async new_session() {
    const vm = await QuickJS.create({ wasm });
    ask(vm);
    return () => vm.dispose();
  },
  async warm_call() {
    live ??= await QuickJS.create({ wasm });
    for (let i = 0; i < WARM_CALLS; i++) ask(live);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const started = process.hrtime.bigint();
    const close = await ops[JSON.parse(line).op]();
    answer = { ms: Number(process.hrtime.bigint() - started) / 1e6 };
    close?.();
  } catch (error) {
    answer = { error: String(error) };
  }
  console.log(JSON.stringify(answer));
}
