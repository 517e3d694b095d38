// A middleware framework in miniature: routes, params, async handlers, errors; requests are plain objects.
const util = require('util');
class App {
  #layers = [];
  use(path, ...fns) { if (typeof path === 'function') { fns.unshift(path); path = '/'; } this.#layers.push(...fns.map((fn) => ({ path, fn, prefix: true }))); return this; }
  static { for (const m of ['get', 'post', 'put', 'delete']) this.prototype[m] = function (path, ...fns) { this.#layers.push(...fns.map((fn) => ({ method: m.toUpperCase(), path, fn }))); return this; }; }
  #match({ path, prefix, method }, req) {
    if (method && method !== req.method) return null;
    const keys = [];
    const re = new RegExp('^' + path.replace(/\/$/, '').replace(/:(\w+)/g, (_, k) => (keys.push(k), '([^/]+)')) + (prefix ? '(?=/|$)' : '$'));
    const m = re.exec(req.path.replace(/\/$/, ''));
    return m && Object.fromEntries(keys.map((k, i) => [k, decodeURIComponent(m[i + 1])]));
  }
  async handle(req) {
    const res = { status: 200, headers: {}, body: null, json(o) { this.headers['content-type'] = 'application/json'; this.body = JSON.stringify(o); return this; }, send(s) { this.body = String(s); return this; }, code(n) { this.status = n; return this; } };
    let i = 0;
    const next = async (error) => {
      while (i < this.#layers.length) {
        const layer = this.#layers[i++], params = this.#match(layer, req);
        if (!params || (error ? layer.fn.length !== 4 : layer.fn.length === 4)) continue;
        req.params = params;
        try { return await (error ? layer.fn(error, req, res, next) : layer.fn(req, res, next)); } catch (e) { return next(e); }
      }
      if (error) res.code(500).send(`unhandled: ${error.message}`); else if (res.body === null) res.code(404).send(`Cannot ${req.method} ${req.path}`);
    };
    await next();
    return res;
  }
}
const users = new Map([[1, { id: 1, name: 'Ann' }]]);
const app = new App();
const log = [];
app.use(async (req, res, next) => { const n = log.length; await next(); log.push(`${n} ${req.method} ${req.path} ${res.status}`); });
app.use('/admin', (req, res, next) => (req.headers?.token === 'secret' ? next() : res.code(403).send('forbidden')));
app.get('/users/:id', (req, res) => { const u = users.get(Number(req.params.id)); if (!u) throw Object.assign(new Error('no such user'), { status: 404 }); res.json(u); });
app.post('/users', async (req, res) => { await new Promise((r) => setTimeout(r, 1)); const id = users.size + 1; users.set(id, { id, ...req.body }); res.code(201).json({ id }); });
app.get('/admin/stats', (req, res) => res.json({ users: users.size }));
app.get('/boom', () => { throw new TypeError('boom'); });
app.use((err, req, res, next) => { if (!err.status) return next(err); res.code(err.status).json({ error: err.message }); });
(async () => {
  for (const r of [['GET', '/users/1'], ['GET', '/users/9'], ['POST', '/users', { name: 'Bob' }], ['GET', '/users/2/'], ['GET', '/admin/stats'], ['GET', '/admin/stats', null, { token: 'secret' }], ['GET', '/boom'], ['PUT', '/nothing']]) {
    const { status, body, headers } = await app.handle({ method: r[0], path: r[1], body: r[2], headers: r[3] });
    console.log(r[0], r[1], '->', status, body, headers['content-type'] ?? '-');
  }
  console.log(log);
  console.log(util.format('%s %o', 'end', { a: 1 }), util.inspect(users, { compact: true }), util.types.isPromise(app.handle({ method: 'GET', path: '/' })), util.isDeepStrictEqual([1], [1]));
})();
