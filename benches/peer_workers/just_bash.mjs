// just-bash: bash in TypeScript on Node.
import { createInterface } from 'node:readline';
import { Bash } from 'just-bash';

const WARM_CALLS = 10;
const live = new Bash();

async function ask(bash) {
  if ((await bash.exec('echo hi')).stdout !== 'hi\n') throw new Error('a wrong answer');
}

const ops = {
  new_session: () => ask(new Bash()),
  async warm_call() {
    for (let i = 0; i < WARM_CALLS; i++) await ask(live);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const started = process.hrtime.bigint();
    await ops[JSON.parse(line).op]();
    answer = { ms: Number(process.hrtime.bigint() - started) / 1e6 };
  } catch (error) {
    answer = { error: String(error) };
  }
  console.log(JSON.stringify(answer));
}
