// Streams: transform, pipeline, readline over a stream, async iteration and back pressure.
const { Readable, Transform, Writable, PassThrough } = require('stream');
const { pipeline, finished } = require('stream/promises');
const readline = require('readline');
const zlib = require('zlib');

class Lines extends Transform {
  constructor() { super({ readableObjectMode: true }); this.rest = ''; }
  _transform(chunk, _, done) {
    const parts = (this.rest + chunk).split('\n');
    this.rest = parts.pop();
    for (const p of parts) this.push(p);
    done();
  }
  _flush(done) { if (this.rest) this.push(this.rest); done(); }
}

async function main() {
  const out = [];
  await pipeline(
    Readable.from(['al', 'pha\nbe', 'ta\ngam', 'ma']),
    new Lines(),
    new Transform({ objectMode: true, transform(line, _, cb) { cb(null, { line, length: line.length }); } }),
    new Writable({ objectMode: true, write(o, _, cb) { out.push(o); cb(); } }),
  );
  console.log(out);
  const gz = zlib.createGzip();
  const chunks = [];
  await pipeline(Readable.from([Buffer.from('hello '.repeat(50))]), gz, zlib.createGunzip(), async (source) => { for await (const c of source) chunks.push(c); });
  console.log(Buffer.concat(chunks).length);
  const rl = readline.createInterface({ input: Readable.from(['one\ntw', 'o\nthree']), crlfDelay: Infinity });
  let n = 0;
  for await (const line of rl) console.log(++n, line);
  await pipeline(Readable.from(['x']), new Transform({ transform(c, e, cb) { cb(new Error('transform failed')); } }), new PassThrough()).catch((e) => console.log('caught', e.message));
  const slow = new Writable({ highWaterMark: 3, write(c, e, cb) { setTimeout(cb, 1); } });
  console.log(slow.write('abcd'), slow.writableLength, slow.writableNeedDrain);
  slow.end('z');
  await finished(slow);
  console.log('finished', slow.writableFinished);
  const total = await Readable.from([1, 2, 3, 4]).filter((x) => x % 2 === 0).map((x) => x * 10).reduce((a, b) => a + b, 0);
  console.log(total);
  const r = new Readable({ read() {} });
  r.push('abc'); r.push('def'); r.push(null);
  r.setEncoding('utf8');
  r.on('data', (d) => console.log('data', d)).on('end', () => console.log('end'));
}
main();
