// Enums, discriminated unions, classes with parameter properties, generics and a visitor.
enum Color { Red, Green = 5, Blue }
enum Level { Low = 'LOW', High = 'HIGH' }
const enum Flags { None = 0, Read = 1 << 0, Write = 1 << 1, All = Read | Write }

type Shape =
  | { kind: 'circle'; radius: number }
  | { kind: 'rect'; width: number; height: number }
  | { kind: 'tri'; base: number; height: number };

function area(s: Shape): number {
  switch (s.kind) {
    case 'circle': return Math.PI * s.radius ** 2;
    case 'rect': return s.width * s.height;
    case 'tri': return (s.base * s.height) / 2;
    default: { const never: never = s; throw new Error(`unexpected ${never}`); }
  }
}

abstract class Animal {
  protected static total = 0;
  constructor(public readonly name: string, private age: number, protected color: Color = Color.Red) { Animal.total++; }
  abstract speak(): string;
  describe(this: Animal): string { return `${this.name} (${this.age}, ${Color[this.color]}) says ${this.speak()}`; }
  static get count(): number { return Animal.total; }
}
class Dog extends Animal {
  override speak(): string { return 'woof'; }
}
class Cat extends Animal {
  constructor(name: string, public lives: number = 9) { super(name, 3, Color.Blue); }
  override speak() { return `meow x${this.lives}`; }
}

console.log(Color, Color.Green, Color[6], Level.High, Object.keys(Level));
console.log(Flags.All, (Flags.All & Flags.Write) !== 0);
const shapes: Shape[] = [{ kind: 'circle', radius: 1 }, { kind: 'rect', width: 2, height: 3 }, { kind: 'tri', base: 4, height: 5 }];
for (const s of shapes) console.log(s.kind, area(s).toFixed(3));
const zoo: Animal[] = [new Dog('Rex', 5), new Cat('Tom'), new Cat('Kit', 2)];
zoo.forEach((a) => console.log(a.describe()));
console.log(Animal.count, zoo[1]);
console.log(zoo.filter((a): a is Cat => a instanceof Cat).map((c) => c.lives));
for (const key in Color) if (!isNaN(Number(key))) console.log(key, Color[key as keyof typeof Color]);
