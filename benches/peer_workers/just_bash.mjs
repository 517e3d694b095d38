// just-bash: bash in TypeScript on Node.
import { Bash, defineCommand } from 'just-bash';
import { WARM_CALLS, check, late, milliseconds, serve } from './_loop.mjs';

const many = { maxCommandCount: 1e7, maxLoopIterations: 1e7, maxExecutionTimeMs: 60_000 };
const live = new Bash();
const kept = [];
let roomy;

async function ask(bash) {
  const done = await bash.exec('echo hi');
  check(done.stdout === 'hi\n', JSON.stringify(done));
}

await serve({
  new_session: () => ask(new Bash()),
  async warm_call() {
    for (let i = 0; i < WARM_CALLS; i++) await ask(live);
  },
  setup({ files = {} }) {
    roomy = new Bash({ files, executionLimits: many });
  },
  async run({ code }) {
    roomy ??= new Bash({ executionLimits: many });
    const done = await roomy.exec(code);
    check(done.exitCode === 0, done.stderr);
    return { value: done.stdout.trim() };
  },
  async tool_calls({ count }) {
    let made = 0;
    const give = defineCommand('give', async args => {
      made++;
      return { stdout: `${args[0]}\n`, stderr: '', exitCode: 0 };
    });
    const bash = new Bash({ customCommands: [give], executionLimits: many });
    const started = process.hrtime.bigint();
    await bash.exec(`i=0; while [ $i -lt ${count} ]; do give $i >/dev/null; i=$((i+1)); done`);
    const ms = milliseconds(started);
    check(made === count, made);
    return { ms };
  },
  async open_sessions({ count }) {
    for (let i = 0; i < count; i++) {
      const bash = new Bash();
      await ask(bash);
      kept.push(bash);
    }
  },
  deadline: ({ code, deadline_ms }) =>
    late(deadline_ms, () => new Bash({ executionLimits: { ...many, maxExecutionTimeMs: deadline_ms } }).exec(code)),
  async memory({ code, limit_mb }) {
    const limits = { ...many, maxExecutionTimeMs: 20_000, maxFileSystemBytes: limit_mb << 20 };
    const done = await new Bash({ executionLimits: limits }).exec(code);
    return { said: `status ${done.exitCode}: ${done.stderr}`.slice(0, 200), stopped: done.exitCode !== 0 };
  },
});
