// stdin.js: process.stdin and the module `readline`. Standard input is whole from the start, so reading never waits; the
// events come later only because programs attach their listeners first.
(function (native, hooks) {
  const EventEmitter = hooks.builtins.events;
  let taken = { turn: -1, bytes: undefined, text: undefined };

  // What is left of this turn's standard input: bytes, which are text as soon as a line was read.
  const load = () => {
    if (taken.turn !== native.turn()) taken = { turn: native.turn(), bytes: native.read(0), text: undefined };
  };
  const remaining = () => {
    load();
    return (taken.text ??= native.decode(taken.bytes, false));
  };
  // All that is left, as Node gives it: a Buffer, or text in the encoding that was set; null if nothing is left.
  const takeAll = (encoding) => {
    load();
    const bytes = taken.text === undefined ? Buffer.from(taken.bytes) : Buffer.from(taken.text);
    taken.text = "";
    if (!bytes.length) return null;
    return encoding === undefined ? bytes : bytes.toString(encoding);
  };
  // The next line without its end, or null.
  const takeLine = () => {
    const text = remaining();
    if (text === "") return null;
    const at = text.indexOf("\n"),
      line = at < 0 ? text : text.slice(0, at);
    taken.text = at < 0 ? "" : text.slice(at + 1);
    return line.replace(/\r$/, "");
  };

  class Stdin extends EventEmitter {
    fd = 0;
    isTTY = false;
    #started = false;
    #encoding = { turn: -1, name: undefined };
    get readableEncoding() {
      return this.#encoding.turn === native.turn() ? this.#encoding.name : undefined;
    }
    read() {
      return takeAll(this.readableEncoding);
    }
    setEncoding(name) {
      this.#encoding = { turn: native.turn(), name: name ?? "utf8" };
      return this;
    }
    pipe(target) {
      this.on("data", (data) => target.write(data));
      this.on("end", () => target.end());
      return target;
    }
    resume() {
      return this;
    }
    pause() {
      return this;
    }
    unref() {
      return this;
    }
    on(name, listener) {
      super.on(name, listener);
      if (!this.#started && (name === "data" || name === "end" || name === "readable")) {
        this.#started = true;
        setImmediate(() => {
          this.#started = false;
          if (this.listenerCount("readable")) this.emit("readable");
          const data = this.read();
          if (data !== null) this.emit("data", data);
          this.emit("end");
          this.emit("close");
          this.removeAllListeners();
        });
      }
      return this;
    }
    async *[Symbol.asyncIterator]() {
      const data = this.read();
      if (data !== null) yield data;
    }
  }

  // Lines of another stream, as its chunks come.
  async function* linesOf(stream) {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of stream) {
      const lines = (rest + (typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true }))).split(/\r?\n/);
      rest = lines.pop();
      yield* lines;
    }
    if (rest) yield rest;
  }

  class Interface extends EventEmitter {
    #closed = false;
    #others;
    constructor(options) {
      super();
      const input = options?.input ?? process.stdin;
      if (input !== process.stdin) this.#others = linesOf(input);
      setImmediate(() => this.#pump());
    }
    // Hands lines to `line` listeners; without one the lines stay for question() and the iterator.
    async #pump() {
      if (!this.listenerCount("line")) return;
      if (this.#others) for await (const line of this.#others) this.emit("line", line);
      else for (let line; !this.#closed && (line = takeLine()) !== null;) this.emit("line", line);
      this.close();
    }
    question(query, options, callback) {
      process.stdout.write(query);
      const done = typeof options === "function" ? options : callback;
      const answer = this.#others ? this.#others.next().then(({ value }) => value ?? "") : Promise.resolve(takeLine() ?? "");
      if (done) answer.then((text) => setImmediate(done, text));
      return answer;
    }
    close() {
      if (this.#closed) return;
      this.#closed = true;
      this.emit("close");
    }
    setPrompt() {}
    prompt() {}
    pause() {
      return this;
    }
    resume() {
      return this;
    }
    async *[Symbol.asyncIterator]() {
      if (this.#others) yield* this.#others;
      else for (let line; (line = takeLine()) !== null;) yield line;
      this.close();
    }
  }

  process.stdin = new Stdin();
  const readline = { createInterface: (options) => new Interface(options), Interface };
  hooks.builtins.readline = { ...readline, promises: readline };
  hooks.builtins["readline/promises"] = readline;
});
