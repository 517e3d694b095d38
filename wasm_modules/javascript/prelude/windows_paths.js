// windows_paths.js: path.win32.
(function (native, hooks) {
  const check = (path, name = "path") => hooks.checkString(path, name);
  // [device with its slash, rest]: "C:\", "\\server\share\", "C:", "\" or nothing.
  const split = (path) => {
    const share = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)([\\/]*)/.exec(path);
    if (share) return { device: `\\\\${share[1]}\\${share[2]}`, isRooted: true, rest: path.slice(share[0].length), root: path.slice(0, share[0].length - share[3].length + Math.min(1, share[3].length)) };
    const drive = /^[A-Za-z]:/.exec(path)?.[0] ?? "";
    const slashes = /^[\\/]+/.exec(path.slice(drive.length))?.[0] ?? "";
    return { device: drive, isRooted: slashes !== "", rest: path.slice(drive.length + slashes.length), root: path.slice(0, drive.length + Math.min(1, slashes.length)) };
  };
  const tidy = (rest, isRooted) => {
    const out = [];
    for (const part of rest.split(/[\\/]+/)) {
      if (part === "" || part === ".") continue;
      if (part !== "..") out.push(part);
      else if (out.length && out.at(-1) !== "..") out.pop();
      else if (!isRooted) out.push("..");
    }
    return out.join("\\");
  };
  const normalize = (path) => {
    if (check(path) === "") return ".";
    const { device, isRooted, rest } = split(path);
    let tail = tidy(rest, isRooted);
    if (tail === "" && !isRooted) tail = ".";
    if (tail !== "" && /[\\/]$/.test(path) && rest !== "") tail += "\\";
    return device === "" ? (isRooted ? `\\${tail}` : tail) : isRooted ? `${device}\\${tail}` : `${device}${tail}`;
  };
  const resolve = (...paths) => {
    let device = "",
      tail = "",
      isRooted = false;
    for (const path of [...paths].reverse()) {
      if (check(path) === "") continue;
      const parts = split(path);
      if (parts.device && device && parts.device.toLowerCase() !== device.toLowerCase()) continue;
      device ||= parts.device;
      if (!isRooted) {
        tail = `${parts.rest}\\${tail}`;
        isRooted = parts.isRooted;
      }
      if (isRooted && device) break;
    }
    if (!isRooted) {
      tail = `${native.cwd().replaceAll("/", "\\")}\\${tail}`;
      isRooted = true;
    }
    return `${device}${isRooted ? "\\" : ""}${tidy(tail, isRooted)}` || ".";
  };
  const trimmed = (path) => {
    const { root } = split(path);
    let end = path.length;
    while (end > root.length && /[\\/]/.test(path[end - 1])) end--;
    return { root, body: path.slice(root.length, end) };
  };
  const basename = (path, suffix) => {
    if (suffix !== undefined) check(suffix, "suffix");
    if (check(path) === suffix) return "";
    const { body } = trimmed(path);
    const base = body.slice(Math.max(body.lastIndexOf("/"), body.lastIndexOf("\\")) + 1);
    return suffix && base !== suffix && base.endsWith(suffix) ? base.slice(0, -suffix.length) : base;
  };
  const dirname = (path) => {
    const { root, body } = trimmed(check(path));
    const at = Math.max(body.lastIndexOf("/"), body.lastIndexOf("\\"));
    return at < 0 ? root || "." : root + body.slice(0, at).replace(/[\\/]+$/, "");
  };
  const extname = (path) => {
    const base = basename(check(path));
    const at = base.lastIndexOf(".");
    return at <= 0 || base === ".." ? "" : base.slice(at);
  };
  const isAbsolute = (path) => /^([\\/]|[A-Za-z]:[\\/])/.test(check(path));
  const join = (...paths) => {
    const joined = paths.map((path) => check(path)).filter(Boolean).join("\\");
    if (joined === "") return ".";
    const first = paths.find(Boolean);
    const isShare = /^[\\/]{2}[^\\/]/.test(first);
    return normalize(isShare ? joined : joined.replace(/^[\\/]{2,}/, "\\"));
  };
  const relative = (from, to) => {
    check(from, "from");
    check(to, "to");
    const [a, b] = [resolve(from), resolve(to)];
    if (a.toLowerCase() === b.toLowerCase()) return "";
    const [x, y] = [a.split("\\").filter(Boolean), b.split("\\").filter(Boolean)];
    let same = 0;
    while (same < x.length && same < y.length && x[same].toLowerCase() === y[same].toLowerCase()) same++;
    if (same === 0 && split(a).device.toLowerCase() !== split(b).device.toLowerCase()) return b;
    return [...Array(x.length - same).fill(".."), ...y.slice(same)].join("\\");
  };
  const parse = (path) => {
    const { root, body } = trimmed(check(path));
    const base = basename(path),
      ext = extname(path);
    const dir = body === base ? root : dirname(path);
    return { root, dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
  };
  const format = (parts) => {
    hooks.checkObject(parts, "pathObject");
    const ext = parts.ext ? (parts.ext.startsWith(".") ? parts.ext : `.${parts.ext}`) : "";
    const base = parts.base || `${parts.name ?? ""}${ext}`;
    const dir = parts.dir || parts.root;
    return !dir ? base : dir === parts.root ? dir + base : `${dir}\\${base}`;
  };
  const toNamespacedPath = (path) => {
    if (typeof path !== "string" || path === "") return path;
    const full = resolve(path);
    if (/^\\\\[^?.]/.test(full)) return `\\\\?\\UNC\\${full.slice(2)}`;
    return /^[A-Za-z]:\\/.test(full) ? `\\\\?\\${full}` : path;
  };
  const windows = { sep: "\\", delimiter: ";", normalize, resolve, basename, dirname, extname, isAbsolute, join, relative, parse, format, toNamespacedPath };
  windows.matchesGlob = (path, pattern) => hooks.path.matchesGlob(path.replaceAll("\\", "/"), pattern);
  hooks.windowsPath = Object.assign(windows, { win32: windows, posix: hooks.path });
});
