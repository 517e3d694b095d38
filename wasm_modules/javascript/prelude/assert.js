// assert.js: the module `assert`, and comparing values by their structure.
(function (native, hooks) {
  const BOXED = 13;

  const keysOf = (object, strict) => {
    const shown = (symbol) => Object.prototype.propertyIsEnumerable.call(object, symbol);
    return strict ? [...Object.keys(object), ...Object.getOwnPropertySymbols(object).filter(shown)] : Object.keys(object);
  };

  // Compares by structure, with cycles, from a queue.
  const deepEqual = (left, right, strict) => {
    const seen = new Map(),
      queue = [[left, right]];
    const same = (a, b) => (strict ? Object.is(a, b) : a == b || (a !== a && b !== b));
    while (queue.length) {
      let [a, b] = queue.pop();
      if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
        if (!same(a, b)) return false;
        continue;
      }
      if (a === b || seen.get(a) === b) continue;
      seen.set(a, b);
      if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
      if (native.kind(a) !== native.kind(b)) return false;
      if (a instanceof Date && b instanceof Date) {
        if (a.getTime() !== b.getTime()) return false;
        continue;
      }
      if (a instanceof RegExp && b instanceof RegExp) {
        if (`${a}` !== `${b}`) return false;
        continue;
      }
      if (a instanceof ArrayBuffer) [a, b] = [new Uint8Array(a), new Uint8Array(b)];
      else if (native.kind(a) === BOXED && !Object.is(a.valueOf(), b.valueOf())) return false;
      if (a instanceof Error && (a.name !== b.name || a.message !== b.message)) return false;
      if (a instanceof Map) {
        if (a.size !== b.size) return false;
        for (const [k, v] of a) {
          const twin = b.has(k) ? k : [...b.keys()].find((other) => typeof k === "object" && deepEqual(k, other, strict));
          if (twin === undefined && !b.has(k)) return false;
          queue.push([v, b.get(twin)]);
        }
        continue;
      }
      if (a instanceof Set) {
        if (a.size !== b.size) return false;
        for (const v of a)
          if (!b.has(v) && !(typeof v === "object" && [...b].some((other) => deepEqual(v, other, strict)))) return false;
        continue;
      }
      const keys = keysOf(a, strict);
      if (keys.length !== keysOf(b, strict).length || (Array.isArray(a) && a.length !== b.length)) return false;
      for (const k of keys) {
        if (!Object.hasOwn(b, k)) return false;
        queue.push([a[k], b[k]]);
      }
    }
    return true;
  };

  class AssertionError extends Error {
    constructor({ message, actual, expected, operator, generatedMessage = false }) {
      super(message);
      this.name = "AssertionError";
      Object.assign(this, { generatedMessage, code: "ERR_ASSERTION", actual, expected, operator });
    }
  }
  const fail = (message, actual, expected, operator, fallback) => {
    if (message instanceof Error) throw message;
    const generatedMessage = message === undefined;
    const differs = !generatedMessage && /^(strict|deepStrict)Equal$/.test(operator);
    const told = differs ? `${message}${fallback.slice(fallback.indexOf("\n"))}` : (message ?? fallback);
    throw new AssertionError({ message: told, actual, expected, operator, generatedMessage });
  };
  const show = hooks.inspect;
  const assert = (value, message) => {
    if (!value) fail(message, value, true, "==", "The expression evaluated to a falsy value");
  };
  const matches = (error, expected) =>
    expected === undefined ||
    (typeof expected === "function"
      ? (expected.prototype !== undefined && error instanceof expected) ||
        (!(expected.prototype instanceof Error) && expected !== Error && expected(error) === true)
      : expected instanceof RegExp
        ? expected.test(`${error}`)
        : Object.keys(expected).every((k) =>
            expected[k] instanceof RegExp ? expected[k].test(error[k]) : deepEqual(error[k], expected[k], true),
          ));
  const checkFunction = (f) => {
    if (typeof f !== "function")
      throw Object.assign(new TypeError(`The "fn" argument must be of type function. Received ${show(f)}`), {
        code: "ERR_INVALID_ARG_TYPE",
      });
  };
  Object.assign(assert, {
    AssertionError,
    ok: assert,
    equal: (a, b, m) => {
      if (!(a == b || (a !== a && b !== b))) fail(m, a, b, "==", `${show(a)} == ${show(b)}`);
    },
    notEqual: (a, b, m) => {
      if (a == b) fail(m, a, b, "!=", `${show(a)} != ${show(b)}`);
    },
    strictEqual: (a, b, m) => {
      if (!Object.is(a, b))
        fail(m, a, b, "strictEqual", `Expected values to be strictly equal:\n\n${show(a)} !== ${show(b)}\n`);
    },
    notStrictEqual: (a, b, m) => {
      if (Object.is(a, b)) fail(m, a, b, "notStrictEqual", `Expected "actual" to be strictly unequal to: ${show(b)}`);
    },
    deepEqual: (a, b, m) => {
      if (!deepEqual(a, b, false))
        fail(
          m,
          a,
          b,
          "deepEqual",
          `Expected values to be loosely deep-equal:\n\n${show(a)}\n\nshould loosely deep-equal\n\n${show(b)}`,
        );
    },
    deepStrictEqual: (a, b, m) => {
      if (!deepEqual(a, b, true))
        fail(
          m,
          a,
          b,
          "deepStrictEqual",
          `Expected values to be strictly deep-equal:\n\n${show(a)}\n\nshould equal\n\n${show(b)}\n`,
        );
    },
    notDeepEqual: (a, b, m) => {
      if (deepEqual(a, b, false)) fail(m, a, b, "notDeepEqual", "Expected values not to be loosely deep-equal");
    },
    notDeepStrictEqual: (a, b, m) => {
      if (deepEqual(a, b, true)) fail(m, a, b, "notDeepStrictEqual", "Expected values not to be deep-equal");
    },
    fail: (m = "Failed") => fail(m, undefined, undefined, "fail"),
    match: (text, pattern, m) => {
      if (!pattern.test(text))
        fail(m, text, pattern, "match", `The input did not match the regular expression ${pattern}. Input:\n\n${show(text)}\n`);
    },
    doesNotMatch: (text, pattern, m) => {
      if (pattern.test(text))
        fail(
          m,
          text,
          pattern,
          "doesNotMatch",
          `The input was expected to not match the regular expression ${pattern}. Input:\n\n${show(text)}\n`,
        );
    },
    ifError: (error) => {
      if (error !== null && error !== undefined)
        fail(undefined, error, null, "ifError", `ifError got unwanted exception: ${error.message ?? show(error)}`);
    },
    throws: (f, expected, m) => {
      checkFunction(f);
      try {
        f();
      } catch (error) {
        if (!matches(error, typeof expected === "string" ? undefined : expected)) throw error;
        return;
      }
      fail(m, undefined, expected, "throws", "Missing expected exception.");
    },
    rejects: async (promise, expected, m) => {
      try {
        await (typeof promise === "function" ? promise() : promise);
      } catch (error) {
        if (!matches(error, expected)) throw error;
        return;
      }
      fail(m, undefined, expected, "rejects", "Missing expected rejection.");
    },
    doesNotThrow: (f) => void (checkFunction(f), f()),
    doesNotReject: async (promise) => void (await (typeof promise === "function" ? promise() : promise)),
  });
  // What is equal in strict mode is so strictly.
  const strict = Object.assign((value, message) => assert(value, message), assert, {
    equal: assert.strictEqual,
    notEqual: assert.notStrictEqual,
    deepEqual: assert.deepStrictEqual,
    notDeepEqual: assert.notDeepStrictEqual,
  });
  strict.ok = strict.strict = assert.strict = strict;

  hooks.deepEqual = deepEqual;
  hooks.assert = assert;
});
