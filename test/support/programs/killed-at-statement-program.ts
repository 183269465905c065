/** Preloaded into a program: it dies by SIGKILL before the first statement to SQLite that begins with KILL_AT. */
import { DatabaseSync } from "node:sqlite";

// oxlint-disable-next-line typescript/unbound-method -- called with its database below
const { prepare } = DatabaseSync.prototype;
DatabaseSync.prototype.prepare = function (this: DatabaseSync, text, ...rest) {
  if (text.startsWith(process.env["KILL_AT"]!)) process.kill(process.pid, "SIGKILL");
  return prepare.call(this, text, ...rest);
};
