class Queue {
  #head = null; #tail = null; length = 0;
  push(v) { const n = { v, next: null }; this.#tail ? (this.#tail.next = n) : (this.#head = n); this.#tail = n; this.length++; return this; }
  shift() { if (!this.#head) return undefined; const { v } = this.#head; this.#head = this.#head.next; if (!this.#head) this.#tail = null; this.length--; return v; }
  *[Symbol.iterator]() { for (let n = this.#head; n; n = n.next) yield n.v; }
}
const q = new Queue().push(1).push(2).push(3);
console.log(q.shift(), [...q], q.length);
function josephus(n, k) { const circle = Array.from({ length: n }, (_, i) => i + 1); let i = 0; const out = []; while (circle.length) { i = (i + k - 1) % circle.length; out.push(...circle.splice(i, 1)); } return out; }
console.log(josephus(7, 3));
