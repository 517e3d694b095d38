// args: list --all
// A to-do application with a repository interface, JSON storage, command parsing with unions, and formatted output.
import { existsSync, readFileSync, writeFileSync } from 'fs';

type Priority = 'low' | 'medium' | 'high';
interface Todo { readonly id: number; title: string; done: boolean; priority: Priority; due?: Date }
interface Storage<T> { load(): T[]; save(items: readonly T[]): void }
class JsonStorage<T> implements Storage<T> {
  constructor(private readonly path: string, private readonly reviver?: (k: string, v: unknown) => unknown) {}
  load(): T[] { return existsSync(this.path) ? (JSON.parse(readFileSync(this.path, 'utf-8'), this.reviver) as T[]) : []; }
  save(items: readonly T[]): void { writeFileSync(this.path, JSON.stringify(items, null, 2)); }
}
type Command =
  | { name: 'add'; title: string; priority: Priority; due?: Date }
  | { name: 'done' | 'remove'; id: number }
  | { name: 'list'; all: boolean };
const PRIORITIES: readonly Priority[] = ['low', 'medium', 'high'] as const;
const isPriority = (s: string): s is Priority => (PRIORITIES as readonly string[]).includes(s);

function parse([name, ...rest]: string[]): Command {
  switch (name) {
    case 'add': {
      const flag = (f: string): string | undefined => { const i = rest.indexOf(`--${f}`); return i < 0 ? undefined : rest.splice(i, 2)[1]; };
      const priority = flag('priority') ?? 'medium', due = flag('due');
      if (!isPriority(priority)) throw new Error(`bad priority: ${priority}`);
      return { name, title: rest.join(' '), priority, ...(due && { due: new Date(due) }) };
    }
    case 'done': case 'remove': return { name, id: Number.parseInt(rest[0] ?? '', 10) };
    case 'list': case undefined: return { name: 'list', all: rest.includes('--all') };
    default: throw new Error(`unknown command: ${name}`);
  }
}
class App {
  private todos: Todo[];
  constructor(private storage: Storage<Todo>) { this.todos = storage.load(); }
  execute(cmd: Command): string {
    try {
      switch (cmd.name) {
        case 'add': { const { name: _, ...fields } = cmd; const todo: Todo = { id: Math.max(0, ...this.todos.map((t) => t.id)) + 1, done: false, ...fields }; this.todos.push(todo); return `added #${todo.id}`; }
        case 'done': return this.with(cmd.id, (t) => { t.done = true; return `done: ${t.title}`; });
        case 'remove': return this.with(cmd.id, (t) => { this.todos = this.todos.filter((o) => o !== t); return `removed: ${t.title}`; });
        case 'list': return this.todos.filter((t) => cmd.all || !t.done).sort((a, b) => PRIORITIES.indexOf(b.priority) - PRIORITIES.indexOf(a.priority)).map((t) => `[${t.done ? 'x' : ' '}] ${t.id} ${t.title.padEnd(12)} ${t.priority}${t.due ? ` due ${t.due.toISOString().slice(0, 10)}` : ''}`).join('\n') || '(nothing)';
      }
    } finally { this.storage.save(this.todos); }
  }
  private with(id: number, f: (t: Todo) => string): string { const t = this.todos.find((o) => o.id === id); return t ? f(t) : `no todo ${id}`; }
}
const app = new App(new JsonStorage<Todo>('todos.json', (k, v) => (k === 'due' ? new Date(v as string) : v)));
for (const line of ['add buy milk --priority high', 'add write report --due 2024-12-01', 'add nap --priority low', 'done 1', 'done 9', 'remove 3', 'list', 'list --all', 'add x --priority urgent', 'fly'])
  try { console.log(`> ${line}\n${app.execute(parse(line.split(' ')))}`); } catch (e) { console.log(`> ${line}\nerror: ${(e as Error).message}`); }
const again = new App(new JsonStorage<Todo>('todos.json', (k, v) => (k === 'due' ? new Date(v as string) : v)));
console.log(again.execute(parse(process.argv.slice(2))));
