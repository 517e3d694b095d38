// Starts the policy language server for .hatch files. All knowledge of the language is in the server.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const [command, ...args] = workspace.getConfiguration("hatchway").get("command");
  client = new LanguageClient("hatchway-policy", "Hatchway policy", { command, args }, { documentSelector: [{ language: "hatch" }] });
  return client.start();
};

exports.deactivate = () => client && client.stop();
