// A small redux-like store with middleware and an event emitter.
const { EventEmitter } = require('events');

class Store extends EventEmitter {
  #state;
  #reducer;
  constructor(reducer, initial, ...middleware) {
    super();
    this.#reducer = reducer;
    this.#state = initial;
    this.dispatch = middleware.reduceRight((next, m) => m(this)(next), (action) => this.#apply(action));
  }
  get state() { return this.#state; }
  #apply(action) {
    const before = this.#state;
    this.#state = this.#reducer(before, action);
    if (before !== this.#state) this.emit('change', this.#state, action);
    return action;
  }
}

const logger = (store) => (next) => (action) => {
  console.log('dispatch', action.type);
  const result = next(action);
  console.log('  ->', JSON.stringify(store.state));
  return result;
};
const thunk = (store) => (next) => (action) => (typeof action === 'function' ? action(store.dispatch, () => store.state) : next(action));

function reducer(state, { type, payload }) {
  switch (type) {
    case 'add': return { ...state, todos: [...state.todos, { id: state.next, text: payload, done: false }], next: state.next + 1 };
    case 'toggle': return { ...state, todos: state.todos.map((t) => (t.id === payload ? { ...t, done: !t.done } : t)) };
    case 'clear': return { ...state, todos: state.todos.filter((t) => !t.done) };
    default: return state;
  }
}

const store = new Store(reducer, { todos: [], next: 1 }, thunk, logger);
let changes = 0;
store.on('change', () => changes++);
store.once('change', (s, a) => console.log('first change:', a.type));
store.dispatch({ type: 'add', payload: 'write tests' });
store.dispatch({ type: 'add', payload: 'ship it' });
store.dispatch({ type: 'toggle', payload: 1 });
store.dispatch((dispatch, get) => { if (get().todos.some((t) => t.done)) dispatch({ type: 'clear' }); });
store.dispatch({ type: 'unknown' });
console.log(changes, 'changes', store.listenerCount('change'), store.eventNames());
console.log(store.state);
try {
  new EventEmitter().emit('error', new Error('boom'));
} catch (e) {
  console.log('unhandled:', e.message);
}
