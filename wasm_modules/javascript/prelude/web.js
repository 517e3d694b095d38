// web.js: what browsers and Node share: text encoding, structuredClone, crypto randomness, events, abort signals.
(function (native, hooks) {
  const utf8Names = new Set(["utf-8", "utf8", "unicode-1-1-utf-8"]);

  const viewBytes = (source) => {
    if (source === undefined) return new Uint8Array(0);
    if (source instanceof ArrayBuffer) return new Uint8Array(source);
    if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
    throw new TypeError("The input must be an ArrayBuffer or a view of one");
  };
  hooks.viewBytes = viewBytes;

  class TextEncoder {
    get encoding() {
      return "utf-8";
    }
    encode(text = "") {
      return native.encode(`${text}`);
    }
    encodeInto(text, target) {
      let read = 0,
        written = 0;
      for (const c of `${text}`) {
        const bytes = native.encode(c);
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        written += bytes.length;
        read += c.length;
      }
      return { read, written };
    }
  }

  class TextDecoder {
    #fatal;
    #keepMark;
    #encoding;
    #held = new Uint8Array(0);
    #started = false;
    constructor(label = "utf-8", options = {}) {
      const name = `${label}`.trim().toLowerCase();
      if (utf8Names.has(name)) this.#encoding = "utf-8";
      else if (["latin1", "ascii", "us-ascii", "iso-8859-1", "windows-1252"].includes(name)) this.#encoding = "windows-1252";
      else if (["utf-16le", "utf-16", "ucs-2"].includes(name)) this.#encoding = "utf-16le";
      else throw new RangeError(`The "${label}" encoding is not supported`);
      this.#fatal = !!options.fatal;
      this.#keepMark = !!options.ignoreBOM;
    }
    get encoding() {
      return this.#encoding;
    }
    get fatal() {
      return this.#fatal;
    }
    get ignoreBOM() {
      return this.#keepMark;
    }
    decode(source, options = {}) {
      let bytes = viewBytes(source);
      if (this.#encoding === "windows-1252") return Array.from(bytes, (b) => String.fromCharCode(b)).join("");
      if (this.#held.length) {
        const joined = new Uint8Array(this.#held.length + bytes.length);
        joined.set(this.#held);
        joined.set(bytes, this.#held.length);
        bytes = joined;
        this.#held = new Uint8Array(0);
      }
      if (options.stream) {
        const keep = this.#encoding === "utf-8" ? incomplete(bytes) : bytes.length % 2;
        this.#held = bytes.slice(bytes.length - keep);
        bytes = bytes.subarray(0, bytes.length - keep);
      }
      let text = this.#encoding === "utf-8" ? native.decode(bytes, this.#fatal) : utf16(bytes);
      if (!this.#started && !this.#keepMark && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
      this.#started = !!options.stream && (this.#started || text.length > 0);
      return text;
    }
  }

  const utf16 = (bytes) => {
    let text = "";
    for (let i = 0; i + 1 < bytes.length; i += 2) text += String.fromCharCode(bytes[i] | (bytes[i + 1] << 8));
    return text;
  };

  // How many bytes at the end start a character that is not complete, and may become one.
  const incomplete = (bytes) => {
    for (let back = 1; back <= 3 && back <= bytes.length; back++) {
      const lead = bytes[bytes.length - back];
      if ((lead & 0xc0) === 0x80) continue;
      const need = lead < 0xc2 || lead > 0xf4 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
      if (need <= back) return 0;
      const next = bytes[bytes.length - back + 1];
      const [low, high] = [{ 0xe0: 0xa0, 0xf0: 0x90 }[lead] ?? 0x80, { 0xed: 0x9f, 0xf4: 0x8f }[lead] ?? 0xbf];
      return back > 1 && (next < low || next > high) ? 0 : back;
    }
    return 0;
  };

  const notCloneable = (what) => hooks.domException(`${what} could not be cloned.`, "DataCloneError");

  // Copies a value with its cycles. Containers are filled from a queue, so depth is no matter.
  const structuredClone = (value) => {
    const copies = new Map(),
      queue = [];
    const copy = (v) => {
      if (typeof v === "function") throw notCloneable(v.toString());
      if (typeof v === "symbol") throw notCloneable(v.toString());
      if (typeof v !== "object" || v === null) return v;
      if (copies.has(v)) return copies.get(v);
      const made = shell(v);
      copies.set(v, made);
      queue.push([v, made]);
      return made;
    };
    const shell = (v) => {
      if (Array.isArray(v)) return new Array(v.length);
      if (v instanceof Date) return new Date(v.getTime());
      if (v instanceof RegExp) return new RegExp(v.source, v.flags);
      if (v instanceof Map) return new Map();
      if (v instanceof Set) return new Set();
      if (v instanceof ArrayBuffer) return v.slice(0);
      if (ArrayBuffer.isView(v)) {
        const buffer = copy(v.buffer);
        return v instanceof DataView
          ? new DataView(buffer, v.byteOffset, v.byteLength)
          : new v.constructor(buffer, v.byteOffset, v.length);
      }
      if (v instanceof Error) {
        const types = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
        return new (types[v.name] ?? Error)(v.message);
      }
      if (v instanceof Number || v instanceof String || v instanceof Boolean) return Object(v.valueOf());
      if (v instanceof Promise || v instanceof WeakMap || v instanceof WeakSet || v instanceof WeakRef)
        throw notCloneable(`#<${v.constructor.name}>`);
      return {};
    };
    const result = copy(value);
    for (let i = 0; i < queue.length; i++) {
      const [from, to] = queue[i];
      if (from instanceof Map) for (const [k, v] of from) to.set(copy(k), copy(v));
      else if (from instanceof Set) for (const v of from) to.add(copy(v));
      else if (from instanceof Error) {
        Object.defineProperty(to, "stack", { value: from.stack, writable: true, configurable: true });
        if (Object.hasOwn(from, "cause"))
          Object.defineProperty(to, "cause", { value: copy(from.cause), writable: true, configurable: true });
      } else if (
        !ArrayBuffer.isView(from) &&
        !(from instanceof ArrayBuffer) &&
        !(from instanceof Date) &&
        !(from instanceof RegExp)
      )
        for (const k of Object.keys(from)) to[k] = copy(from[k]);
    }
    return result;
  };

  const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
  const crypto = {
    getRandomValues(array) {
      if (
        !ArrayBuffer.isView(array) ||
        array instanceof Float32Array ||
        array instanceof Float64Array ||
        array instanceof DataView
      )
        throw new TypeError("The data argument must be an integer typed array");
      if (array.byteLength > 65536) throw hooks.domException("The requested length exceeds 65,536 bytes", "QuotaExceededError");
      native.random(viewBytes(array));
      return array;
    },
    randomUUID() {
      const b = new Uint8Array(16);
      native.random(b);
      b[6] = (b[6] & 0x0f) | 0x40;
      b[8] = (b[8] & 0x3f) | 0x80;
      return [b.subarray(0, 4), b.subarray(4, 6), b.subarray(6, 8), b.subarray(8, 10), b.subarray(10)].map(hex).join("-");
    },
  };
  hooks.hex = hex;

  const STOPPED = Symbol("stopped");
  class Event {
    constructor(type, options = {}) {
      this.type = `${type}`;
      this.cancelable = !!options.cancelable;
      this.defaultPrevented = false;
      this.target = null;
      Object.defineProperty(this, STOPPED, { value: false, writable: true });
    }
    stopPropagation() {}
    stopImmediatePropagation() {
      this[STOPPED] = true;
    }
    preventDefault() {
      if (this.cancelable) this.defaultPrevented = true;
    }
  }

  class CustomEvent extends Event {
    constructor(type, options = {}) {
      super(type, options);
      this.detail = options.detail ?? null;
    }
  }

  class EventTarget {
    #listeners = new Map();
    addEventListener(type, listener, options) {
      const list = this.#listeners.get(type) ?? [];
      if (!list.some((l) => l.listener === listener)) list.push({ listener, once: !!options?.once });
      this.#listeners.set(type, list);
    }
    removeEventListener(type, listener) {
      this.#listeners.set(
        type,
        (this.#listeners.get(type) ?? []).filter((l) => l.listener !== listener),
      );
    }
    dispatchEvent(event) {
      event.target = this;
      for (const { listener, once } of [...(this.#listeners.get(event.type) ?? [])]) {
        if (event[STOPPED]) return !event.defaultPrevented;
        if (once) this.removeEventListener(event.type, listener);
        if (typeof listener === "function") listener.call(this, event);
        else listener.handleEvent(event);
      }
      const handler = this[`on${event.type}`];
      if (typeof handler === "function") handler.call(this, event);
      return !event.defaultPrevented;
    }
  }

  class AbortSignal extends EventTarget {
    aborted = false;
    reason = undefined;
    throwIfAborted() {
      if (this.aborted) throw this.reason;
    }
    static abort(reason) {
      const c = new AbortController();
      c.abort(reason);
      return c.signal;
    }
    static timeout(ms) {
      const c = new AbortController();
      setTimeout(() => c.abort(hooks.domException("The operation was aborted due to timeout", "TimeoutError")), ms).unref();
      return c.signal;
    }
    static any(signals) {
      const c = new AbortController();
      for (const s of signals) {
        if (s.aborted) {
          c.abort(s.reason);
          break;
        }
        s.addEventListener("abort", () => c.abort(s.reason), { once: true });
      }
      return c.signal;
    }
  }

  class AbortController {
    signal = new AbortSignal();
    abort(reason = hooks.domException("This operation was aborted", "AbortError")) {
      if (this.signal.aborted) return;
      this.signal.aborted = true;
      this.signal.reason = reason;
      this.signal.dispatchEvent(new Event("abort"));
    }
  }

  for (const [name, value] of Object.entries({
    TextEncoder,
    TextDecoder,
    structuredClone,
    crypto,
    Event,
    CustomEvent,
    EventTarget,
    AbortSignal,
    AbortController,
  }))
    hooks.define(name, value);

  // The engine's own object has the time its image was made as timeOrigin, for good.
  const engineNow = performance.now;
  const clearEntries = (type, name) => {
    entries.list = listed().filter((e) => e.entryType !== type || (name !== undefined && e.name !== name));
  };
  // Marks and measures of the running turn.
  let entries = { turn: -1, list: [] };
  const listed = () => {
    if (entries.turn !== native.turn()) entries = { turn: native.turn(), list: [] };
    return entries.list;
  };
  const enter = (name, entryType, startTime, duration, detail = null) => {
    const entry = { name: `${name}`, entryType, startTime, duration, detail };
    listed().push(entry);
    return entry;
  };
  const timeOf = (mark, otherwise) => {
    if (mark === undefined) return otherwise;
    if (typeof mark === "number") return mark;
    const found = listed().findLast((e) => e.entryType === "mark" && e.name === `${mark}`);
    if (!found) throw hooks.domException(`The "${mark}" performance mark has not been set`, "SyntaxError");
    return found.startTime;
  };
  hooks.define("performance", {
    now: () => engineNow(),
    mark: (name, options) => enter(name, "mark", options?.startTime ?? engineNow(), 0, options?.detail),
    measure: (name, from, until) => {
      const { start, end, detail } = typeof from === "object" && from !== null ? from : { start: from, end: until };
      const began = timeOf(start, 0);
      return enter(name, "measure", began, timeOf(end, engineNow()) - began, detail);
    },
    getEntries: () => [...listed()],
    getEntriesByName: (name, type) => listed().filter((e) => e.name === name && (type ?? e.entryType) === e.entryType),
    getEntriesByType: (type) => listed().filter((e) => e.entryType === type),
    clearMarks: (name) => clearEntries("mark", name),
    clearMeasures: (name) => clearEntries("measure", name),
    get timeOrigin() {
      return Date.now() - engineNow();
    },
    toJSON() {
      return { timeOrigin: this.timeOrigin };
    },
  });
});
