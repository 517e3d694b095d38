type Nullable<T> = { [K in keyof T]: T[K] | null };
type Getters<T> = { [K in keyof T as `get${Capitalize<string & K>}`]: () => T[K] };
type ElementOf<T> = T extends (infer U)[] ? U : never;

interface Settings { theme: string; size: number }

const blank: Nullable<Settings> = { theme: null, size: null };
function getters<T extends object>(obj: T): Getters<T> {
  const out: any = {};
  for (const key of Object.keys(obj) as (keyof T & string)[]) {
    out[`get${key[0].toUpperCase()}${key.slice(1)}`] = () => obj[key];
  }
  return out;
}
const g = getters<Settings>({ theme: "dark", size: 12 });
console.log(blank, g.getTheme(), g.getSize());
const first = <T,>(xs: T[]): ElementOf<T[]> | undefined => xs[0] as any;
console.log(first(["a", "b"]), first<number>([]));
const config = { host: "localhost", port: 80 } as const satisfies Record<string, string | number>;
console.log(config.port);
