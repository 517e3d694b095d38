outer: for (let i = 0; i < 3; i++) { for (let j = 0; j < 3; j++) { if (j === 1) continue outer; if (i === 2) break outer; console.log(i, j); } }
const kind = (x) => { switch (true) { case x === null: return "null"; case Array.isArray(x): return "array"; default: return typeof x; } };
console.log([null, [], {}, 1, "s", undefined, () => 0, Symbol(), 1n].map(kind));
console.log([] + {}, [] == false, null ?? "d", 0 || "o", "" ?? "e", !!"0", typeof null, void 0, [1, 2] + "", "5" * "2", "5" + 2, +true);
var { a = 10, ...rest } = { b: 2, c: 3 };
const [x, , y = 5, ...z] = [1, 2, undefined, 4, 5];
console.log(a, rest, x, y, z);
console.log([3, 1, 2].toSorted?.() ?? [3, 1, 2].slice().sort(), [1, [2, [3]]].flat(Infinity), [1, 2, 3].includes(2), [5, 6].entries().next().value, Array.isArray([]));
console.log(((a, b = a * 2, ...c) => [a, b, c])(1), (function () { return arguments.length; })(1, 2, 3), [..."abc"].map((c, i) => c.charCodeAt() + i));
console.log(Number.EPSILON > 0, isNaN("x"), Number.isInteger(5.0), (12.5).toPrecision(2), Number.parseFloat("1.5abc"), 0.1 * 3, 9007199254740993);
