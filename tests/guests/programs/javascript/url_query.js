// URLs, query strings, encoding, a tiny router.
const { URL, URLSearchParams } = require('url');
const querystring = require('querystring');
const u = new URL('https://user:p%40ss@example.com:8080/a/b/../c?x=1&y=two%20words&x=3#frag');
console.log(u.href, u.origin, u.pathname, u.port, u.username, decodeURIComponent(u.password), u.hash);
console.log(u.searchParams.getAll('x'), u.searchParams.get('y'), [...u.searchParams.keys()]);
u.searchParams.append('z', 'ä&b');
u.searchParams.delete('x');
u.searchParams.sort();
u.port = '443';
console.log(u.toString());
console.log(new URL('../img/p.png?q#h', 'http://h.org/dir/page/x.html').href, new URL('//cdn.net/x', 'https://a.b').href);
for (const bad of ['nope', 'http://', 'http://a b/']) { try { new URL(bad); console.log('ok', bad); } catch (e) { console.log(e.code, bad); } }
console.log(new URLSearchParams({ a: 1, b: 'x y' }).toString(), new URLSearchParams([['k', 'v'], ['k', 'w']]).toString(), new URLSearchParams('?a=b+c').get('a'));
console.log(querystring.parse('a=1&a=2&b=%41'), querystring.stringify({ q: 'ü', list: [1, 2] }));
console.log(encodeURIComponent("a/b?c=d&e='f' ü"), encodeURI('http://x/ü?q=1 2'), decodeURI('%E2%98%83'), escape('ü ☃'));
try { decodeURIComponent('%E0%A4%A'); } catch (e) { console.log(e.name, e.message); }
const routes = [];
const route = (pattern, handler) => routes.push([new RegExp('^' + pattern.replace(/:(\w+)/g, '(?<$1>[^/]+)').replace('*', '(?<rest>.*)') + '$'), handler]);
route('/users/:id', ({ id }, q) => `user ${id} ${q.get('tab') ?? 'main'}`);
route('/users/:id/posts/:post', ({ id, post }) => `post ${post} of ${id}`);
route('/files/*', ({ rest }) => `file ${rest}`);
function handle(target) {
  const url = new URL(target, 'http://localhost');
  for (const [re, handler] of routes) {
    const m = re.exec(url.pathname);
    if (m) return handler({ ...m.groups }, url.searchParams);
  }
  return '404';
}
for (const t of ['/users/7?tab=posts', '/users/7/posts/9', '/files/a/b/c.txt', '/other']) console.log(t, '=>', handle(t));
console.log(URL.canParse?.('https://ok.io'), u instanceof URL, JSON.stringify({ u }));
