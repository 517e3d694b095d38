// typescript.js: what compiled TypeScript calls: members of enums, exports of namespaces, decorators; and a small React for JSX.
(function (native, hooks) {
  const held = []; // decorators of classes that are being made, the innermost last
  const KINDS = { get: "getter", set: "setter" };

  const member = (object, key, value) => {
    object[key] = value;
    if (typeof value === "number") object[value] = key;
    return value;
  };
  const share = (object, key, get, set) => Object.defineProperty(object, key, { get, set, enumerable: true, configurable: true });

  const expectFunction = (value, what) => {
    if (value !== undefined && typeof value !== "function") throw new TypeError(`a ${what} decorator must return a function`);
    return value;
  };
  const contextOf = (kind, name, isStatic, initializers, more) => {
    const access = { has: (object) => name in object, get: (object) => object[name], set: (object, value) => (object[name] = value) };
    return {
      ...{ kind, name, static: isStatic, private: typeof name === "string" && name.startsWith("#"), access, metadata: {} },
      addInitializer: (f) => initializers.push(expectFunction(f, kind)),
      ...more,
    };
  };

  // Decorators of the standard. Of a field they give functions that its first value goes through.
  const decorate = (owner, key, word, isStatic, decorators) => {
    const initializers = [],
      values = [];
    const kind = KINDS[word] ?? word;
    const context = contextOf(kind, typeof key === "symbol" ? key : `${key}`, isStatic, initializers);
    const home = isStatic ? owner : owner.prototype;
    const slot = { method: "value", getter: "get", setter: "set" }[kind];
    for (const decorator of decorators.toReversed()) {
      const field = slot && Object.getOwnPropertyDescriptor(home, key);
      const made = expectFunction(decorator.call(undefined, field?.[slot], context), kind);
      if (made === undefined) continue;
      if (slot) Object.defineProperty(home, key, { ...field, [slot]: made });
      else values.push(made);
    }
    return {
      start: (object) => initializers.forEach((f) => f.call(object)),
      initialize: (object, value) => values.reduce((now, f) => f.call(object, now), value),
    };
  };

  const decorateClass = (owner) => {
    const initializers = [];
    const context = contextOf("class", owner.name, undefined, initializers, { static: undefined, access: undefined });
    const made = held
      .pop()
      .toReversed()
      .reduce((now, decorator) => expectFunction(decorator(now, context), "class") ?? now, owner);
    initializers.forEach((f) => f.call(made));
    return made;
  };

  // Decorators as experimentalDecorators has them.
  const decorateExperimentally = (owner, key, isStatic, decorators) => {
    const isConstructor = key === "constructor" && !isStatic;
    const target = isStatic || isConstructor ? owner : owner.prototype;
    const before = isConstructor ? undefined : Object.getOwnPropertyDescriptor(target, key);
    const after = decorators
      .toReversed()
      .reduce((now, decorator) => decorator(target, isConstructor ? undefined : key, now) ?? now, before);
    if (before !== undefined) Object.defineProperty(target, key, after);
  };
  const parameter = (index, decorator) => (target, key) => void decorator(target, key, index);

  const tools = { member, share, hold: (decorators) => held.push(decorators), decorate, decorateClass, decorateExperimentally, parameter };
  hooks.define("$typescript", tools);

  const Fragment = Symbol.for("react.fragment");
  const createElement = (type, properties, ...children) => {
    const { key = null, ref = null, ...props } = properties ?? {};
    if (children.length > 0) props.children = children.length === 1 ? children[0] : children;
    return { type, key, ref, props };
  };
  hooks.defineLazy("React", () => ({ createElement, Fragment }));
});
