const { execSync, spawnSync } = require("child_process");
console.log(execSync("printf 'c\\na\\nb\\n' | sort").toString().split("\n").filter(Boolean));
const r = spawnSync("cat", [], { input: "from stdin", encoding: "utf8" });
console.log(r.status, r.stdout);
try { execSync("exit 4", { stdio: "pipe" }); } catch (e) { console.log("status", e.status); }
