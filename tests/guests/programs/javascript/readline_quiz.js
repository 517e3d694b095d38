// A quiz that reads answers line by line from standard input.
const readline = require('readline');
const rl = readline.createInterface({ input: process.stdin, output: process.stdout, terminal: false });
const questions = [{ q: '2 + 2', a: ['4', 'four'] }, { q: 'capital of France', a: ['paris'] }, { q: 'largest planet', a: ['jupiter'] }];
let score = 0, asked = 0;
const lines = rl[Symbol.asyncIterator]();
const ask = async (text) => { process.stdout.write(text); return (await lines.next()).value ?? ''; };
(async () => {
  const name = await ask('Your name? ');
  console.log(`Hello ${name.trim() || 'stranger'}!`);
  for (const { q, a } of questions) {
    const answer = (await ask(`${++asked}. ${q}? `)).trim().toLowerCase();
    if (a.includes(answer)) { score++; console.log('correct'); } else console.log(`wrong, it is ${a[0]}`);
  }
  console.log(`${score} of ${questions.length} (${Math.round((score / questions.length) * 100)} %)`);
  rl.close();
})();
rl.on('close', () => { console.log('closed'); process.exitCode = score === questions.length ? 0 : 5; });
