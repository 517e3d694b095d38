console.log((1234567.891).toFixed(1), (0.1 + 0.2).toFixed(10), 1e21, 1 / 3, -0, [NaN, Infinity]);
console.log((255).toString(16), parseInt("ff", 16), Number("0b101"), (25).toString(2).padStart(8, "0"), +"  12 ", +"x");
console.log((1234567.891).toLocaleString("en-US"), (0.256).toLocaleString("en-US", { style: "percent" }));
console.log(2n ** 100n, BigInt(Number.MAX_SAFE_INTEGER) + 2n, typeof 1n, 7n / 2n);
console.log(Math.max(...[3, 1, 2]), Math.trunc(-4.7), Math.sign(-3), Math.hypot(3, 4), Math.cbrt(27), 5 % -3, -5 % 3, 2 ** -1);
console.log([10, 9, 1].sort(), [10, 9, 1].sort((a, b) => a - b), ["b", "a", "C"].sort());
