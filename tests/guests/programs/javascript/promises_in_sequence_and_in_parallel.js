const sleep = (ms, v) => new Promise((r) => setTimeout(() => r(v), ms));
async function main() {
  const order = [];
  await Promise.all([sleep(20, "slow"), sleep(5, "fast")].map(async (p) => order.push(await p)));
  console.log(order);
  console.log(await Promise.race([sleep(30, "a"), sleep(3, "b")]));
  console.log(await Promise.any([Promise.reject(new Error("x")), sleep(2, "any")]));
  try {
    await (async () => { throw new RangeError("inside"); })();
  } catch (e) {
    console.log(e.name, e.message);
  } finally {
    console.log("finally");
  }
  for (const n of [1, 2, 3]) {
    await sleep(1);
    process.stdout.write(n + (n < 3 ? "," : "\n"));
  }
}
main().then(() => console.log("done"));
console.log("sync first");
Promise.resolve().then(() => console.log("microtask"));
process.nextTick(() => console.log("tick"));
