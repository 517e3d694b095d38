// node_common.js: what files of Node's test suite want from its `common`, as far as a sandbox can give it. See node_campaign.py.
'use strict';
const assert = require('assert');
const path = require('path');
let waiting = [];
const mustCallAtLeast = (f, n) => expected(f, n, (calls, wanted) => calls >= wanted);
const expected = (f, n, holds) => {
  if (typeof f === 'number') [f, n] = [() => {}, f];
  const entry = { calls: 0, wanted: n ?? 1, holds, name: f?.name };
  waiting.push(entry);
  const made = function (...args) { entry.calls++; return f ? f.apply(this, args) : undefined; };
  Object.defineProperty(made, 'length', { value: f?.length ?? 0, configurable: true });
  return made;
};
const mustCall = (f, n) => expected(f, n, (calls, wanted) => calls === wanted);
process.on('exit', () => {
  const missed = waiting.filter((e) => !e.holds(e.calls, e.wanted));
  if (missed.length) throw new Error('mustCall: ' + missed.map((e) => `${e.name} ${e.calls}/${e.wanted}`).join(', '));
});
const common = {
  mustCall, mustCallAtLeast,
  mustNotCall: (message) => (...args) => assert.fail(message || 'function should not have been called'),
  mustSucceed: (f, n) => mustCall(function (error, ...args) { assert.ifError(error); return f?.apply(this, args); }, n),
  mustNotMutateObjectDeep: (o) => o,
  expectsError: (check, n) => mustCall((...args) => { assert.throws(() => { throw args[0]; }, check); return true; }, n),
  expectWarning() {}, allowGlobals() {}, skip: (why) => { console.log('SKIPPED ' + why); process.exit(0); },
  platformTimeout: (ms) => ms, printSkipMessage: (why) => console.log('SKIPPED ' + why),
  isWindows: false, isLinux: true, isMacOS: false, isOSX: false, isAIX: false, isIBMi: false, isSunOS: false, isFreeBSD: false, isMainThread: true,
  isMusl: false, isASan: false, isDebug: false, isPi: () => false, isInsideDirWithUnusualChars: false,
  hasCrypto: true, hasIntl: false, hasFullICU: false, hasOpenSSL3: true, hasOpenSSL: () => true, canCreateSymLink: () => true, hasIPv6: false, hasQuic: false, hasSQLite: false,
  enoughTestMem: true, localhostIPv4: '127.0.0.1', PORT: 0, runWithInvalidFD: (f) => f(9999), skipIfInspectorDisabled() {}, skipIf32Bits() {}, skipIfEslintMissing() {},
  skipIfDumbTerminal() {}, usesSharedLibrary: false,
  getArrayBufferViews(buffer) {
    const { buffer: b, byteOffset, byteLength } = buffer;
    return [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array, DataView]
      .filter((T) => byteLength % (T.BYTES_PER_ELEMENT ?? 1) === 0).map((T) => new T(b, byteOffset, byteLength / (T.BYTES_PER_ELEMENT ?? 1)));
  },
  getBufferSources: (buffer) => [...common.getArrayBufferViews(buffer), new Uint8Array(buffer).buffer],
  invalidArgTypeHelper(input) {
    const { inspect } = require('util');
    if (input == null) return ` Received ${input}`;
    if (typeof input === 'function') return ` Received function ${input.name}`;
    if (typeof input === 'object') return input.constructor?.name ? ` Received an instance of ${input.constructor.name}` : ` Received ${inspect(input, { depth: -1 })}`;
    let shown = inspect(input, { colors: false });
    if (shown.length > 28) shown = `${shown.slice(0, 25)}...`;
    return ` Received type ${typeof input} (${shown})`;
  },
  getCallSite: () => 'here', gcUntil: async () => {}, nodeProcessAborted: () => false, childShouldThrowAndAbort() {}, requireNoPackageJSONAbove() {},
};
module.exports = common;
