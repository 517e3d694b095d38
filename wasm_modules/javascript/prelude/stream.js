// stream.js: the modules `stream`, `stream/promises` and `stream/consumers`.
(function (native, hooks) {
  const { EventEmitter } = hooks;
  const failure = hooks.codedError;
  const later = (f, ...args) => hooks.nextTick(f, ...args);

  function Stream(options) {
    EventEmitter.call(this, options);
  }
  Object.setPrototypeOf(Stream.prototype, EventEmitter.prototype);
  Object.setPrototypeOf(Stream, EventEmitter);

  const highWaterMarkOf = (options, side, isObject) => {
    const given = options?.[`${side}HighWaterMark`] ?? options?.highWaterMark;
    if (given === undefined || given === null) return getDefaultHighWaterMark(isObject);
    if (!Number.isInteger(given) || given < 0) throw hooks.invalidValue(`options.highWaterMark`, given);
    return given;
  };
  const defaults = { bytes: 65536, objects: 16 };
  const getDefaultHighWaterMark = (isObject) => (isObject ? defaults.objects : defaults.bytes);
  const setDefaultHighWaterMark = (isObject, value) => {
    hooks.checkInteger(value, "value", 0);
    defaults[isObject ? "objects" : "bytes"] = value;
  };

  const asChunk = (chunk, encoding, state) => {
    if (state.objectMode) return chunk;
    if (typeof chunk === "string") return state.decodeStrings === false ? chunk : Buffer.from(chunk, encoding);
    if (chunk instanceof Buffer) return chunk;
    if (ArrayBuffer.isView(chunk)) return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    throw hooks.invalidType("chunk", "of type string or an instance of Buffer, TypedArray, or DataView", chunk);
  };

  // Ending early, and the events at the end, are the same for both directions.
  const destroy = (stream, error, callback) => {
    const readable = stream._readableState,
      writable = stream._writableState;
    const states = [readable, writable].filter(Boolean);
    if (states.some((state) => state.destroyed)) {
      if (callback) later(callback);
      return stream;
    }
    for (const state of states) {
      state.destroyed = true;
      if (error) state.errored ??= error;
    }
    const finish = (failed = error) => {
      for (const state of states) {
        if (failed) state.errored ??= failed;
        state.closed = true;
      }
      callback?.(failed ?? null);
      later(() => {
        if (failed && !states.some((state) => state.errorEmitted)) {
          for (const state of states) state.errorEmitted = true;
          stream.emit("error", failed);
        }
        if (states.some((state) => state.emitClose !== false)) {
          for (const state of states) state.closeEmitted = true;
          stream.emit("close");
        }
      });
    };
    const run = () => {
      let isDone = false;
      const done = (failed) => {
        if (isDone) return;
        isDone = true;
        finish(failed ?? error ?? undefined);
      };
      try {
        const made = stream._destroy(error ?? null, done);
        if (typeof made?.then === "function") made.then(() => later(done), (failed) => later(done, failed));
      } catch (thrown) {
        done(thrown);
      }
    };
    if (states.every((state) => state.constructed !== false)) run();
    else stream.once("_constructed", run);
    return stream;
  };
  const construct = (stream) => {
    if (typeof stream._construct !== "function") return;
    const states = [stream._readableState, stream._writableState].filter(Boolean);
    if (states.some((state) => state.constructed === false)) return;
    for (const state of states) state.constructed = false;
    later(() => {
      const done = (error) => {
        for (const state of states) state.constructed = true;
        stream.emit("_constructed");
        if (error) return destroy(stream, error);
        if (stream._readableState?.length === 0 && stream._readableState.wantsRead) readMore(stream);
        if (stream._writableState) writeNext(stream);
      };
      try {
        stream._construct(done);
      } catch (error) {
        done(error);
      }
    });
  };
  const fail = (stream, error) => {
    const auto = (stream._readableState ?? stream._writableState).autoDestroy !== false;
    if (auto) return destroy(stream, error);
    for (const state of [stream._readableState, stream._writableState].filter(Boolean)) state.errored ??= error;
    later(() => stream.emit("error", error));
    return stream;
  };
  const maybeClose = (stream) => {
    const { _readableState: r, _writableState: w } = stream;
    const isOver = (!r || r.endEmitted || r.destroyed) && (!w || w.finished || w.destroyed);
    if (isOver && (r ?? w).autoDestroy !== false) destroy(stream);
  };
  const attach = (stream, options) => {
    for (const name of ["read", "write", "writev", "final", "destroy", "construct", "transform", "flush"])
      if (typeof options?.[name] === "function") stream[`_${name}`] = options[name];
    if (options?.signal) addAbortSignal(options.signal, stream);
  };

  // Readable

  function Readable(options) {
    if (!(this instanceof Readable)) return new Readable(options);
    Stream.call(this, options);
    initReadable(this, options);
    attach(this, options);
    construct(this);
  }
  Object.setPrototypeOf(Readable.prototype, Stream.prototype);
  Object.setPrototypeOf(Readable, Stream);
  const initReadable = (stream, options) => {
    const objectMode = !!(options?.objectMode || options?.readableObjectMode);
    const { StringDecoder } = hooks;
    stream._readableState = {
      ...{ objectMode, highWaterMark: highWaterMarkOf(options, "readable", objectMode), buffer: [], length: 0 },
      ...{ flowing: null, ended: false, endEmitted: false, reading: false, destroyed: false, errored: null, closed: false },
      ...{ autoDestroy: options?.autoDestroy ?? true, emitClose: options?.emitClose ?? true, pipes: [], awaitDrain: new Set() },
      ...{ encoding: options?.encoding ?? null, decoder: options?.encoding ? new StringDecoder(options.encoding) : null },
      ...{ defaultEncoding: options?.defaultEncoding ?? "utf8", readableListening: false, resumeScheduled: false, didRead: false },
    };
  };
  const sizeOf = (state, chunk) => (state.objectMode ? 1 : chunk.length);

  const add = (stream, chunk, encoding, toFront) => {
    const state = stream._readableState;
    state.reading = false;
    if (chunk === null) {
      endReading(stream);
      return false;
    }
    if (!state.objectMode) {
      if (typeof chunk === "string") {
        if (!state.decoder || (encoding ?? state.defaultEncoding) !== state.encoding)
          chunk = Buffer.from(chunk, encoding ?? state.defaultEncoding);
      } else if (!(chunk instanceof Buffer)) {
        if (!ArrayBuffer.isView(chunk)) {
          if (chunk === undefined) return needsMore(state);
          fail(stream, hooks.invalidType("chunk", "of type string or an instance of Buffer, TypedArray, or DataView", chunk));
          return false;
        }
        chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      }
      if (state.ended && !toFront) {
        fail(stream, failure(Error, "ERR_STREAM_PUSH_AFTER_EOF", "stream.push() after EOF"));
        return false;
      }
      if (toFront && state.endEmitted) {
        fail(stream, failure(Error, "ERR_STREAM_UNSHIFT_AFTER_END_EVENT", "stream.unshift() after end event"));
        return false;
      }
      if (state.decoder && typeof chunk !== "string") chunk = state.decoder.write(chunk);
      if (chunk.length === 0) return needsMore(state, stream);
    } else if (state.ended && !toFront) {
      fail(stream, failure(Error, "ERR_STREAM_PUSH_AFTER_EOF", "stream.push() after EOF"));
      return false;
    }
    if (state.destroyed || state.errored) return false;
    if (state.flowing && state.length === 0 && !state.isSync && stream.listenerCount("data") > 0) {
      stream.emit("data", chunk);
    } else {
      state.buffer[toFront ? "unshift" : "push"](chunk);
      state.length += sizeOf(state, chunk);
      announce(stream);
    }
    if (!state.isSync) scheduleMore(stream);
    return needsMore(state);
  };
  const needsMore = (state) => !state.ended && (state.length < state.highWaterMark || state.length === 0);
  const endReading = (stream) => {
    const state = stream._readableState;
    if (state.ended) return;
    const rest = state.decoder?.end();
    if (rest) {
      state.buffer.push(rest);
      state.length += sizeOf(state, rest);
    }
    state.ended = true;
    announce(stream);
    if (state.flowing) later(flow, stream);
  };
  const announce = (stream) => {
    const state = stream._readableState;
    if (state.announced) return;
    state.announced = true;
    later(() => {
      state.announced = false;
      if (state.destroyed || state.errored) return;
      if (state.readableListening && (state.length || state.ended)) stream.emit("readable");
      if (state.flowing) flow(stream);
      else if (state.ended && state.length === 0 && state.readableListening) endReadable(stream);
    });
  };
  const scheduleMore = (stream) => {
    const state = stream._readableState;
    if (state.moreScheduled) return;
    state.moreScheduled = true;
    later(() => {
      state.moreScheduled = false;
      const isWanted = state.flowing || state.length < state.highWaterMark || state.readableListening;
      if (isWanted && !state.reading && needsMore(state) && state.didRead) readMore(stream);
    });
  };
  const readMore = (stream) => {
    const state = stream._readableState;
    state.didRead = true;
    if (state.reading || state.ended || state.destroyed || state.errored) return;
    if (state.constructed === false) {
      state.wantsRead = true;
      return;
    }
    state.reading = state.isSync = true;
    try {
      stream._read(state.highWaterMark);
    } catch (error) {
      destroy(stream, error);
    }
    state.isSync = false;
    if (!state.reading) scheduleMore(stream);
  };
  const endReadable = (stream) => {
    const state = stream._readableState;
    if (state.endEmitted || state.endScheduled) return;
    state.endScheduled = true;
    later(() => {
      if (state.endEmitted || state.errored || state.length > 0) {
        state.endScheduled = false;
        return;
      }
      state.endEmitted = true;
      stream.readable = false;
      stream.emit("end");
      if (stream.allowHalfOpen === false && stream._writableState && !stream._writableState.ending) stream.end();
      maybeClose(stream);
    });
  };
  const flow = (stream) => {
    const state = stream._readableState;
    while (state.flowing && stream.read() !== null);
  };
  const take = (state, size) => {
    if (state.objectMode) return state.buffer.shift();
    const all = () => (state.buffer.length === 1 ? state.buffer[0] : typeof state.buffer[0] === "string" ? state.buffer.join("") : Buffer.concat(state.buffer));
    if (size === undefined) {
      const whole = state.flowing ? state.buffer.shift() : all();
      if (!state.flowing) state.buffer = [];
      return whole;
    }
    const joined = all();
    state.buffer = size < joined.length ? [joined.slice(size)] : [];
    return joined.slice(0, size);
  };

  const readableMethods = {
    read(size) {
      const state = this._readableState;
      if (size !== undefined && !Number.isNaN(size)) size = Number.parseInt(size, 10);
      if (Number.isNaN(size)) size = undefined;
      if (size === 0) {
        if (state.length >= state.highWaterMark || state.ended) announce(this);
        else readMore(this);
        return null;
      }
      if (size !== undefined && size > state.highWaterMark && !state.objectMode) state.highWaterMark = Math.min(size, 2 ** 30);
      if (state.ended && state.length === 0) {
        endReadable(this);
        return null;
      }
      if (state.length - (size ?? 0) < state.highWaterMark || state.length === 0) readMore(this);
      if (state.length === 0 || (size !== undefined && size > state.length && !state.ended && !state.objectMode)) return null;
      if (state.destroyed && state.errored) return null;
      const count = size === undefined || state.objectMode ? undefined : Math.min(size, state.length);
      const chunk = take(state, count);
      state.length -= sizeOf(state, chunk);
      if (state.length === 0 && state.ended) endReadable(this);
      if (!state.errored) this.emit("data", chunk);
      return chunk;
    },
    _read() {
      throw failure(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _read() method is not implemented");
    },
    push(chunk, encoding) {
      return add(this, chunk, encoding, false);
    },
    unshift(chunk, encoding) {
      return add(this, chunk, encoding, true);
    },
    isPaused() {
      return this._readableState.flowing === false;
    },
    setEncoding(encoding) {
      const state = this._readableState;
      state.decoder = new hooks.StringDecoder(encoding);
      state.encoding = state.decoder.encoding;
      const text = state.buffer.map((chunk) => state.decoder.write(chunk)).join("");
      state.buffer = text ? [text] : [];
      state.length = text.length;
      return this;
    },
    on(name, listener) {
      Stream.prototype.on.call(this, name, listener);
      const state = this._readableState;
      if (name === "data") {
        state.readableListening = this.listenerCount("readable") > 0;
        if (state.flowing !== false && !state.readableListening) this.resume();
      } else if (name === "readable" && !state.endEmitted && !state.readableListening) {
        state.readableListening = true;
        state.flowing = false;
        if (state.length || state.ended) announce(this);
        else if (!state.reading) later(readMore, this);
      }
      return this;
    },
    off(name, listener) {
      Stream.prototype.off.call(this, name, listener);
      if (name === "readable") later(afterRemoval, this);
      return this;
    },
    removeAllListeners(name) {
      Stream.prototype.removeAllListeners.apply(this, arguments);
      if (name === "readable" || name === undefined) later(afterRemoval, this);
      return this;
    },
    resume() {
      const state = this._readableState;
      if (!state.flowing) {
        state.flowing = !state.readableListening;
        state.explicitlyPaused = false;
        if (!state.resumeScheduled) {
          state.resumeScheduled = true;
          later(() => {
            state.resumeScheduled = false;
            if (!state.reading) this.read(0);
            this.emit("resume");
            flow(this);
            if (state.flowing && !state.reading) this.read(0);
            if (state.ended && state.length === 0) endReadable(this);
          });
        }
      }
      return this;
    },
    pause() {
      const state = this._readableState;
      if (state.flowing !== false) {
        state.flowing = false;
        this.emit("pause");
      }
      return this;
    },
    pipe(target, options) {
      const state = this._readableState;
      const onData = (chunk) => {
        if (target.write(chunk) === false) {
          state.awaitDrain.add(target);
          this.pause();
        }
      };
      const onDrain = () => {
        state.awaitDrain.delete(target);
        if (state.awaitDrain.size === 0 && this.listenerCount("data") > 0) {
          state.flowing = true;
          flow(this);
          if (!state.reading) this.read(0);
        }
      };
      const onEnd = () => target.end();
      const isEnding = options?.end !== false && target !== process.stdout && target !== process.stderr;
      const unpipe = () => this.unpipe(target);
      const onError = (error) => {
        unpipe();
        target.off("error", onError);
        if (target.listenerCount("error") === 0) fail(target, error);
      };
      const clean = () => {
        this.off("data", onData);
        this.off("end", isEnding ? onEnd : unpipe);
        target.off("drain", onDrain);
        target.off("error", onError);
        target.off("close", unpipe);
        target.off("finish", unpipe);
        target.off("unpipe", onUnpipe);
        if (state.awaitDrain.delete(target)) this.resume();
      };
      const onUnpipe = (source, info) => {
        if (source !== this || info?.isDone) return;
        if (info) info.isDone = true;
        clean();
      };
      state.pipes.push(target);
      if (state.endEmitted) later(isEnding ? onEnd : unpipe);
      else this.once("end", isEnding ? onEnd : unpipe);
      target.on("unpipe", onUnpipe);
      this.on("data", onData);
      target.on("drain", onDrain);
      target.prependListener("error", onError);
      target.once("close", unpipe);
      target.once("finish", unpipe);
      target.emit("pipe", this);
      if (target.writableNeedDrain === true) this.pause();
      else if (!state.flowing) this.resume();
      return target;
    },
    unpipe(target) {
      const state = this._readableState;
      const gone = target === undefined ? state.pipes.splice(0) : state.pipes.includes(target) ? [target] : [];
      state.pipes = state.pipes.filter((each) => !gone.includes(each));
      if (state.pipes.length === 0 && gone.length) this.pause();
      for (const each of gone) each.emit("unpipe", this, {});
      return this;
    },
    wrap(old) {
      old.on("data", (chunk) => this.push(chunk) || old.pause?.());
      old.on("end", () => this.push(null));
      old.on("error", (error) => this.destroy(error));
      this._read = () => old.resume?.();
      return this;
    },
    iterator(options) {
      return iterate(this, options);
    },
    [Symbol.asyncIterator]() {
      return iterate(this);
    },
  };
  const afterRemoval = (stream) => {
    const state = stream._readableState;
    state.readableListening = stream.listenerCount("readable") > 0;
    if (!state.readableListening && stream.listenerCount("data") > 0 && state.flowing === false && !state.explicitlyPaused) stream.resume();
  };
  async function* iterate(stream, options) {
    let wake = () => {},
      error;
    let isOver = false;
    const stir = () => wake();
    stream.on("readable", stir);
    const forget = finished(stream, { writable: false }, (failed) => {
      error = failed;
      isOver = true;
      wake();
    });
    try {
      for (;;) {
        const chunk = stream.destroyed && stream._readableState.errored ? null : stream.read();
        if (chunk !== null) yield chunk;
        else if (error) throw error;
        else if (isOver) return;
        else await new Promise((resolve) => (wake = resolve));
      }
    } catch (failed) {
      error = failed;
      throw failed;
    } finally {
      forget();
      stream.off("readable", stir);
      if ((error || options?.destroyOnReturn !== false) && (error !== undefined || stream._readableState.autoDestroy)) destroy(stream);
    }
  }

  // Functions of arrays over what comes.
  const operators = {
    map(f, { signal } = {}) {
      hooks.checkFunction(f, "fn");
      const source = this;
      return Readable.from((async function* () {
        for await (const chunk of source) yield await f(chunk, { signal });
      })());
    },
    filter(f) {
      hooks.checkFunction(f, "fn");
      const source = this;
      return Readable.from((async function* () {
        for await (const chunk of source) if (await f(chunk, {})) yield chunk;
      })());
    },
    flatMap(f) {
      hooks.checkFunction(f, "fn");
      const source = this;
      return Readable.from((async function* () {
        for await (const chunk of source) yield* await f(chunk, {});
      })());
    },
    take(count) {
      const source = this;
      return Readable.from((async function* () {
        let left = Number(count);
        if (left > 0) for await (const chunk of source) if ((yield chunk, --left <= 0)) return;
      })());
    },
    drop(count) {
      const source = this;
      return Readable.from((async function* () {
        let left = Number(count);
        for await (const chunk of source) if (left-- <= 0) yield chunk;
      })());
    },
    compose(next) {
      return compose(this, next);
    },
  };
  const reductions = {
    async toArray() {
      const all = [];
      for await (const chunk of this) all.push(chunk);
      return all;
    },
    async forEach(f) {
      hooks.checkFunction(f, "fn");
      for await (const chunk of this) await f(chunk, {});
    },
    async some(f) {
      for await (const chunk of this) if (await f(chunk, {})) return true;
      return false;
    },
    async every(f) {
      for await (const chunk of this) if (!(await f(chunk, {}))) return false;
      return true;
    },
    async find(f) {
      for await (const chunk of this) if (await f(chunk, {})) return chunk;
      return undefined;
    },
    async reduce(f, ...initial) {
      hooks.checkFunction(f, "reducer");
      let value = initial[0],
        isFirst = initial.length === 0;
      for await (const chunk of this) {
        value = isFirst ? chunk : await f(value, chunk, {});
        isFirst = false;
      }
      if (isFirst) throw failure(TypeError, "ERR_INVALID_ARG_VALUE", "Reduce of an empty stream requires an initial value");
      return value;
    },
  };

  // Writable

  function Writable(options) {
    if (!(this instanceof Writable) && !(this instanceof Duplex)) return new Writable(options);
    Stream.call(this, options);
    initWritable(this, options);
    attach(this, options);
    construct(this);
  }
  Object.setPrototypeOf(Writable.prototype, Stream.prototype);
  Object.setPrototypeOf(Writable, Stream);
  const initWritable = (stream, options) => {
    const objectMode = !!(options?.objectMode || options?.writableObjectMode);
    stream._writableState = {
      ...{ objectMode, highWaterMark: highWaterMarkOf(options, "writable", objectMode), buffered: [], length: 0, corked: 0 },
      ...{ writing: false, ending: false, ended: false, finished: false, destroyed: false, errored: null, closed: false },
      ...{ needDrain: false, decodeStrings: options?.decodeStrings ?? true, defaultEncoding: options?.defaultEncoding ?? "utf8" },
      ...{ autoDestroy: options?.autoDestroy ?? true, emitClose: options?.emitClose ?? true, pending: 0, finals: [] },
    };
  };
  const finishWrite = (stream, entries, error) => {
    const state = stream._writableState;
    state.writing = false;
    for (const { chunk } of entries) state.length -= sizeOf(state, chunk);
    if (error) {
      for (const { callback } of entries) callback?.(error);
      failBuffered(stream, error);
      fail(stream, error);
      return;
    }
    const after = () => {
      if (state.destroyed && !state.finished && state.errored === null && false) return;
      if (state.needDrain && state.length === 0 && !state.ending && !state.destroyed) {
        state.needDrain = false;
        stream.emit("drain");
      }
      for (const { callback } of entries) {
        state.pending--;
        callback?.(null);
      }
      maybeFinish(stream);
    };
    writeNext(stream);
    if (state.isSync) later(after);
    else after();
  };
  const failBuffered = (stream, error) => {
    const state = stream._writableState;
    for (const { callback, chunk } of state.buffered.splice(0)) {
      state.length -= sizeOf(state, chunk);
      later(() => callback?.(error));
    }
    for (const callback of state.finals.splice(0)) later(callback, error);
  };
  const writeNext = (stream) => {
    const state = stream._writableState;
    if (state.writing || state.corked || state.constructed === false || state.destroyed || !state.buffered.length) {
      if (!state.buffered.length && !state.writing) maybeFinish(stream);
      return;
    }
    state.writing = state.isSync = true;
    let isDone = false;
    const entries = stream._writev && state.buffered.length > 1 ? state.buffered.splice(0) : [state.buffered.shift()];
    const done = (error) => {
      if (isDone) return fail(stream, failure(Error, "ERR_MULTIPLE_CALLBACK", "Callback called multiple times"));
      isDone = true;
      finishWrite(stream, entries, error);
    };
    try {
      if (entries.length > 1 || (stream._writev && !hasOwnWrite(stream))) stream._writev(entries.map(({ chunk, encoding }) => ({ chunk, encoding })), done);
      else stream._write(entries[0].chunk, entries[0].encoding, done);
    } finally {
      state.isSync = false;
    }
  };
  const hasOwnWrite = (stream) => stream._write !== Writable.prototype._write;
  const maybeFinish = (stream) => {
    const state = stream._writableState;
    if (!state.ending || state.finished || state.finalCalled || state.writing || state.buffered.length || state.pending > 0) return;
    if (state.errored || state.destroyed || state.constructed === false) return;
    state.finalCalled = true;
    const done = (error) => {
      if (error) {
        for (const callback of state.finals.splice(0)) callback(error);
        return fail(stream, error);
      }
      later(() => {
        if (state.errored || state.finished) return;
        state.finished = true;
        for (const callback of state.finals.splice(0)) callback(null);
        stream.emit("finish");
        maybeClose(stream);
      });
    };
    stream.emit("prefinish");
    if (typeof stream._final !== "function") return done();
    later(() => {
      try {
        stream._final((error) => later(done, error));
      } catch (error) {
        done(error);
      }
    });
  };
  const writableMethods = {
    write(chunk, encoding, callback) {
      if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
      const state = this._writableState;
      if (chunk === null) throw failure(TypeError, "ERR_STREAM_NULL_VALUES", "May not write null values to stream");
      encoding ??= state.defaultEncoding;
      if (encoding !== "buffer" && !Buffer.isEncoding(encoding)) throw failure(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${encoding}`);
      const isText = typeof chunk === "string";
      chunk = asChunk(chunk, encoding, state);
      const error = state.ending
        ? failure(Error, "ERR_STREAM_WRITE_AFTER_END", "write after end")
        : state.destroyed
          ? failure(Error, "ERR_STREAM_DESTROYED", "Cannot call write after a stream was destroyed")
          : undefined;
      if (error) {
        if (callback) later(callback, error);
        if (state.ending) fail(this, error);
        return false;
      }
      state.length += sizeOf(state, chunk);
      state.pending++;
      const isRoom = state.length < state.highWaterMark;
      if (!isRoom) state.needDrain = true;
      state.buffered.push({ chunk, encoding: isText && state.decodeStrings === false ? encoding : state.objectMode ? encoding : "buffer", callback });
      writeNext(this);
      return isRoom && !state.errored && !state.destroyed;
    },
    _write(chunk, encoding, callback) {
      if (!this._writev) throw failure(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _write() method is not implemented");
      this._writev([{ chunk, encoding }], callback);
    },
    end(chunk, encoding, callback) {
      if (typeof chunk === "function") [chunk, callback] = [undefined, chunk];
      else if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
      const state = this._writableState;
      if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
      if (state.corked) {
        state.corked = 1;
        this.uncork();
      }
      let error;
      if (state.finished) error = failure(Error, "ERR_STREAM_ALREADY_FINISHED", "Cannot call end after a stream was finished");
      else if (state.destroyed) error = failure(Error, "ERR_STREAM_DESTROYED", "Cannot call end after a stream was destroyed");
      if (typeof callback === "function") {
        if (error || state.errored) later(callback, error ?? state.errored);
        else state.finals.push(callback);
      }
      if (!error && !state.errored) {
        state.ending = state.ended = true;
        this.writable = false;
        maybeFinish(this);
      }
      return this;
    },
    cork() {
      this._writableState.corked++;
    },
    uncork() {
      const state = this._writableState;
      if (state.corked && --state.corked === 0) writeNext(this);
    },
    setDefaultEncoding(encoding) {
      if (!Buffer.isEncoding(encoding)) throw failure(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${encoding}`);
      this._writableState.defaultEncoding = `${encoding}`.toLowerCase();
      return this;
    },
  };
  const shared = {
    destroy(error, callback) {
      return destroy(this, error, callback);
    },
    _destroy(error, callback) {
      callback(error);
    },
    async [Symbol.asyncDispose]() {
      if (!this.destroyed) destroy(this, this.readableEnded === true ? null : hooks.abortError());
      await new Promise((resolve) => finished(this, () => resolve()));
    },
  };
  // Pipes from what can only be written are mistakes.
  const refusePipe = {
    pipe() {
      fail(this, failure(Error, "ERR_STREAM_CANNOT_PIPE", "Cannot pipe, not readable"));
    },
  };
  const defineMethods = (target, ...groups) => {
    for (const group of groups)
      for (const key of Reflect.ownKeys(group))
        Object.defineProperty(target, key, { value: group[key], writable: true, configurable: true, enumerable: false });
  };
  const defineGetters = (target, getters) => {
    for (const [name, get] of Object.entries(getters))
      Object.defineProperty(target, name, {
        get,
        set(value) {
          Object.defineProperty(this, name, { value, writable: true, configurable: true, enumerable: true });
        },
        configurable: true,
        enumerable: false,
      });
  };
  const isDestroyed = function () {
    return !!(this._readableState ?? this._writableState)?.destroyed && (this._writableState ?? this._readableState).destroyed;
  };
  const common = {
    destroyed: isDestroyed,
    closed() {
      return !!(this._readableState ?? this._writableState)?.closeEmitted;
    },
    errored() {
      return (this._readableState ?? this._writableState)?.errored ?? null;
    },
  };
  const readableGetters = {
    ...common,
    readable() {
      const state = this._readableState;
      return !!state && !state.destroyed && !state.endEmitted && !state.errored;
    },
    readableFlowing() {
      return this._readableState.flowing;
    },
    readableLength() {
      return this._readableState.length;
    },
    readableHighWaterMark() {
      return this._readableState.highWaterMark;
    },
    readableObjectMode() {
      return this._readableState.objectMode;
    },
    readableEncoding() {
      return this._readableState.encoding;
    },
    readableEnded() {
      return this._readableState.endEmitted;
    },
    readableBuffer() {
      return this._readableState.buffer;
    },
    readableAborted() {
      const state = this._readableState;
      return (state.destroyed || !!state.errored) && !state.endEmitted;
    },
    readableDidRead() {
      return this._readableState.didRead;
    },
  };
  const writableGetters = {
    ...common,
    writable() {
      const state = this._writableState;
      return !!state && !state.destroyed && !state.ending && !state.errored;
    },
    writableLength() {
      return this._writableState.length;
    },
    writableHighWaterMark() {
      return this._writableState.highWaterMark;
    },
    writableObjectMode() {
      return this._writableState.objectMode;
    },
    writableEnded() {
      return this._writableState.ending;
    },
    writableFinished() {
      return this._writableState.finished;
    },
    writableNeedDrain() {
      const state = this._writableState;
      return !state.destroyed && !state.ending && state.needDrain;
    },
    writableCorked() {
      return this._writableState.corked;
    },
    writableAborted() {
      const state = this._writableState;
      return (state.destroyed || !!state.errored) && !state.finished;
    },
    writableBuffer() {
      return this._writableState.buffered;
    },
  };
  defineMethods(Readable.prototype, readableMethods, operators, reductions, shared);
  Readable.prototype.addListener = Readable.prototype.on;
  Readable.prototype.removeListener = Readable.prototype.off;
  defineGetters(Readable.prototype, readableGetters);
  defineMethods(Writable.prototype, writableMethods, shared, refusePipe);
  defineGetters(Writable.prototype, writableGetters);
  Object.defineProperty(Writable, Symbol.hasInstance, {
    value(object) {
      return Function.prototype[Symbol.hasInstance].call(this, object) || (this === Writable && !!object?._writableState);
    },
  });

  // Duplex, Transform, PassThrough

  function Duplex(options) {
    if (!(this instanceof Duplex)) return new Duplex(options);
    Stream.call(this, options);
    initReadable(this, options);
    initWritable(this, options);
    this.allowHalfOpen = options?.allowHalfOpen !== false;
    if (options?.readable === false) Object.assign(this._readableState, { ended: true, endEmitted: true });
    if (options?.writable === false) Object.assign(this._writableState, { ending: true, ended: true, finished: true });
    attach(this, options);
    construct(this);
  }
  Object.setPrototypeOf(Duplex.prototype, Readable.prototype);
  Object.setPrototypeOf(Duplex, Readable);
  defineMethods(Duplex.prototype, writableMethods);
  defineGetters(Duplex.prototype, writableGetters);

  function Transform(options) {
    if (!(this instanceof Transform)) return new Transform(options);
    Duplex.call(this, { ...options, readableHighWaterMark: options?.readableHighWaterMark });
  }
  Object.setPrototypeOf(Transform.prototype, Duplex.prototype);
  Object.setPrototypeOf(Transform, Duplex);
  defineMethods(Transform.prototype, {
    _transform() {
      throw failure(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _transform() method is not implemented");
    },
    _write(chunk, encoding, callback) {
      const { length } = this._readableState;
      this._transform(chunk, encoding, (error, value) => {
        if (error) return callback(error);
        if (value !== null && value !== undefined) this.push(value);
        const state = this._readableState;
        if (state.ended || length === state.length || state.length < state.highWaterMark) callback();
        else this._waiting = callback;
      });
    },
    _final(callback) {
      if (typeof this._flush !== "function" || this.destroyed) {
        this.push(null);
        return callback();
      }
      this._flush((error, value) => {
        if (error) return callback(error);
        if (value !== null && value !== undefined) this.push(value);
        this.push(null);
        callback();
      });
    },
    _read() {
      const waiting = this._waiting;
      this._waiting = undefined;
      waiting?.();
    },
  });

  function PassThrough(options) {
    if (!(this instanceof PassThrough)) return new PassThrough(options);
    Transform.call(this, options);
  }
  Object.setPrototypeOf(PassThrough.prototype, Transform.prototype);
  Object.setPrototypeOf(PassThrough, Transform);
  defineMethods(PassThrough.prototype, {
    _transform(chunk, encoding, callback) {
      callback(null, chunk);
    },
  });

  // Functions of the module

  const isStream = (value) => !!(value?._readableState || value?._writableState) || (typeof value?.on === "function" && (typeof value.pipe === "function" || typeof value.write === "function"));
  function finished(stream, options, callback) {
    if (typeof options === "function") [options, callback] = [{}, options];
    options ??= {};
    hooks.checkFunction(callback, "callback");
    if (!isStream(stream)) throw hooks.invalidType("stream", "an instance of ReadableStream, WritableStream, or Stream", stream);
    const { _readableState: r, _writableState: w } = stream;
    const reads = options.readable ?? !!(r ?? stream.readable),
      writes = options.writable ?? !!(w ?? stream.writable);
    let isCalled = false;
    const call = (error) => {
      if (isCalled) return;
      isCalled = true;
      callback.call(stream, error);
    };
    const isEnded = () => !reads || !r || r.endEmitted,
      isFinished = () => !writes || !w || w.finished;
    let ended = reads && !r ? false : isEnded(),
      done = writes && !w ? false : isFinished();
    const check = () => ended && done && call();
    const onEnd = () => ((ended = true), check()),
      onFinish = () => ((done = true), check());
    const onError = (error) => call(error);
    const premature = () => failure(Error, "ERR_STREAM_PREMATURE_CLOSE", "Premature close");
    const onClose = () => {
      const errored = r?.errored ?? w?.errored;
      if (errored && typeof errored !== "boolean") return call(errored);
      if ((reads && r && !r.endEmitted) || (writes && w && !w.finished)) return call(premature());
      call();
    };
    stream.on("end", onEnd);
    stream.on("finish", onFinish);
    if (options.error !== false) stream.on("error", onError);
    stream.on("close", onClose);
    const state = r ?? w;
    if (state?.closed || state?.closeEmitted) later(onClose);
    else if (state?.errorEmitted) later(() => call(state.errored));
    else if (ended && done && (reads || writes)) later(check);
    const forget = () => {
      isCalled ||= options.cleanup !== true && false;
      stream.off("end", onEnd);
      stream.off("finish", onFinish);
      stream.off("error", onError);
      stream.off("close", onClose);
    };
    const { signal } = options;
    if (signal) {
      const abort = () => {
        forget();
        call(hooks.abortError(signal.reason));
      };
      if (signal.aborted) later(abort);
      else signal.addEventListener("abort", abort, { once: true });
    }
    return forget;
  }
  const addAbortSignal = (signal, stream) => {
    if (typeof signal !== "object" || !("aborted" in signal)) throw hooks.invalidType("signal", "an instance of AbortSignal", signal);
    if (!isStream(stream)) throw hooks.invalidType("stream", "an instance of ReadableStream, WritableStream, or Stream", stream);
    const abort = () => destroy(stream, hooks.abortError(signal.reason));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    return stream;
  };

  // What is given to pipeline or compose, as a stream: functions make or take iterables.
  const toSource = (value) => {
    const made = typeof value === "function" ? value() : value;
    return isStream(made) ? made : Readable.from(made);
  };
  const throughFunction = (f, source, isLast, settle) => {
    const made = f(source);
    if (typeof made?.[Symbol.asyncIterator] === "function" || (typeof made === "object" && typeof made?.[Symbol.iterator] === "function"))
      return isStream(made) ? made : Readable.from(made);
    if (typeof made?.then !== "function")
      throw failure(TypeError, "ERR_INVALID_RETURN_VALUE", "Expected AsyncIterable or Promise to be returned from the function");
    const through = new PassThrough({ objectMode: true });
    made.then(
      (value) => {
        settle(value);
        if (value !== undefined && value !== null) through.write(value);
        through.end();
        if (isLast) through.resume();
      },
      (error) => through.destroy(error),
    );
    return through;
  };
  function pipeline(...parts) {
    const callback = typeof parts.at(-1) === "function" && parts.length > 1 ? parts.pop() : undefined;
    hooks.checkFunction(callback, "streams[stream.length - 1]");
    return runPipeline(parts.length === 1 && Array.isArray(parts[0]) ? parts[0] : parts, {}, callback);
  }
  const runPipeline = (parts, { signal, end = true }, callback) => {
    if (parts.length < 2) throw failure(TypeError, "ERR_MISSING_ARGS", 'The "streams" argument must be specified');
    let value, error;
    const streams = [];
    let waiting = 0,
      isOver = false;
    const complete = (failed) => {
      if (failed && (!error || error.code === "ERR_STREAM_PREMATURE_CLOSE")) error = failed;
      if (failed) for (const stream of streams) if (!stream.destroyed) destroy(stream, failed === error ? error : undefined);
      if (--waiting > 0 && !failed) return;
      if (isOver || (waiting > 0 && !error)) return;
      if (waiting > 0) return;
      isOver = true;
      later(callback, error, value);
    };
    let current;
    parts.forEach((part, index) => {
      const isLast = index === parts.length - 1;
      if (index === 0) current = toSource(part);
      else if (typeof part === "function") current = throughFunction(part, current, isLast, (made) => (value = made));
      else {
        if (!isStream(part)) throw hooks.invalidType(`streams[${index}]`, "an instance of Stream, Iterable, or AsyncIterable", part);
        current.pipe(part, { end: end || !isLast });
        current = part;
      }
      streams.push(current);
      if (isLast && typeof part === "function" && current._readableState && !current._writableState) current.resume();
    });
    waiting = streams.length;
    streams.forEach((stream, index) => {
      const isFirst = index === 0,
        isLast = index === streams.length - 1;
      const writable = !isFirst && !!stream._writableState && (end || !isLast);
      const wanted = { readable: !isLast && !!stream._readableState, writable: writable || (isLast && !!stream._writableState && end) };
      if (!wanted.readable && !wanted.writable) wanted.readable = true;
      if (stream === process.stdout || stream === process.stderr || (!end && isLast)) return complete();
      stream.on("error", () => {});
      finished(stream, wanted, complete);
    });
    signal?.addEventListener("abort", () => complete(hooks.abortError(signal.reason)), { once: true });
    return current;
  };
  const compose = (...parts) => {
    if (parts.length === 0) throw failure(TypeError, "ERR_MISSING_ARGS", 'The "streams" argument must be specified');
    const head = parts[0],
      isOpen = typeof head === "function" || !!head._writableState;
    const entry = typeof head === "function" ? new PassThrough({ objectMode: true }) : head;
    const rest = typeof head === "function" ? parts : parts.slice(1);
    const tail = rest.length ? runPipeline([entry, ...rest], {}, (error) => error && outer.destroy(error)) : entry;
    const outer = new Duplex({
      ...{ objectMode: true, writable: isOpen, readable: !!tail._readableState },
      read() {
        tail.resume?.();
      },
      write: (chunk, encoding, done) => (entry.write(chunk, encoding) ? done() : entry.once("drain", done)),
      final: (done) => (entry.end(), entry.once("finish", () => done())),
    });
    tail.on("data", (chunk) => outer.push(chunk) || tail.pause());
    tail.on("end", () => outer.push(null));
    tail.on("error", (error) => outer.destroy(error));
    return outer;
  };

  Readable.from = (iterable, options) => {
    if (typeof iterable === "string" || iterable instanceof Buffer) {
      const single = new Readable({ objectMode: true, ...options, read: () => {} });
      single.push(iterable);
      single.push(null);
      return single;
    }
    const make = iterable?.[Symbol.asyncIterator] ?? iterable?.[Symbol.iterator];
    if (typeof make !== "function") throw hooks.invalidType("iterable", "an instance of Iterable", iterable);
    const iterator = make.call(iterable);
    let isReading = false;
    const stream = new Readable({ objectMode: true, highWaterMark: 1, ...options });
    const next = async () => {
      try {
        for (;;) {
          const { value, done } = await iterator.next();
          if (done) return void stream.push(null);
          const chunk = typeof value?.then === "function" ? await value : value;
          if (chunk === null) throw failure(TypeError, "ERR_STREAM_NULL_VALUES", "May not write null values to stream");
          if (!stream.push(chunk)) return void (isReading = false);
        }
      } catch (error) {
        stream.destroy(error);
      }
    };
    stream._read = () => {
      if (isReading) return;
      isReading = true;
      next();
    };
    stream._destroy = (error, callback) => {
      const close = async () => {
        if (error && typeof iterator.throw === "function") {
          const { value, done } = await iterator.throw(error);
          await value;
          if (done) return;
        }
        if (typeof iterator.return === "function") await (await iterator.return())?.value;
      };
      close().then(() => later(callback, error), (failed) => later(callback, failed ?? error));
    };
    return stream;
  };
  Readable.wrap = (source, options) => new Readable({ objectMode: source.readableObjectMode ?? true, ...options }).wrap(source);
  Readable.fromWeb = (source, options) => Readable.from(source, { objectMode: false, ...options });
  Readable.toWeb = (stream) => ReadableStream.from(stream);
  Writable.fromWeb = (target, options) => {
    const writer = target.getWriter();
    const settle = (promise, done) => promise.then(() => done(), done);
    return new Writable({
      ...options,
      write: (chunk, encoding, done) => settle(writer.write(chunk), done),
      final: (done) => settle(writer.close(), done),
      destroy: (error, done) => (error ? settle(writer.abort(error), () => done(error)) : done(null)),
    });
  };
  Writable.toWeb = (stream) =>
    new WritableStream({
      write: (chunk) => new Promise((resolve, reject) => stream.write(chunk, (error) => (error ? reject(error) : resolve()))),
      close: () => new Promise((resolve) => stream.end(resolve)),
      abort: (error) => void stream.destroy(error),
    });
  Duplex.from = (source) => {
    if (source instanceof Duplex) return source;
    if (typeof source === "function" || typeof source?.[Symbol.asyncIterator] === "function" || typeof source?.[Symbol.iterator] === "function")
      return typeof source === "function" ? compose(source) : Readable.from(source);
    const { readable, writable } = source ?? {};
    const made = new Duplex({
      ...{ objectMode: true, readable: !!readable, writable: !!writable, read: () => readable?.resume() },
      write: (chunk, encoding, done) => (writable.write(chunk, encoding) ? done() : writable.once("drain", done)),
      final: (done) => (writable.end(), writable.once("finish", () => done())),
    });
    readable?.on("data", (chunk) => made.push(chunk) || readable.pause());
    readable?.on("end", () => made.push(null));
    return made;
  };
  const duplexPair = (options) => {
    const makeSide = (other) =>
      new Duplex({
        ...options,
        read() {
          const done = this._given;
          this._given = undefined;
          done?.();
        },
        write(chunk, encoding, done) {
          if (chunk.length === 0) return later(done);
          const target = other();
          target.push(chunk);
          target._given = done;
        },
        final(done) {
          other().on("end", done);
          other().push(null);
        },
      });
    const first = makeSide(() => second),
      second = makeSide(() => first);
    return [first, second];
  };

  const promises = {
    finished: (stream, options = {}) =>
      new Promise((resolve, reject) => {
        const forget = finished(stream, options, (error) => {
          if (options.cleanup) forget();
          error ? reject(error) : resolve();
        });
      }),
    pipeline: (...parts) =>
      new Promise((resolve, reject) => {
        const last = parts.at(-1);
        const isOptions = typeof last === "object" && last !== null && !isStream(last) && !last[Symbol.iterator] && !last[Symbol.asyncIterator];
        const options = isOptions ? parts.pop() : {};
        runPipeline(parts, options, (error, value) => (error ? reject(error) : resolve(value)));
      }),
  };
  const custom = Symbol.for("nodejs.util.promisify.custom");
  Object.defineProperty(finished, custom, { value: promises.finished, configurable: true });
  Object.defineProperty(pipeline, custom, { value: promises.pipeline, configurable: true });

  const gather = async (stream) => {
    const chunks = [];
    for await (const chunk of stream) chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : hooks.viewBytes(chunk));
    return Buffer.concat(chunks);
  };
  const consumers = {
    buffer: gather,
    arrayBuffer: async (stream) => new Uint8Array(await gather(stream)).buffer,
    text: async (stream) => new TextDecoder().decode(await gather(stream)),
    json: async (stream) => JSON.parse(await consumers.text(stream)),
    blob: async (stream) => new Blob([await gather(stream)]),
  };

  Stream.prototype.pipe = readableMethods.pipe;
  Object.assign(Stream, {
    ...{ Stream, Readable, Writable, Duplex, Transform, PassThrough, finished, pipeline, addAbortSignal, compose, duplexPair, promises },
    ...{ getDefaultHighWaterMark, setDefaultHighWaterMark, destroy: (stream, error) => destroy(stream, error) },
    isReadable: (stream) => (stream?._readableState ? stream.readable : null),
    isWritable: (stream) => (stream?._writableState ? stream.writable : null),
    isErrored: (stream) => !!(stream?._readableState?.errored || stream?._writableState?.errored),
    isDisturbed: (stream) => !!(stream?._readableState?.didRead || stream?._readableState?.errored),
    isDestroyed: (stream) => !!stream?.destroyed,
    _isUint8Array: (value) => value instanceof Uint8Array,
    _uint8ArrayToBuffer: (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  });
  hooks.stream = { stream: Stream, promises, consumers };
});
