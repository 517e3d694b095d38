type Result<T, E = Error> = { ok: true; value: T } | { ok: false; error: E };

function parseNumber(text: string): Result<number, string> {
  const n = Number(text);
  return Number.isNaN(n) ? { ok: false, error: `not a number: ${text}` } : { ok: true, value: n };
}

function unwrap<T>(r: Result<T, string>): T | never {
  if (r.ok) return r.value;
  throw new TypeError(r.error);
}

for (const text of ["42", "3.14", "abc", ""]) {
  const r = parseNumber(text);
  console.log(JSON.stringify(text), r.ok ? r.value : r.error);
}
try {
  unwrap(parseNumber("x"));
} catch (e: unknown) {
  if (e instanceof TypeError) console.log("TypeError:", e.message);
}

type Expr =
  | { kind: "num"; value: number }
  | { kind: "add" | "mul"; left: Expr; right: Expr }
  | { kind: "neg"; operand: Expr };

const evaluate = (e: Expr): number => {
  switch (e.kind) {
    case "num": return e.value;
    case "add": return evaluate(e.left) + evaluate(e.right);
    case "mul": return evaluate(e.left) * evaluate(e.right);
    case "neg": return -evaluate(e.operand);
    default: {
      const never: never = e;
      return never;
    }
  }
};
console.log(evaluate({ kind: "add", left: { kind: "num", value: 2 }, right: { kind: "neg", operand: { kind: "num", value: 5 } } }));
