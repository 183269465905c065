/** Exchanges a program and its former one until it is killed; it tells when it begins. */
import { ProgramFile } from "../../../lib/agent/upgrade/program-file.ts";

const [path = "", next = ""] = process.argv.slice(2);
using file = await ProgramFile.open(path);
await file.switchTo(await file.copyBeside(next));
console.log("begun");
for (;;) await file.switchBack();
