/**
 * Loaded before a program (`node --import`): lists the modules that it loads until its first request, or until it is
 * ready. The list is a JSON array in the file that `TRACED_MODULES` names.
 */
import { subscribe } from "node:diagnostics_channel";
import { writeFileSync } from "node:fs";
import { registerHooks } from "node:module";

const loaded: string[] = [];
registerHooks({
  load(url, context, nextLoad) {
    loaded.push(url);
    return nextLoad(url, context);
  },
});

let written = false;
function writeList(): void {
  if (!written) writeFileSync(process.env["TRACED_MODULES"]!, JSON.stringify(loaded));
  written = true;
}
subscribe("http.client.request.start", writeList);
process.once("exit", writeList);
