// A router with template-literal path parameters inferred by types, and an onion of middleware.
type Params<P extends string> = P extends `${string}:${infer N}/${infer R}` ? { [K in N | keyof Params<R>]: string } : P extends `${string}:${infer N}` ? { [K in N]: string } : {};
type Context<P extends string = string> = { path: string; params: Params<P>; state: Record<string, unknown>; body?: string };
type Middleware = (ctx: Context<any>, next: () => Promise<void>) => Promise<void> | void;
class Router {
  private middleware: Middleware[] = [];
  private routes: { regex: RegExp; names: string[]; handler: (ctx: Context<any>) => string | Promise<string> }[] = [];
  use(...m: Middleware[]): this { this.middleware.push(...m); return this; }
  get<P extends string>(path: P, handler: (ctx: Context<P>) => string | Promise<string>): this {
    const names = [...path.matchAll(/:(\w+)/g)].map((m) => m[1]!);
    this.routes.push({ regex: new RegExp(`^${path.replace(/:\w+/g, '([^/]+)')}$`), names, handler });
    return this;
  }
  async handle(path: string): Promise<string> {
    const ctx: Context<any> = { path, params: {}, state: {} };
    const endpoint: Middleware = async () => {
      for (const { regex, names, handler } of this.routes) {
        const m = regex.exec(path);
        if (m) { ctx.params = Object.fromEntries(names.map((n, i) => [n, m[i + 1]])); ctx.body = await handler(ctx); return; }
      }
      throw new Error(`no route for ${path}`);
    };
    const run = (i: number): Promise<void> => Promise.resolve([...this.middleware, endpoint][i]?.(ctx, () => run(i + 1)));
    await run(0);
    return ctx.body ?? '';
  }
}
const trace: string[] = [];
const router = new Router()
  .use(async (ctx, next) => { trace.push(`> ${ctx.path}`); try { await next(); } catch (e) { ctx.body = `error: ${(e as Error).message}`; } trace.push(`< ${ctx.body}`); })
  .use((ctx, next) => { ctx.state['user'] = 'ann'; return next(); })
  .get('/users/:id', ({ params, state }) => `user ${params.id} for ${state['user']}`)
  .get('/users/:id/posts/:post', async ({ params: { id, post } }) => { await null; return `${id}/${post}`; })
  .get('/boom', () => { throw new TypeError('boom'); });
(async () => {
  for (const p of ['/users/7', '/users/7/posts/x-1', '/nope', '/boom']) console.log(await router.handle(p));
  console.log(trace);
})();
