class ValidationError extends Error {
  constructor(field, message, options) {
    super(message, options);
    this.name = "ValidationError";
    this.field = field;
  }
}
function validate(u) {
  if (!u.name) throw new ValidationError("name", "name is required");
  try { JSON.parse(u.json); } catch (cause) { throw new ValidationError("json", "bad json", { cause }); }
}
for (const u of [{}, { name: "x", json: "{" }]) {
  try { validate(u); } catch (e) { console.log(`${e.name}: ${e.message} (${e.field})`, e.cause?.name, e instanceof Error, e.stack.split("\n")[0]); }
}
process.exitCode = 2;
process.on("exit", (code) => console.log("exiting with", code));
