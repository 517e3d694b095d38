// Standard decorators: logging, memoising, bound methods, class registration, field initialisers.
const registry: string[] = [];
function service(name: string) {
  return <T extends new (...args: any[]) => object>(target: T, context: ClassDecoratorContext) => {
    registry.push(`${name}:${String(context.name)}`);
    return class extends target { serviceName = name; };
  };
}
function logged<This, Args extends unknown[], R>(method: (this: This, ...args: Args) => R, context: ClassMethodDecoratorContext) {
  return function (this: This, ...args: Args): R {
    const result = method.apply(this, args);
    console.log(`${String(context.name)}(${args.join(', ')}) = ${result}`);
    return result;
  };
}
function memo(method: (n: number) => number, _context: ClassMethodDecoratorContext) {
  const cache = new Map<number, number>();
  return function (this: unknown, n: number) {
    if (!cache.has(n)) cache.set(n, method.call(this, n));
    return cache.get(n)!;
  };
}
function bound(_: Function, context: ClassMethodDecoratorContext) {
  context.addInitializer(function (this: any) { this[context.name] = this[context.name].bind(this); });
}
function clamp(min: number, max: number) {
  return (_: undefined, _context: ClassFieldDecoratorContext) => (value: number) => Math.min(max, Math.max(min, value));
}

@service('math')
class Calculator {
  @clamp(0, 10) precision = 42;
  factor = 3;
  @logged add(a: number, b: number): number { return a + b; }
  @memo fib(n: number): number { return n < 2 ? n : this.fib(n - 1) + this.fib(n - 2); }
  @bound times(n: number) { return n * this.factor; }
  @logged static version(): string { return '1.0'; }
}
const c = new Calculator();
c.add(2, 3);
console.log(c.fib(50), c.precision, (c as any).serviceName);
const { times } = c;
console.log([1, 2, 3].map(times));
Calculator.version();
console.log(registry, c instanceof Calculator);
