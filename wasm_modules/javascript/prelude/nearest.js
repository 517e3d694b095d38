// nearest.js: the JSON that comes nearest to a value which is none, or which is too much: what a program's last value becomes then.
// It is made for looking at, not for getting the value back. It is bounded while it is built; iterators are not consumed, and a
// value that fails to be looked at is null.
(function (native, hooks) {
  const DEPTH = 64;
  const TypedArray = Object.getPrototypeOf(Uint8Array);

  // A copy of plain values, of about `room` characters of JSON: { value, isCut }.
  hooks.simplify = (value, room) => {
    const above = new Set();
    let isCut = false;

    const cutText = (text) => {
      const whole = text.length > room ? text.slice(0, room) : text;
      isCut ||= whole.length < text.length;
      room -= whole.length;
      return whole.toWellFormed();
    };
    const fillArray = (items, depth, length) => {
      const out = [];
      for (const item of items) {
        if (room <= 0) break;
        out.push(simplify(item, depth) ?? null);
      }
      isCut ||= out.length < length;
      return out;
    };
    const fillObject = (pairs, depth) => {
      const out = {};
      for (const [name, item] of pairs) {
        if (room <= 0) {
          isCut = true;
          break;
        }
        const plain = simplify(item, depth);
        if (plain !== undefined)
          Object.defineProperty(out, cutText(name), { value: plain, enumerable: true, configurable: true, writable: true });
      }
      return out;
    };
    const convertObject = (object, depth) => {
      if (typeof object.toJSON === "function") return simplify(object.toJSON(), depth);
      if (Array.isArray(object)) return fillArray(object, depth, object.length);
      if (object instanceof TypedArray) return fillArray(object, depth, object.length);
      if (object instanceof Set) return fillArray(object, depth, object.size);
      if (object instanceof Map) {
        const isObject = [...object.keys()].every((key) => typeof key === "string");
        return isObject ? fillObject(object, depth) : fillArray(object, depth, object.size);
      }
      if (object instanceof RegExp || object instanceof Error) return cutText(String(object));
      if (object instanceof Number || object instanceof String || object instanceof Boolean || object instanceof BigInt)
        return simplify(object.valueOf(), depth);
      const tag = Object.prototype.toString.call(object);
      return tag === "[object Object]" ? fillObject(Object.entries(object), depth) : null;
    };
    const simplify = (value, depth) => {
      room -= 2;
      if (typeof value === "string") return cutText(value);
      if (typeof value === "number") {
        room -= 8;
        return Number.isFinite(value) ? value : null;
      }
      if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : cutText(String(value));
      if (value === undefined || typeof value === "boolean" || value === null) return value;
      if (typeof value !== "object") return null;
      if (depth >= DEPTH || above.has(value)) {
        isCut = true;
        return null;
      }
      above.add(value);
      try {
        return convertObject(value, depth + 1);
      } catch {
        return null;
      } finally {
        above.delete(value);
      }
    };
    return { value: simplify(value, 0) ?? null, isCut };
  };
});
