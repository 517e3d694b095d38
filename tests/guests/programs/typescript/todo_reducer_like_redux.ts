interface Todo { id: number; text: string; done: boolean }
type Action =
  | { type: "ADD"; text: string }
  | { type: "TOGGLE"; id: number }
  | { type: "REMOVE"; id: number }
  | { type: "CLEAR_DONE" };

function reducer(state: readonly Todo[] = [], action: Action): readonly Todo[] {
  switch (action.type) {
    case "ADD":
      return [...state, { id: state.length ? Math.max(...state.map((t) => t.id)) + 1 : 1, text: action.text, done: false }];
    case "TOGGLE":
      return state.map((t) => (t.id === action.id ? { ...t, done: !t.done } : t));
    case "REMOVE":
      return state.filter((t) => t.id !== action.id);
    case "CLEAR_DONE":
      return state.filter((t) => !t.done);
  }
}

const actions: Action[] = [
  { type: "ADD", text: "write" }, { type: "ADD", text: "test" }, { type: "TOGGLE", id: 1 },
  { type: "ADD", text: "ship" }, { type: "REMOVE", id: 2 }, { type: "CLEAR_DONE" },
];
const final = actions.reduce<readonly Todo[]>(reducer, []);
console.log(final);
