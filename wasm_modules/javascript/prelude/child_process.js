// child_process.js: commands that a program starts. The host runs each to its end, on the same files, so a program and its command
// never run at the same time: `spawn` runs the command when its input has ended or the program's own turn has, then tells its events.
(function (native, hooks) {
  const EventEmitter = hooks.EventEmitter;
  const bytesOf = (data, encoding) => (typeof data === "string" ? Buffer.from(data, encoding) : Buffer.from(hooks.viewBytes(data)));

  // [status, stdout, stderr] of a command line (ABI.md, message X).
  const start = (words, input, options) => {
    const environ = Object.entries(options.env ?? process.env).filter(([, value]) => value !== undefined);
    const folder = hooks.path.resolve(options.cwd === undefined ? "." : String(options.cwd));
    const fields = [words.length, ...words, folder, environ.length, ...environ.map(([name, value]) => `${name}=${value}`)];
    if (fields.some((field) => String(field).includes("\0")))
      throw Object.assign(new TypeError("a word of a command must not contain null bytes"), { code: "ERR_INVALID_ARG_VALUE" });
    const head = Buffer.from("X" + fields.join("\0") + "\0");
    const reply = Buffer.from(native.start(Buffer.concat([head, input])));
    const end = reply.indexOf(10);
    const [status, , length] = reply.toString("latin1", 0, end).split(" ").map(Number);
    return [status, reply.subarray(end + 1, end + 1 + length), reply.subarray(end + 1 + length)];
  };

  const wordsOf = (file, args, options) => {
    if (!options.shell) return [String(file), ...args.map(String)];
    return ["sh", "-c", [file, ...args].join(" ")];
  };
  const isMissing = (status, err) => status === 127 && err.toString().endsWith("command not found\n");
  const notFound = (file, args, call) =>
    Object.assign(new Error(`${call} ${file} ENOENT`), { errno: -2, code: "ENOENT", syscall: `${call} ${file}`, path: file, spawnargs: args });
  const shown = (data, options, fallback) => {
    const encoding = options.encoding === undefined ? fallback : options.encoding;
    return encoding && encoding !== "buffer" ? data.toString(encoding) : data;
  };
  const split = (args, options) => (Array.isArray(args) ? [args, options ?? {}] : [[], args ?? {}]);
  const inherits = (options, place) => options.stdio === "inherit" || options.stdio?.[place] === "inherit";

  const spawnSync = (file, ...rest) => {
    const [args, options] = split(...rest);
    const input = options.input === undefined ? Buffer.alloc(0) : bytesOf(options.input);
    const [status, out, err] = start(wordsOf(file, args, options), input, options);
    if (!options.shell && isMissing(status, err))
      return { error: notFound(file, args, "spawnSync"), status: null, signal: null, output: null, pid: 0, stdout: null, stderr: null };
    if (inherits(options, 1)) process.stdout.write(out);
    if (inherits(options, 2)) process.stderr.write(err);
    const [stdout, stderr] = [shown(out, options), shown(err, options)];
    return { pid: 2, output: [null, stdout, stderr], stdout, stderr, status, signal: null };
  };

  const checked = (done, command, options) => {
    if (done.error) throw done.error;
    if (done.status !== 0) {
      const told = String(done.stderr);
      throw Object.assign(new Error(`Command failed: ${command}${told && "\n" + told}`), done);
    }
    if (done.stderr.length && !inherits(options, 2) && options.stdio === undefined) process.stderr.write(done.stderr);
    return done.stdout;
  };
  const execSync = (command, options = {}) => checked(spawnSync(command, [], { ...options, shell: true }), command, options);
  const execFileSync = (file, ...rest) => {
    const [args, options] = split(...rest);
    return checked(spawnSync(file, args, options), [file, ...args].join(" "), options);
  };

  const { Readable, Writable } = hooks.stream.stream;

  class Input extends Writable {
    pieces = [];
    constructor(finish) {
      super({
        write: (data, encoding, done) => {
          this.pieces.push(bytesOf(data, encoding));
          done();
        },
        final: (done) => {
          finish();
          done();
        },
      });
    }
  }

  class Output extends Readable {
    _read() {}
    tell(data) {
      this.all = data;
      if (data.length) this.push(data);
      this.push(null);
      if (this.readableFlowing === null && !this.listenerCount("readable")) this.resume();
    }
  }

  class ChildProcess extends EventEmitter {
    constructor(file, args, options) {
      super();
      let ready = false;
      const begin = () => {
        if (ready) return;
        ready = true;
        setTimeout(() => this.run(file, args, options), 0);
      };
      Object.assign(this, { pid: 2, exitCode: null, signalCode: null, killed: false, spawnargs: [file, ...args], spawnfile: file });
      this.stdin = new Input(begin);
      this.stdout = inherits(options, 1) ? null : new Output();
      this.stderr = inherits(options, 2) ? null : new Output();
      this.stdio = [this.stdin, this.stdout, this.stderr];
      setTimeout(() => this.stdin.pieces.length || begin(), 0);
    }
    run(file, args, options) {
      if (this.killed) return;
      const [status, out, err] = start(wordsOf(file, args, options), Buffer.concat(this.stdin.pieces), options);
      if (!options.shell && isMissing(status, err)) return void this.emit("error", notFound(file, args, "spawn"));
      this.emit("spawn");
      let open = 1;
      const close = () => --open || this.emit("close", status, null);
      for (const [stream, data, place] of [
        [this.stdout, out, process.stdout],
        [this.stderr, err, process.stderr],
      ]) {
        if (!stream) place.write(data);
        else if (!stream.destroyed) {
          open++;
          stream.once("close", close);
          stream.tell(data);
        }
      }
      this.exitCode = status;
      this.stdin.destroy();
      this.emit("exit", status, null);
      close();
    }
    kill() {
      this.killed = this.exitCode === null;
      return this.killed;
    }
  }

  const spawn = (file, ...rest) => new ChildProcess(file, ...split(...rest));
  const collect = (child, command, options, callback) => {
    let failed = null;
    child.once("error", (error) => {
      failed = error;
      callback?.(error, "", "");
    });
    child.once("close", (code) => {
      const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => shown(stream?.all ?? Buffer.alloc(0), options, "utf8"));
      if (code !== 0) failed = Object.assign(new Error(`Command failed: ${command}\n${stderr}`), { code, killed: false, signal: null, cmd: command });
      callback?.(failed, stdout, stderr);
    });
    return child;
  };
  const exec = (command, ...rest) => {
    const callback = typeof rest.at(-1) === "function" ? rest.pop() : undefined;
    const options = rest[0] ?? {};
    return collect(spawn(command, [], { ...options, shell: true }), command, options, callback);
  };
  const execFile = (file, ...rest) => {
    const callback = typeof rest.at(-1) === "function" ? rest.pop() : undefined;
    const [args, options] = split(...rest);
    return collect(spawn(file, args, options), [file, ...args].join(" "), options, callback);
  };
  const promised = (run) => (...args) =>
    new Promise((resolve, reject) =>
      run(...args, (error, stdout, stderr) => (error ? reject(Object.assign(error, { stdout, stderr })) : resolve({ stdout, stderr }))),
    );
  for (const run of [exec, execFile])
    Object.defineProperty(run, Symbol.for("nodejs.util.promisify.custom"), { value: promised(run) });
  hooks.childProcess = { ChildProcess, spawn, spawnSync, exec, execSync, execFile, execFileSync };
});
