// What console.log prints for many kinds of values.
class Point { constructor(x, y) { this.x = x; this.y = y; } get len() { return Math.hypot(this.x, this.y); } }
class Named extends Map {}
console.log({ a: 1, 'b-c': 'two', d: [1, 2, 3], e: { f: { g: { h: 1 } } }, fn() {}, arrow: () => 1, s: Symbol('x'), n: null, u: undefined });
console.log([undefined, null, NaN, -0, 1n, 'str', true, [, 1, , 2]]);
console.log(new Point(3, 4), new Named([['k', 1]]), new Set(['a', { b: 1 }]), [new Date(86400000)]);
console.log(class A {}, class B extends Point {}, function f() {}, async () => {}, function* gen() {}, Math.max);
console.log([new Error('bad').message, new RangeError('r').toString()], /re+/gi, Symbol.iterator);
console.log('%s is %d years and %i, %f, %j %o %O %%', 'Bob', 42.5, 42.9, '1.5', { a: 1 }, [1], { b: { c: {} } }, 'extra', 7);
console.log(Array.from({ length: 120 }, (_, i) => i));
console.log('x'.repeat(30), ['a'.repeat(40), 'b'.repeat(40)]);
console.log({ long1: 'aaaaaaaaaaaaaaaaaaaaaaaa', long2: 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbb', long3: 'cccccccccccccccccccccc', nested: { x: 1, y: [1, 2] } });
console.log(new Map([['config', { debug: true, levels: [1, 2] }], [{ k: 1 }, new Map()]]));
console.log([['a', 1], ['b', 2]], [[[[[]]]]], { a: {} }, [{}], {}, []);
console.log(Object.create(null), Object.create({ inherited: 1 }), new (class {})(), Object.assign(() => {}, { prop: 1 }));
console.log(new Uint8Array(3), new ArrayBuffer(4), Promise.resolve(5), Promise.reject(new Error('x')).catch(() => {}) && 'p', new WeakMap(), (function () { return arguments; })(1, 2));
const circular = { name: 'c' };
circular.self = circular;
console.log(circular, [circular]);
console.log({ get a() { return 1; }, set a(v) {}, get b() { return 2; } }, new Proxy({ p: 1 }, {}), globalThis === global);
console.log("it's", ["it's", 'say "hi"', `both ' and "`, 'new\nline', 'tab\t', '\u0001', 'é☃']);
console.log([1.0, 1e21, 1e-7, 0xff, 1_000_000, Number.MAX_SAFE_INTEGER, 2 ** 53, 0.1 + 0.2, 5e-324]);
console.log(new Number(3), new String('s'), new Boolean(false), [new Number(1)], Object(1n));
console.log({ 'key with space': 1, valid_key: 2, 3: 3, [Symbol('sym')]: 4 }, [Object.assign([1, 2], { extra: true })]);
console.error('to stderr');
console.info('info', 1); console.debug('debug');
console.group('group'); console.log('inside\ntwo lines'); console.group(); console.log({ deep: [1, 2] }); console.groupEnd(); console.groupEnd(); console.log('outside');
console.assert(1 === 1, 'not shown'); console.count(); console.count('x'); console.count(); console.countReset(); console.count();
console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 });
console.log(process.argv.length, typeof require, typeof module, typeof __filename, require.main === module);
console.log([[1, 2, [3, 4]], { a: [{ b: { c: 1 } }] }], [function () {}, class {}], [null, [undefined]]);
console.log(['apple', 'banana', 'cherry', 'dragonfruit', 'elderberry', 'fig', 'grape', 'honeydew melon'], new Array(5), [1, , 3]);
