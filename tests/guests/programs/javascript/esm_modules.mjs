// ES modules: named, default, namespace and dynamic imports of files written at run time; import.meta; top-level await.
import fs, { writeFileSync, mkdirSync } from 'node:fs';
import { join, dirname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';

const here = dirname(fileURLToPath(import.meta.url));
mkdirSync(join(here, 'lib'), { recursive: true });
writeFileSync(join(here, 'lib/math.mjs'), 'export const add = (a, b) => a + b;\nexport let count = 0;\nexport function bump() { count++; }\nexport default class Calc { twice(x) { return add(x, x); } }\n');
writeFileSync(join(here, 'lib/index.mjs'), "export * from './math.mjs';\nexport { default as Calc } from './math.mjs';\nexport * as math from './math.mjs';\nconsole.log('index loaded');\n");
writeFileSync(join(here, 'lib/old.cjs'), 'module.exports = { name: "old", path: __filename.split("/").pop() };\nexports.lost = 1;\n');
writeFileSync(join(here, 'lib/data.json'), '{"version": 3}');
const lib = await import('./lib/index.mjs');
console.log(Object.keys(lib), lib.add(2, 3), new lib.Calc().twice(21));
lib.bump(); lib.bump();
console.log(lib.count, lib.math.count);
try { lib.count = 9; } catch (e) { console.log(e.constructor.name); }
const again = await import('./lib/index.mjs');
console.log(again === lib, lib[Symbol.toStringTag]);
const { default: old, name } = await import('./lib/old.cjs');
console.log(old, name);
const require = createRequire(import.meta.url);
console.log(require('./lib/data.json').version, require('path').basename(import.meta.url));
await import('./lib/missing.mjs').catch((e) => console.log(e.code));
console.log(await sleep(2, 'slept'), typeof globalThis.require, typeof module, this);
console.log(fs === (await import('fs')).default, pathToFileURL('/a b/c').href);
const results = await Promise.all([1, 2, 3].map(async (n) => { await sleep(4 - n); return n * n; }));
console.log(results);
export const answer = 42;
