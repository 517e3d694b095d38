// A tiny test framework: describe/it, hooks, async tests, matchers, a summary; then node's own assert.
const assert = require('assert');
const suites = [];
let current = null;
const describe = (name, f) => { const outer = current; current = { name: outer ? `${outer.name} > ${name}` : name, tests: [], before: [...(outer?.before ?? [])] }; suites.push(current); f(); current = outer; };
const it = (name, f) => current.tests.push({ name, f });
const beforeEach = (f) => current.before.push(f);
const expect = (got) => { const make = (negate) => new Proxy({ toBe: (w) => Object.is(got, w), toEqual: (w) => { try { assert.deepStrictEqual(got, w); return true; } catch { return false; } }, toThrow: (re) => { try { got(); return false; } catch (e) { return !re || re.test(e.message); } }, toContain: (x) => got.includes(x), toBeCloseTo: (w, d = 2) => Math.abs(got - w) < 10 ** -d / 2 }, { get: (t, k) => k === 'not' ? make(!negate) : (...a) => { if (t[k](...a) === negate) throw new Error(`expected ${JSON.stringify(got) ?? 'function'} ${negate ? 'not ' : ''}${k} ${a.map((x) => (x instanceof RegExp ? String(x) : JSON.stringify(x))).join(', ')}`); } }); return make(false); };
describe('math', () => {
  let n;
  beforeEach(() => { n = 2; });
  it('adds', () => expect(n + 2).toBe(4));
  it('floats', () => expect(0.1 + 0.2).toBeCloseTo(0.3));
  it('fails', () => expect(n).toBe(3));
  describe('nested', () => { beforeEach(() => { n *= 10; }); it('hooks run in order', () => expect(n).toBe(20)); });
});
describe('async', () => {
  it('waits', async () => { await new Promise((r) => setTimeout(r, 2)); expect([1, { a: 1 }]).toEqual([1, { a: 1 }]); });
  it('rejects', async () => { throw new Error('later'); });
  it('throws', () => { expect(() => JSON.parse('{')).toThrow(); expect(() => 1).not.toThrow(); expect('abc').not.toContain('z'); });
});
(async () => {
  let pass = 0, fail = 0;
  for (const s of suites) for (const t of s.tests) {
    try { for (const b of s.before) await b(); await t.f(); pass++; console.log(`ok   ${s.name}: ${t.name}`); } catch (e) { fail++; console.log(`FAIL ${s.name}: ${t.name} - ${e.message}`); }
  }
  console.log(`${pass} passed, ${fail} failed`);
  const checks = [() => assert.equal(1, '1'), () => assert.strictEqual(1, 1), () => assert.deepStrictEqual({ a: [1] }, { a: [1] }), () => assert.throws(() => { throw new TypeError('bad'); }, TypeError), () => assert.throws(() => { throw new Error('x'); }, { message: 'x' }), () => assert.ok('text'), () => assert.notDeepStrictEqual([1], [2]), () => assert.match('abc', /b/), () => assert.rejects(Promise.reject(new Error('r')), /r/)];
  for (const c of checks) await c();
  for (const bad of [() => assert(false), () => assert.strictEqual(1, 2), () => assert.deepStrictEqual([1, 2], [1, 3]), () => assert.throws(() => {}), () => assert.fail('why')]) try { bad(); console.log('no error'); } catch (e) { console.log(e.name, e.code, e.operator ?? '-'); }
  process.exitCode = fail;
})();
