type Events = {
  login: [user: string];
  message: [from: string, text: string];
  logout: [];
};

class TypedEmitter<M extends Record<string, unknown[]>> {
  #handlers: { [K in keyof M]?: Array<(...args: M[K]) => void> } = {};

  on<K extends keyof M>(event: K, handler: (...args: M[K]) => void): () => void {
    (this.#handlers[event] ??= []).push(handler);
    return () => {
      this.#handlers[event] = this.#handlers[event]?.filter((h) => h !== handler);
    };
  }

  emit<K extends keyof M>(event: K, ...args: M[K]): number {
    const handlers = this.#handlers[event] ?? [];
    handlers.forEach((h) => h(...args));
    return handlers.length;
  }
}

const emitter = new TypedEmitter<Events>();
const off = emitter.on("login", (user) => console.log(`${user} logged in`));
emitter.on("message", (from, text) => console.log(`<${from}> ${text}`));
console.log(emitter.emit("login", "ada"));
console.log(emitter.emit("message", "ada", "hello"));
off();
console.log(emitter.emit("login", "bob"), emitter.emit("logout"));
