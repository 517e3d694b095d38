// Web APIs in Node: fetch types, Blob, streams, URLPattern-free parsing, structuredClone, TextDecoderStream, EventTarget, crypto.
(async () => {
  const blob = new Blob(['hello ', new Uint8Array([119, 111, 114, 108, 100])], { type: 'text/plain' });
  console.log(blob.size, blob.type, await blob.text(), await blob.slice(0, 5).text(), new Uint8Array(await blob.arrayBuffer()).length);
  const res = new Response(JSON.stringify({ ok: 1 }), { status: 201, headers: { 'Content-Type': 'application/json', 'X-Two': 'b' } });
  console.log(res.status, res.ok, res.headers.get('content-type'), await res.clone().json(), [...res.headers.keys()], res.bodyUsed);
  const req = new Request('https://example.com/a?b=1', { method: 'POST', body: 'data', headers: [['Accept', '*/*']] });
  console.log(req.method, req.url, await req.text(), req.headers.get('accept'));
  const h = new Headers({ a: '1' });
  h.append('a', '2'); h.set('B', '3'); h.delete('missing');
  console.log([...h], h.has('b'));
  const fd = new FormData();
  fd.append('name', 'Ann'); fd.append('file', new File(['x'], 'x.txt'));
  console.log([...fd.keys()], fd.get('file').name, fd.get('file').size);
  const rs = new ReadableStream({ start(c) { for (const x of ['a', 'b', 'c']) c.enqueue(x); c.close(); } });
  const up = new TransformStream({ transform(chunk, c) { c.enqueue(chunk.toUpperCase()); } });
  const out = [];
  for await (const x of rs.pipeThrough(up)) out.push(x);
  console.log(out);
  const [s1, s2] = new Response('tee').body.tee();
  console.log(await new Response(s1).text(), await new Response(s2).text());
  const target = new EventTarget();
  target.addEventListener('go', (e) => { console.log(e.type, e.detail, e.cancelable); e.preventDefault(); }, { once: true });
  console.log(target.dispatchEvent(new CustomEvent('go', { detail: 5, cancelable: true })), target.dispatchEvent(new Event('go')));
  const clone = structuredClone({ d: new Date(5), r: /x/g, m: new Map([[1, new Set([2])]]), n: null, u: undefined, big: 1n, nested: [[]] });
  console.log(clone, structuredClone(new RangeError('r')) instanceof RangeError);
  try { structuredClone(() => {}); } catch (e) { console.log(e.name); }
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode('abc'));
  console.log(Buffer.from(digest).toString('hex').slice(0, 16), crypto.getRandomValues(new Uint8Array(4)).length, typeof crypto.randomUUID());
  const ac = new AbortController();
  ac.signal.onabort = () => console.log('aborted', ac.signal.reason.name);
  ac.abort();
  try { ac.signal.throwIfAborted(); } catch (e) { console.log(e.name, e.code); }
  console.log(new DOMException('m', 'DataError').code, typeof fetch, typeof WebSocket !== 'symbol', new TextDecoder('utf-8', { fatal: false }).decode(new Uint8Array([255, 65])));
  console.log(Object.prototype.toString.call(new URLSearchParams()), typeof queueMicrotask, navigator === undefined);
})().catch((e) => console.log('failed:', e.name));
