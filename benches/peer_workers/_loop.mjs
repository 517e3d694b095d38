// The loop every Node worker runs: a request per line, the milliseconds it took as the answer. A function that is returned is
// called when the time has been taken; an object is added to the answer.
import { createInterface } from 'node:readline';

export const WARM_CALLS = 10;

export function check(right, what) {
  if (!right) throw new Error(`a wrong answer: ${what}`);
}

export function milliseconds(since) {
  return Number(process.hrtime.bigint() - since) / 1e6;
}

// How late a program that should be stopped came back, and with what.
export async function late(deadline_ms, run) {
  const started = process.hrtime.bigint();
  let said;
  try {
    said = `ended: ${JSON.stringify(await run())}`;
  } catch (error) {
    said = String(error);
  }
  return { late_ms: milliseconds(started) - deadline_ms, said: String(said).slice(0, 200) };
}

export async function serve(ops) {
  for await (const line of createInterface({ input: process.stdin })) {
    let answer;
    try {
      const { op, ...fields } = JSON.parse(line);
      if (!ops[op]) throw new Error(`no operation ${op}`);
      const started = process.hrtime.bigint();
      const done = await ops[op](fields);
      answer = { ms: milliseconds(started) };
      if (typeof done === 'function') await done();
      else Object.assign(answer, done);
    } catch (error) {
      answer = { error: String(error).slice(0, 300) };
    }
    console.log(JSON.stringify(answer));
  }
  process.exit(0);
}
