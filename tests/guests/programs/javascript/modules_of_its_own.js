const fs = require("fs");
fs.writeFileSync("math.js", "exports.add = (a, b) => a + b;\nexports.PI = 3.14;\n");
fs.writeFileSync("counter.js", "let n = 0;\nmodule.exports = class Counter { next() { return ++n; } };\n");
fs.writeFileSync("data.json", '{"name": "x", "list": [1, 2]}');
const { add, PI } = require("./math");
const Counter = require("./counter.js");
console.log(add(2, PI), new Counter().next(), new Counter().next(), require("./data.json").list);
console.log(require("./math") === require("./math.js"), typeof module, require.resolve("./math").endsWith("math.js"));
try { require("./nope"); } catch (e) { console.log(e.code); }
const util = require("util"), os = require("os"), assert = require("assert");
console.log(util.format("%s=%d", "x", 5), util.inspect({ a: { b: { c: {} } } }, { depth: 0 }), util.types.isPromise(Promise.resolve()), os.EOL === "\n");
try { assert.deepStrictEqual({ a: 1 }, { a: 2 }); } catch (e) { console.log(e.code); }
assert.strictEqual(1, 1); assert(true);
