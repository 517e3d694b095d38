class Animal {
  #name;
  static count = 0;
  constructor(name) { this.#name = name; Animal.count++; }
  get name() { return this.#name; }
  speak() { return `${this.#name} makes a sound`; }
  toString() { return `[Animal ${this.#name}]`; }
}
class Dog extends Animal {
  speak() { return super.speak().replace("a sound", "woof"); }
  static create(...args) { return new this(...args); }
}
const d = Dog.create("Rex");
console.log(d.speak(), `${d}`, Animal.count, d instanceof Animal, Object.keys(d));
try { null.x; } catch (e) { console.log(e instanceof TypeError); }
console.log(d);
class Temp { constructor(c) { this.c = c; } [Symbol.toPrimitive](hint) { return hint === "string" ? `${this.c}°C` : this.c; } }
console.log(`${new Temp(20)}`, new Temp(20) + 5, new Temp(1) < new Temp(2));
