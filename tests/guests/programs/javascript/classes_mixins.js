// Classes: private fields, statics, accessors, mixins, Symbol.species, instanceof, error classes, JSON.
const Serializable = (Base) => class extends Base { serialize() { return JSON.stringify(this); } };
const Comparable = (Base) => class extends Base { compareTo(o) { return Math.sign(this.valueOf() - o.valueOf()); } };
class Shape {
  static #count = 0;
  static get count() { return Shape.#count; }
  static { this.registry = new Map(); }
  #id;
  constructor(name) { this.name = name; this.#id = ++Shape.#count; Shape.registry.set(this.#id, this); }
  get id() { return this.#id; }
  area() { throw new TypeError(`${this.constructor.name} must implement area`); }
  valueOf() { return this.area(); }
  toJSON() { return { kind: this.constructor.name, id: this.#id, area: +this.area().toFixed(2) }; }
  static isShape(o) { return #id in o; }
}
class Circle extends Comparable(Serializable(Shape)) {
  constructor(r) { super('circle'); this.r = r; }
  area() { return Math.PI * this.r ** 2; }
  set diameter(d) { this.r = d / 2; }
  get diameter() { return this.r * 2; }
}
class Square extends Comparable(Serializable(Shape)) { constructor(s) { super('square'); this.s = s; } area() { return this.s * this.s; } }
class Blob extends Shape {}
const shapes = [new Circle(2), new Square(3.5), new Circle(1)];
shapes[2].diameter = 5;
shapes.sort((a, b) => a.compareTo(b));
console.log(shapes.map((s) => s.serialize()));
console.log(Shape.count, Shape.registry.size, Shape.isShape(shapes[0]), Shape.isShape({}), shapes[0] > shapes[1]);
try { new Blob('b').area(); } catch (e) { console.log(e instanceof TypeError, e.message); }
class HttpError extends Error {
  constructor(status, options) { super(`HTTP ${status}`, options); this.name = 'HttpError'; this.status = status; }
  static from(e) { return new this(500, { cause: e }); }
}
const err = HttpError.from(new Error('db down'));
console.log(String(err), err.cause.message, err instanceof HttpError, Object.keys(err), err.stack.split('\n')[0]);
class Stack extends Array { peek() { return this[this.length - 1]; } static get [Symbol.species]() { return Array; } }
const st = Stack.of(1, 2, 3);
console.log(st.peek(), st.map((x) => x * 2) instanceof Stack, st.length, st);
function Old(name) { if (!new.target) return new Old(name); this.name = name; }
Old.prototype.hello = function () { return `hello ${this.name}`; };
console.log(Old('x').hello(), Object.getPrototypeOf(Old('y')) === Old.prototype, typeof Old, Old.name, Old.length);
const bound = shapes[0].serialize.bind({ fake: 1 });
console.log(bound(), (() => typeof this)(), (function () { 'use strict'; return this; })());
class Temp { static #c = 0; static inc() { return ++Temp.#c; } accessor = 5; 'quoted key' = 1; [`computed${1 + 1}`] = 2; static async *gen() { yield 1; } }
console.log(Temp.inc(), Temp.inc(), new Temp(), Object.prototype.toString.call(Temp.gen()));
console.log(Object.getOwnPropertyDescriptor(Circle.prototype, 'diameter'), Reflect.ownKeys(Circle.prototype));
