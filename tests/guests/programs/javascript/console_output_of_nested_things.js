console.log({ a: 1, b: { c: [1, 2, { d: { e: 1 } }] }, f() {}, g: () => 1, s: Symbol("x"), n: null, u: undefined });
console.log([1, "two", [3, [4, [5, [6]]]]], [undefined, null], new Array(3), [,"x"]);
console.log("%s is %d years and %i, %f, %j %o %%", "Bob", 42.5, 42.9, "3.5", { a: 1 }, [1]);
console.log(new Error("boom").message, [new Date(0)], /re/g, new Map([[{ k: 1 }, new Set(["v"])]]));
console.log("long".repeat(30), ["a".repeat(30), "b".repeat(30), "c".repeat(30)]);
console.log(Array.from({ length: 120 }, (_, i) => i));
console.log(Buffer.from("hi"), new Uint8Array([1, 2, 3]), [1.0, -0, 1e100], "str", ["str's", 'q"'], true);
class Foo { constructor() { this.x = 1; } }
console.log(new Foo(), Foo, [new Foo()], Object.create(null), function named() {}, async () => {});
