// Abstract factory, builder, singleton, strategy, observer and command patterns with interfaces and enums.
interface Button { render(): string }
interface WidgetFactory { button(label: string): Button; readonly theme: string }
class DarkButton implements Button { constructor(private l: string) {} render() { return `[■ ${this.l}]`; } }
class LightButton implements Button { constructor(private l: string) {} render() { return `[□ ${this.l}]`; } }
const factories = { dark: { theme: 'dark', button: (l: string) => new DarkButton(l) }, light: { theme: 'light', button: (l: string) => new LightButton(l) } } satisfies Record<string, WidgetFactory>;
for (const f of Object.values<WidgetFactory>(factories)) console.log(f.theme, f.button('OK').render());
class Settings {
  private static instance?: Settings;
  private values = new Map<string, unknown>();
  private constructor() { console.log('settings made'); }
  static get(): Settings { return (this.instance ??= new Settings()); }
  set<T>(k: string, v: T): this { this.values.set(k, v); return this; }
  read<T>(k: string, fallback: T): T { return (this.values.get(k) as T | undefined) ?? fallback; }
}
Settings.get().set('volume', 7);
console.log(Settings.get().read('volume', 0), Settings.get().read('missing', 'dflt'), Settings.get() === Settings.get());
enum Shipping { Ground = 'ground', Air = 'air', Drone = 'drone' }
const strategies: { readonly [K in Shipping]: (kg: number) => number } = { [Shipping.Ground]: (kg) => 5 + kg, [Shipping.Air]: (kg) => 10 + 3 * kg, [Shipping.Drone]: (kg) => (kg > 2 ? Infinity : 8) };
for (const s of Object.values(Shipping)) console.log(s, [1, 5].map(strategies[s]));
interface Command { execute(): void; undo(): void; readonly label: string }
class Editor {
  text = '';
  private done: Command[] = []; private undone: Command[] = [];
  run(c: Command): void { c.execute(); this.done.push(c); this.undone.length = 0; }
  undo(): string | undefined { const c = this.done.pop(); c?.undo(); if (c) this.undone.push(c); return c?.label; }
  redo(): string | undefined { const c = this.undone.pop(); c?.execute(); if (c) this.done.push(c); return c?.label; }
  insert(s: string, at = this.text.length): Command { const before = () => this.text; let old: string; return { label: `insert "${s}"`, execute: () => { old = before(); this.text = old.slice(0, at) + s + old.slice(at); }, undo: () => { this.text = old; } }; }
}
const ed = new Editor();
ed.run(ed.insert('hello'));
ed.run(ed.insert(' world'));
ed.run(ed.insert('>> ', 0));
console.log(ed.text, '|', ed.undo(), ed.undo(), '|', ed.text, '|', ed.redo(), '|', ed.text, '|', ed.undo(), ed.undo(), ed.undo(), JSON.stringify(ed.text));
abstract class Report {
  generate(): string { return [this.header(), ...this.body().map((l, i) => `${i + 1}. ${l}`), this.footer?.()].filter((x) => x !== undefined).join('\n'); }
  protected abstract header(): string;
  protected abstract body(): string[];
  protected footer?(): string;
}
class Sales extends Report { protected header() { return 'SALES'; } protected body() { return ['a', 'b']; } protected override footer() { return '-- end'; } }
class Plain extends Report { protected header() { return 'PLAIN'; } protected body(): string[] { return []; } }
console.log(new Sales().generate(), new Plain().generate());
