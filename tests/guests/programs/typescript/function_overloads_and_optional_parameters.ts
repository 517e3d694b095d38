function format(value: number): string;
function format(value: Date): string;
function format(value: string, width: number): string;
function format(value: number | Date | string, width?: number): string {
  if (typeof value === "number") return value.toFixed(2);
  if (value instanceof Date) return value.toISOString().slice(0, 10);
  return value.padEnd(width!, ".");
}
console.log(format(3.14159), format(new Date(Date.UTC(2024, 0, 15))), format("ab", 5));

const curry = <A, B, C>(f: (a: A, b: B) => C) => (a: A) => (b: B): C => f(a, b);
console.log(curry((a: number, b: number) => a + b)(2)(3));
function pipe<T>(...fns: Array<(x: T) => T>): (x: T) => T {
  return (x) => fns.reduce((acc, f) => f(acc), x);
}
console.log(pipe<number>((x) => x + 1, (x) => x * 2)(5));
