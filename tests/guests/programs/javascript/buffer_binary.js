// Buffers and typed arrays: encodings, reading and writing numbers, a BMP header, hex dump, bit tricks.
const b = Buffer.from('héllo wörld ☃', 'utf8');
console.log(b.length, b.toString('hex'), b.toString('base64'), b.toString('latin1').length);
console.log(Buffer.from('aGk=', 'base64').toString(), Buffer.from('ff00', 'hex'), Buffer.byteLength('☃'));
const head = Buffer.alloc(14);
head.write('BM', 0, 'ascii');
head.writeUInt32LE(70, 2);
head.writeInt16BE(-2, 6);
head.writeFloatLE(1.5, 8);
console.log(head, head.readUInt32LE(2), head.readInt16BE(6), head.readFloatLE(8));
const joined = Buffer.concat([Buffer.from('abc'), Buffer.from([0x64, 0x65])]);
console.log(joined.toString(), joined.slice(1, 3).toString(), joined.indexOf('d'), joined.includes('zz'), joined.equals(Buffer.from('abcde')), Buffer.compare(Buffer.from('a'), Buffer.from('b')));
joined.fill('x', 1, 3);
console.log(joined.toString(), JSON.stringify(joined), [...joined.entries()].length, joined.swap16 ? 'swap' : '');
function hexdump(buf) {
  let out = '';
  for (let i = 0; i < buf.length; i += 16) {
    const row = buf.subarray(i, i + 16);
    out += i.toString(16).padStart(8, '0') + '  ' + [...row].map((x) => x.toString(16).padStart(2, '0')).join(' ').padEnd(48) + ' |' + [...row].map((x) => (x > 31 && x < 127 ? String.fromCharCode(x) : '.')).join('') + '|\n';
  }
  return out;
}
console.log(hexdump(Buffer.from('The quick brown\nfox jumps\u0000over')));
const f = new Float64Array([1, 2.5, -0]);
console.log(f, f.map((x) => x * 2), new Uint8Array(f.buffer, 0, 8), new Uint8ClampedArray([300, -5]));
const view = new DataView(new ArrayBuffer(8));
view.setBigInt64(0, -2n);
console.log(view.getUint8(7), view.getBigUint64(0), view.getInt32(4, true));
console.log((0xdeadbeef >>> 0).toString(2).replace(/0/g, '').length, ~5, 1 << 31, -1 >>> 28, Math.clz32(1), Math.imul(0x7fffffff, 2));
console.log(new TextEncoder().encode('€'), new TextDecoder().decode(Uint8Array.of(226, 130, 172)), new TextDecoder('utf-16le').decode(Buffer.from('hi', 'utf16le')));
console.log(Buffer.from([1, 2, 3]).readUIntBE(0, 3), Buffer.alloc(3, 'ab'), Buffer.isBuffer(b), b.subarray(0, 2).buffer === b.buffer);
try { Buffer.alloc(2).readUInt32LE(0); } catch (e) { console.log(e.name, e.code); }
console.log(atob('aGk='), btoa('hi'), structuredClone({ d: new Date(0), m: new Map([[1, { a: [1] }]]) }));
