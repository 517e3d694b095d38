const fs = require("fs");
const path = require("path");
fs.mkdirSync("data/nested", { recursive: true });
fs.writeFileSync("data/a.json", JSON.stringify({ x: [1, 2, 3] }, null, 2));
fs.writeFileSync(path.join("data", "nested", "b.txt"), "line 1\nline 2\n");
fs.appendFileSync("data/nested/b.txt", "line 3\n");
const walk = (dir) => fs.readdirSync(dir, { withFileTypes: true }).flatMap((e) => (e.isDirectory() ? walk(path.join(dir, e.name)) : [path.join(dir, e.name)]));
console.log(walk("data").sort());
console.log(JSON.parse(fs.readFileSync("data/a.json", "utf8")).x.length, fs.statSync("data/a.json").size);
console.log(fs.readFileSync("data/nested/b.txt", "utf8").trim().split("\n").length);
try {
  fs.readFileSync("nope.txt");
} catch (e) {
  console.log(e.code);
}
fs.rmSync("data", { recursive: true });
console.log(fs.existsSync("data"), path.extname("x/y.tar.gz"), path.basename("/a/b.js", ".js"), path.resolve("/a", "../b"));
