function log(_target: any, context: ClassMethodDecoratorContext) {
  const name = String(context.name);
  return function (this: any, ...args: any[]) {
    console.log(`-> ${name}(${args.join(", ")})`);
    const result = (_target as Function).apply(this, args);
    console.log(`<- ${result}`);
    return result;
  };
}

class Calculator {
  private memory = 0;

  @log
  add(a: number, b: number): number {
    return (this.memory = a + b);
  }

  @log
  recall(): number {
    return this.memory;
  }
}

const calc = new Calculator();
calc.add(2, 3);
calc.recall();
