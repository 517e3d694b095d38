// A state machine with a transition table, frozen config, event history, and JSON persistence on disk.
const fs = require('fs');
const MACHINE = Object.freeze({
  initial: 'draft',
  states: { draft: { submit: 'review', discard: 'trash' }, review: { approve: 'published', reject: 'draft' }, published: { archive: 'archived' }, archived: {}, trash: { restore: 'draft' } },
});
class Document {
  #history = [];
  constructor(title, state = MACHINE.initial) { this.title = title; this.state = state; Object.defineProperty(this, 'hidden', { value: 1, enumerable: false }); }
  can(event) { return event in MACHINE.states[this.state]; }
  fire(event, by = 'system') {
    if (!this.can(event)) throw Object.assign(new Error(`cannot ${event} in ${this.state}`), { code: 'EBADTRANSITION', from: this.state });
    const from = this.state;
    this.state = MACHINE.states[from][event];
    this.#history.push({ from, event, to: this.state, by });
    return this;
  }
  get history() { return structuredClone(this.#history); }
  toJSON() { return { title: this.title, state: this.state, history: this.#history }; }
  static revive(json) { const o = JSON.parse(json, (k, v) => (k === 'by' ? v.toUpperCase() : v)); const d = new Document(o.title, o.state); d.#history = o.history; return d; }
}
const doc = new Document('Plan').fire('submit', 'ann').fire('reject', 'bob').fire('submit', 'ann').fire('approve', 'bob');
console.log(doc.state, doc.can('archive'), doc.history.length);
try { doc.fire('submit'); } catch (e) { console.log(e.code, e.from, e.message, Object.keys(e)); }
fs.writeFileSync('doc.json', JSON.stringify(doc, null, 2));
console.log(fs.readFileSync('doc.json', 'utf8').split('\n').slice(0, 5).join('\n'));
const back = Document.revive(fs.readFileSync('doc.json', 'utf8'));
console.log(back, back.history.at(-1), doc);
console.log(JSON.stringify({ u: undefined, f() {}, d: new Date(0), n: NaN, nested: [undefined, () => 1], s: new Set([1]), m: new Map([[1, 2]]), big: 2 ** 60, neg0: -0 }));
console.log(JSON.stringify({ b: 1, a: 2, c: { d: 3, a: 4 } }, ['a', 'c']), JSON.stringify([1, [2]], null, '--'), JSON.stringify('é\u2028\ud800'), JSON.stringify({ toJSON: () => 'custom' }), JSON.stringify(Object.create({ inherited: 1 })));
MACHINE.initial = 'hacked';
console.log(MACHINE.initial, Object.isFrozen(MACHINE.states), Object.entries(MACHINE.states).map(([s, t]) => `${s}: ${Object.values(t).join('|') || 'end'}`));
const reachable = (from, seen = new Set()) => { if (!seen.has(from)) { seen.add(from); Object.values(MACHINE.states[from]).forEach((s) => reachable(s, seen)); } return seen; };
console.log(reachable('draft'), [...reachable('published')]);
