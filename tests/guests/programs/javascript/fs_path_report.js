// Build a project tree with fs, walk it, read JSON, watch sizes, rename, copy and delete.
const fs = require('fs');
const fsp = require('fs/promises');
const path = require('path');
const os = require('os');

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'proj-'));
const files = { 'package.json': JSON.stringify({ name: 'demo', version: '1.2.3', dependencies: { a: '^1.0.0' } }, null, 2), 'src/index.js': "console.log('hi');\n", 'src/lib/util.js': 'exports.x = 1;\n', 'README.md': '# Demo\n\ntext\n' };
for (const [name, text] of Object.entries(files)) {
  const full = path.join(root, name);
  fs.mkdirSync(path.dirname(full), { recursive: true });
  fs.writeFileSync(full, text);
}
function* walk(dir) {
  for (const e of fs.readdirSync(dir, { withFileTypes: true }).sort((a, b) => a.name.localeCompare(b.name))) {
    const full = path.join(dir, e.name);
    if (e.isDirectory()) yield* walk(full); else yield full;
  }
}
const list = [...walk(root)].map((f) => [path.relative(root, f), fs.statSync(f).size, path.extname(f)]);
console.log(list);
(async () => {
  const pkg = JSON.parse(await fsp.readFile(path.join(root, 'package.json'), 'utf8'));
  const [maj, min, pat] = pkg.version.split('.').map(Number);
  pkg.version = `${maj}.${min + 1}.0`;
  await fsp.writeFile(path.join(root, 'package.json'), JSON.stringify(pkg));
  console.log(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
  await fsp.appendFile(path.join(root, 'README.md'), 'more\n');
  console.log((await fsp.readFile(path.join(root, 'README.md'), 'utf8')).split('\n').length);
  await fsp.rename(path.join(root, 'src/lib/util.js'), path.join(root, 'src/util.js'));
  await fsp.rmdir(path.join(root, 'src/lib'));
  await fsp.copyFile(path.join(root, 'src/util.js'), path.join(root, 'copy.js'));
  try { await fsp.readFile(path.join(root, 'nope.txt')); } catch (e) { console.log(e.code, e.syscall, e.message.replace(root, '')); }
  try { fs.mkdirSync(path.join(root, 'src')); } catch (e) { console.log(e.code); }
  try { fs.rmdirSync(path.join(root, 'src')); } catch (e) { console.log(e.code); }
  console.log(fs.readdirSync(root, { recursive: true }).sort());
  fs.symlinkSync('copy.js', path.join(root, 'link.js'));
  console.log(fs.lstatSync(path.join(root, 'link.js')).isSymbolicLink(), fs.readlinkSync(path.join(root, 'link.js')), fs.realpathSync(path.join(root, 'link.js')).endsWith('copy.js'));
  const fd = fs.openSync(path.join(root, 'bin'), 'w+');
  fs.writeSync(fd, Buffer.from([1, 2, 3, 4, 5]));
  const buf = Buffer.alloc(3);
  console.log(fs.readSync(fd, buf, 0, 3, 1), buf);
  fs.ftruncateSync(fd, 2);
  fs.closeSync(fd);
  console.log(fs.statSync(path.join(root, 'bin')).size, fs.existsSync(path.join(root, 'gone')));
  fs.chmodSync(path.join(root, 'bin'), 0o640);
  console.log((fs.statSync(path.join(root, 'bin')).mode & 0o777).toString(8));
  fs.rmSync(root, { recursive: true, force: true });
  console.log(fs.existsSync(root));
  console.log(path.parse('/home/u/file.tar.gz'), path.resolve('/a/b', '../c', './d'), path.normalize('/a//b/../c/.'), path.isAbsolute('x'), path.basename('/x/y.html', '.html'), path.format({ dir: '/z', name: 'n', ext: '.e' }));
})();
