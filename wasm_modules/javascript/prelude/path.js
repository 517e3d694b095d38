// path.js: the module `path`, POSIX only.
(function (native, hooks) {
  const check = (path) => {
    return hooks.checkString(path, "path");
  };

  const normalize = (path) => {
    if (check(path) === "") return ".";
    const rooted = path.startsWith("/"),
      out = [];
    for (const part of path.split("/")) {
      if (part === "" || part === ".") continue;
      if (part !== "..") out.push(part);
      else if (out.length && out.at(-1) !== "..") out.pop();
      else if (!rooted) out.push("..");
    }
    const tail = path.endsWith("/") && out.length ? "/" : "";
    return (rooted ? "/" : "") + out.join("/") + tail || (path.endsWith("/") && !rooted ? "./" : ".");
  };

  const resolve = (...paths) => {
    let path = "";
    for (const next of [native.cwd(), ...paths])
      path = check(next).startsWith("/") ? next : next === "" ? path : `${path}/${next}`;
    return normalize(path).replace(/(?<=.)\/$/, "");
  };

  const basename = (path, suffix) => {
    if (suffix !== undefined) hooks.checkString(suffix, "suffix");
    if (check(path) === suffix) return "";
    const base = path.replace(/\/+$/, "").split("/").at(-1);
    return suffix && base.endsWith(suffix) && base !== suffix ? base.slice(0, -suffix.length) : base;
  };

  const dirname = (path) => {
    const trimmed = check(path).replace(/(?<=.)\/+$/, "");
    const at = trimmed.lastIndexOf("/");
    if (at === 1 && trimmed.startsWith("//")) return "//";
    return at < 0 ? "." : at === 0 ? "/" : trimmed.slice(0, at).replace(/(?<=.)\/+$/, "");
  };

  const extname = (path) => {
    const base = basename(path),
      at = base.lastIndexOf(".");
    return at <= 0 || base === ".." ? "" : base.slice(at);
  };

  const relative = (from, to) => {
    const a = resolve(from).split("/").filter(Boolean),
      b = resolve(to).split("/").filter(Boolean);
    let same = 0;
    while (same < a.length && same < b.length && a[same] === b[same]) same++;
    return [...Array(a.length - same).fill(".."), ...b.slice(same)].join("/");
  };

  const parse = (path) => {
    const base = basename(path),
      ext = extname(path),
      root = path.startsWith("/") ? "/" : "";
    const dir = path.includes("/") ? dirname(path) : "";
    return { root, dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
  };

  const path = {
    sep: "/",
    delimiter: ":",
    normalize,
    resolve,
    basename,
    dirname,
    extname,
    relative,
    parse,
    join: (...paths) => normalize(paths.map(check).filter(Boolean).join("/")),
    isAbsolute: (p) => check(p).startsWith("/"),
    format: ({ dir, root = "", base, name = "", ext = "" }) => {
      const file = base ?? name + (ext && !ext.startsWith(".") ? "." + ext : ext);
      return dir ? (dir === root ? dir + file : `${dir}/${file}`) : root + file;
    },
    toNamespacedPath: (p) => p,
  };
  path.posix = path;
  hooks.path = path;
});
