// Run commands from JavaScript: exec, spawn, execFileSync, pipes, exit codes, environment.
const { execSync, execFileSync, spawnSync, exec, spawn } = require('child_process');
const { promisify } = require('util');
console.log(execSync('echo hello && printf "%s\\n" b a | sort', { encoding: 'utf8' }).trim().split('\n'));
console.log(execFileSync('wc', ['-w'], { input: 'three small words' }).toString().trim());
const r = spawnSync('sh', ['-c', 'echo out; echo err >&2; exit 3'], { encoding: 'utf8' });
console.log(r.status, JSON.stringify(r.stdout), JSON.stringify(r.stderr), r.signal);
try { execSync('exit 7', { stdio: 'pipe' }); } catch (e) { console.log('failed with', e.status); }
console.log(execSync('echo $COLOUR', { env: { ...process.env, COLOUR: 'blue' } }).toString().trim());
const run = promisify(exec);
(async () => {
  const { stdout, stderr } = await run('echo from exec; echo warn >&2');
  console.log([stdout, stderr]);
  await run('ls /does/not/exist').catch((e) => console.log('code', e.code, e.stderr.includes('does')));
  await new Promise((resolve) => {
    const p = spawn('tr', ['a-z', 'A-Z']);
    let out = '';
    p.stdout.on('data', (d) => { out += d; });
    p.on('close', (code) => { console.log('closed', code, out); resolve(); });
    p.stdin.write('shout ');
    p.stdin.end('this');
  });
  await new Promise((resolve) => spawn('no-such-program').on('error', (e) => { console.log(e.code, e.path); resolve(); }));
  console.log(execFileSync(process.execPath, ['-e', 'console.log(process.argv.length, 6 * 7)']).toString().trim());
  console.log(execSync('python3 -c "print(sum(range(10)))"').toString().trim(), execSync('cat', { input: 'piped' }).toString());
  const code = await new Promise((resolve) => spawn('sh', ['-c', 'exit 4'], { stdio: 'ignore' }).on('exit', resolve));
  console.log('exit', code);
})();
