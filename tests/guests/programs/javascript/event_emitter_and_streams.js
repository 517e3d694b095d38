const { EventEmitter, once } = require("events");
const { Readable, Transform, pipeline } = require("stream");
const e = new EventEmitter();
e.on("x", (v) => console.log("first", v));
e.once("x", (v) => console.log("once", v));
console.log(e.emit("x", 1), e.emit("x", 2), e.emit("y"), e.listenerCount("x"));
const upper = new Transform({ transform(chunk, _enc, cb) { cb(null, chunk.toString().toUpperCase()); } });
const out = [];
upper.on("data", (c) => out.push(c.toString()));
pipeline(Readable.from(["a", "b", "c"]), upper, (err) => console.log("done", err, out));
(async () => {
  setTimeout(() => e.emit("later", 42), 5);
  const [v] = await once(e, "later");
  console.log("later", v);
})();
