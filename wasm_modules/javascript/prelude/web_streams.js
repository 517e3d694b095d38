// web_streams.js: ReadableStream, WritableStream, TransformStream and what belongs to them.
(function (native, hooks) {
  const typeError = (message) => new TypeError(message);
  const sizeOf = (strategy, chunk) => strategy?.size?.(chunk) ?? 1;
  const markOf = (strategy, otherwise) => {
    const mark = strategy?.highWaterMark ?? otherwise;
    if (typeof mark !== "number" || Number.isNaN(mark) || mark < 0) throw new RangeError(`Invalid highWaterMark: ${mark}`);
    return mark;
  };
  const deferred = () => {
    const made = Promise.withResolvers();
    made.promise.catch(() => {});
    return made;
  };

  class ReadableStreamDefaultController {
    #stream;
    constructor(stream) {
      this.#stream = stream;
    }
    get desiredSize() {
      return this.#stream._desiredSize();
    }
    enqueue(chunk) {
      this.#stream._enqueue(chunk);
    }
    close() {
      this.#stream._closeQueue();
    }
    error(reason) {
      this.#stream._fail(reason);
    }
    get byobRequest() {
      return null;
    }
  }

  class ReadableStream {
    #queue = [];
    #total = 0;
    #reads = [];
    #state = "readable";
    #reason;
    #isClosing = false;
    #isPulling = false;
    #pullAgain = false;
    #isStarted = false;
    #source;
    #strategy;
    #mark;
    #controller;
    _reader;
    _closed = deferred();
    constructor(source = {}, strategy = {}) {
      this.#source = source ?? {};
      this.#strategy = source?.type === "bytes" ? { size: (chunk) => chunk.byteLength } : strategy;
      this.#mark = markOf(strategy, source?.type === "bytes" ? 0 : 1);
      this.#controller = new ReadableStreamDefaultController(this);
      const started = this.#source.start?.(this.#controller);
      Promise.resolve(started).then(() => ((this.#isStarted = true), this._pull()), (error) => this._fail(error));
    }
    get locked() {
      return this._reader !== undefined;
    }
    _desiredSize() {
      return this.#state === "errored" ? null : this.#state === "closed" ? 0 : this.#mark - this.#total;
    }
    _enqueue(chunk) {
      if (this.#isClosing || this.#state !== "readable") throw hooks.codedError(TypeError, "ERR_INVALID_STATE", "Invalid state: Controller is already closed");
      if (this.#reads.length) this.#reads.shift().resolve({ value: chunk, done: false });
      else {
        const size = sizeOf(this.#strategy, chunk);
        this.#queue.push([chunk, size]);
        this.#total += size;
      }
      this._pull();
    }
    _closeQueue() {
      if (this.#isClosing || this.#state !== "readable") throw hooks.codedError(TypeError, "ERR_INVALID_STATE", "Invalid state: Controller is already closed");
      this.#isClosing = true;
      if (this.#queue.length === 0) this._close();
    }
    _close() {
      this.#state = "closed";
      for (const read of this.#reads.splice(0)) read.resolve({ value: undefined, done: true });
      this._closed.resolve();
    }
    _fail(reason) {
      if (this.#state !== "readable") return;
      this.#state = "errored";
      this.#reason = reason;
      this.#queue = [];
      for (const read of this.#reads.splice(0)) read.reject(reason);
      this._closed.reject(reason);
    }
    _pull() {
      if (!this.#isStarted || this.#state !== "readable" || this.#isClosing || !this.#source.pull) return;
      if (this.#reads.length === 0 && this._desiredSize() <= 0) return;
      if (this.#isPulling) return void (this.#pullAgain = true);
      this.#isPulling = true;
      const after = () => {
        this.#isPulling = false;
        if (this.#pullAgain) ((this.#pullAgain = false), this._pull());
      };
      try {
        Promise.resolve(this.#source.pull(this.#controller)).then(after, (error) => this._fail(error));
      } catch (error) {
        this._fail(error);
      }
    }
    _read() {
      if (this.#state === "errored") return Promise.reject(this.#reason);
      if (this.#queue.length) {
        const [chunk, size] = this.#queue.shift();
        this.#total -= size;
        if (this.#isClosing && this.#queue.length === 0) this._close();
        else this._pull();
        return Promise.resolve({ value: chunk, done: false });
      }
      if (this.#state === "closed") return Promise.resolve({ value: undefined, done: true });
      const read = Promise.withResolvers();
      this.#reads.push(read);
      this._pull();
      return read.promise;
    }
    async _cancel(reason) {
      if (this.#state === "closed") return;
      if (this.#state === "errored") throw this.#reason;
      this.#queue = [];
      this._close();
      await this.#source.cancel?.(reason);
    }
    cancel(reason) {
      return this.locked ? Promise.reject(hooks.codedError(TypeError, "ERR_INVALID_STATE", "Invalid state: ReadableStream is locked")) : this._cancel(reason);
    }
    getReader() {
      return new ReadableStreamDefaultReader(this);
    }
    async pipeTo(target, { preventClose, preventAbort, preventCancel, signal } = {}) {
      const reader = this.getReader(),
        writer = target.getWriter();
      try {
        for (;;) {
          if (signal?.aborted) throw signal.reason;
          await writer.ready;
          const { value, done } = await reader.read();
          if (done) break;
          await writer.write(value);
        }
        if (!preventClose) await writer.close();
      } catch (error) {
        if (!preventAbort) await writer.abort(error).catch(() => {});
        if (!preventCancel) await reader.cancel(error).catch(() => {});
        throw error;
      } finally {
        reader.releaseLock();
        writer.releaseLock();
      }
    }
    pipeThrough({ readable, writable }, options) {
      this.pipeTo(writable, options).catch(() => {});
      return readable;
    }
    tee() {
      const reader = this.getReader(),
        sides = [];
      let isPulling = false;
      const pull = async () => {
        if (isPulling) return;
        isPulling = true;
        const { value, done } = await reader.read();
        isPulling = false;
        for (const controller of sides) done ? controller.close() : controller.enqueue(value);
      };
      const make = () => new ReadableStream({ start: (controller) => void sides.push(controller), pull });
      return [make(), make()];
    }
    async *values({ preventCancel = false } = {}) {
      const reader = this.getReader();
      let isOver = false;
      try {
        for (;;) {
          const { value, done } = await reader.read();
          if (done) return void (isOver = true);
          yield value;
        }
      } catch (error) {
        isOver = true;
        throw error;
      } finally {
        if (!isOver && !preventCancel) await reader.cancel();
        reader.releaseLock();
      }
    }
    [Symbol.asyncIterator](options) {
      return this.values(options);
    }
    static from(iterable) {
      const make = iterable?.[Symbol.asyncIterator] ?? iterable?.[Symbol.iterator];
      if (typeof make !== "function") throw hooks.invalidType("iterable", "an instance of Iterable", iterable);
      const iterator = make.call(iterable);
      return new ReadableStream(
        {
          async pull(controller) {
            const { value, done } = await iterator.next();
            done ? controller.close() : controller.enqueue(await value);
          },
          cancel: (reason) => iterator.return?.(reason),
        },
        { highWaterMark: 0 },
      );
    }
    [hooks.inspect.custom]() {
      return `ReadableStream { locked: ${this.locked}, state: '${this.#state}', supportsBYOB: false }`;
    }
  }

  class ReadableStreamDefaultReader {
    #stream;
    #closed;
    constructor(stream) {
      if (stream.locked) throw hooks.codedError(TypeError, "ERR_INVALID_STATE", "Invalid state: ReadableStream is locked");
      this.#stream = stream;
      this.#closed = stream._closed.promise;
      stream._reader = this;
    }
    get closed() {
      return this.#closed;
    }
    read() {
      return this.#stream ? this.#stream._read() : Promise.reject(typeError("The reader is not attached to a stream"));
    }
    cancel(reason) {
      return this.#stream ? this.#stream._cancel(reason) : Promise.reject(typeError("The reader is not attached to a stream"));
    }
    releaseLock() {
      if (this.#stream) this.#stream._reader = undefined;
      this.#stream = undefined;
    }
  }

  class WritableStreamDefaultController {
    #stream;
    #abort = new AbortController();
    constructor(stream) {
      this.#stream = stream;
    }
    get signal() {
      return this.#abort.signal;
    }
    error(reason) {
      this.#stream._fail(reason);
    }
  }

  class WritableStream {
    #sink;
    #strategy;
    #mark;
    #controller;
    #total = 0;
    #chain;
    #state = "writable";
    #reason;
    _writer;
    _closed = deferred();
    _ready = deferred();
    constructor(sink = {}, strategy = {}) {
      this.#sink = sink ?? {};
      this.#strategy = strategy;
      this.#mark = markOf(strategy, 1);
      this.#controller = new WritableStreamDefaultController(this);
      this.#chain = Promise.resolve(this.#sink.start?.(this.#controller));
      this.#chain.catch((error) => this._fail(error));
      if (this.#mark > 0) this._ready.resolve();
    }
    get locked() {
      return this._writer !== undefined;
    }
    _desiredSize() {
      return this.#state === "errored" ? null : this.#state === "closed" ? 0 : this.#mark - this.#total;
    }
    _fail(reason) {
      if (this.#state === "errored" || this.#state === "closed") return;
      this.#state = "errored";
      this.#reason = reason;
      this._closed.reject(reason);
      this._ready.reject(reason);
    }
    _refusal() {
      if (this.#state === "errored") return this.#reason;
      return this.#state === "writable" ? undefined : typeError("The stream is closing or closed");
    }
    _then(work) {
      const done = this.#chain.then(() => {
        if (this.#state === "errored") throw this.#reason;
        return work();
      });
      this.#chain = done.catch((error) => this._fail(error));
      return done;
    }
    _write(chunk) {
      const refusal = this._refusal();
      if (refusal) return Promise.reject(refusal);
      const size = sizeOf(this.#strategy, chunk);
      this.#total += size;
      if (this._desiredSize() <= 0) this._ready = deferred();
      return this._then(async () => {
        await this.#sink.write?.(chunk, this.#controller);
        this.#total -= size;
        if (this._desiredSize() > 0) this._ready.resolve();
      });
    }
    _close() {
      const refusal = this._refusal();
      if (refusal) return Promise.reject(refusal);
      this.#state = "closing";
      return this._then(async () => {
        await this.#sink.close?.();
        this.#state = "closed";
        this._closed.resolve();
      });
    }
    async _abort(reason) {
      if (this.#state === "closed" || this.#state === "errored") return;
      this._fail(reason);
      await this.#sink.abort?.(reason);
    }
    abort(reason) {
      return this.locked ? Promise.reject(typeError("The stream is locked")) : this._abort(reason);
    }
    close() {
      return this.locked ? Promise.reject(typeError("The stream is locked")) : this._close();
    }
    getWriter() {
      return new WritableStreamDefaultWriter(this);
    }
  }

  class WritableStreamDefaultWriter {
    #stream;
    constructor(stream) {
      if (stream.locked) throw hooks.codedError(TypeError, "ERR_INVALID_STATE", "Invalid state: WritableStream is locked");
      this.#stream = stream;
      stream._writer = this;
    }
    #attached() {
      if (!this.#stream) throw typeError("The writer is not attached to a stream");
      return this.#stream;
    }
    get closed() {
      return this.#attached()._closed.promise;
    }
    get ready() {
      return this.#attached()._ready.promise;
    }
    get desiredSize() {
      return this.#attached()._desiredSize();
    }
    async write(chunk) {
      return this.#attached()._write(chunk);
    }
    async close() {
      return this.#attached()._close();
    }
    async abort(reason) {
      return this.#attached()._abort(reason);
    }
    releaseLock() {
      if (this.#stream) this.#stream._writer = undefined;
      this.#stream = undefined;
    }
  }

  class TransformStream {
    constructor(transformer = {}, writableStrategy = {}, readableStrategy = {}) {
      let output;
      const wanted = { waiting: undefined, isPulled: false };
      this.readable = new ReadableStream(
        {
          start: (controller) => void (output = controller),
          pull: () => {
            wanted.isPulled = true;
            wanted.waiting?.resolve();
          },
          cancel: (reason) => this.writable._abort(reason),
        },
        { highWaterMark: 0, ...readableStrategy },
      );
      const controller = {
        enqueue: (chunk) => output.enqueue(chunk),
        error: (reason) => (output.error(reason), this.writable._fail(reason)),
        terminate: () => (output.close(), this.writable._fail(typeError("The transform stream has been terminated"))),
        get desiredSize() {
          return output.desiredSize;
        },
      };
      const room = async () => {
        if (output.desiredSize <= 0 && !wanted.isPulled) {
          wanted.waiting = Promise.withResolvers();
          await wanted.waiting.promise;
        }
        wanted.isPulled = false;
      };
      this.writable = new WritableStream(
        {
          start: () => transformer.start?.(controller),
          write: async (chunk) => {
            await room();
            try {
              if (transformer.transform) await transformer.transform(chunk, controller);
              else controller.enqueue(chunk);
            } catch (error) {
              output.error(error);
              throw error;
            }
          },
          close: async () => {
            try {
              await transformer.flush?.(controller);
              output.close();
            } catch (error) {
              output.error(error);
              throw error;
            }
          },
          abort: (reason) => output.error(reason),
        },
        writableStrategy,
      );
    }
  }

  class CountQueuingStrategy {
    constructor({ highWaterMark }) {
      this.highWaterMark = highWaterMark;
    }
    size() {
      return 1;
    }
  }
  class ByteLengthQueuingStrategy {
    constructor({ highWaterMark }) {
      this.highWaterMark = highWaterMark;
    }
    size(chunk) {
      return chunk.byteLength;
    }
  }
  class TextEncoderStream extends TransformStream {
    encoding = "utf-8";
    constructor() {
      super({ transform: (chunk, controller) => controller.enqueue(new TextEncoder().encode(chunk)) });
    }
  }
  class TextDecoderStream extends TransformStream {
    constructor(label, options) {
      const decoder = new TextDecoder(label, options);
      const give = (controller, text) => text && controller.enqueue(text);
      super({
        transform: (chunk, controller) => give(controller, decoder.decode(chunk, { stream: true })),
        flush: (controller) => give(controller, decoder.decode()),
      });
      this.encoding = decoder.encoding;
    }
  }
  const FORMATS = { gzip: ["gzipSync", "gunzipSync"], deflate: ["deflateSync", "inflateSync"], "deflate-raw": ["deflateRawSync", "inflateRawSync"] };
  const converting = (format, index) => {
    if (!Object.hasOwn(FORMATS, format)) throw hooks.invalidValue("format", format);
    const chunks = [];
    return {
      transform: (chunk) => void chunks.push(hooks.viewBytes(chunk)),
      flush: (controller) => controller.enqueue(new Uint8Array(hooks.builtins.zlib[FORMATS[format][index]](Buffer.concat(chunks)))),
    };
  };
  class CompressionStream extends TransformStream {
    constructor(format) {
      super(converting(format, 0));
    }
  }
  class DecompressionStream extends TransformStream {
    constructor(format) {
      super(converting(format, 1));
    }
  }
  hooks.webStreams = {
    ...{ ReadableStream, ReadableStreamDefaultReader, ReadableStreamDefaultController, WritableStream, WritableStreamDefaultWriter },
    ...{ WritableStreamDefaultController, TransformStream, CountQueuingStrategy, ByteLengthQueuingStrategy, TextEncoderStream },
    ...{ TextDecoderStream, CompressionStream, DecompressionStream },
  };
  for (const [name, value] of Object.entries(hooks.webStreams)) {
    Object.defineProperty(value.prototype, Symbol.toStringTag, { value: name, configurable: true });
    hooks.define(name, value);
  }
});
