const readline = require("readline");
const rl = readline.createInterface({ input: process.stdin });
let sum = 0, lines = 0;
rl.on("line", (line) => {
  lines++;
  const n = parseFloat(line);
  if (!Number.isNaN(n)) sum += n;
  else console.log(`skipped ${JSON.stringify(line)}`);
});
rl.on("close", () => console.log(`${lines} lines, sum ${sum}`));
