interface Cat { type: "cat"; meow(): string }
interface Dog { type: "dog"; bark(): string }
type Pet = Cat | Dog;

function isCat(p: Pet): p is Cat {
  return p.type === "cat";
}

function assertString(value: unknown): asserts value is string {
  if (typeof value !== "string") throw new Error("not a string");
}

const pets: Pet[] = [{ type: "cat", meow: () => "meow" }, { type: "dog", bark: () => "woof" }];
console.log(pets.map((p) => (isCat(p) ? p.meow() : p.bark())));
const raw: unknown = JSON.parse('"text"');
assertString(raw);
console.log(raw.toUpperCase());
try {
  assertString(5);
} catch (e) {
  console.log((e as Error).message);
}
const el = <any>{ value: "x" };
console.log((el as { value: string }).value!.length);
