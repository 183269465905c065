import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const THREAD = fileURLToPath(new URL("../../../lib/support/thread.ts", import.meta.url));

t.test("a thread of a program that keeps compiled code for a time makes no folder in place of the link", (t) => {
  const folder = temporaryFolder(t);
  const [link, kept, main] = ["link", "kept", "main.mjs"].map((name) => join(folder, name)) as [string, string, string];
  mkdirSync(kept);
  writeFileSync(join(folder, "worker.mjs"), "export const started = true;\n");
  writeFileSync(
    main,
    `import module from "node:module";
     import { rmSync, symlinkSync } from "node:fs";
     import { startThread } from ${JSON.stringify(THREAD)};
     symlinkSync(${JSON.stringify(kept)}, ${JSON.stringify(link)});
     module.enableCompileCache(${JSON.stringify(link)});
     const ended = (thread) => new Promise((resolve) => thread.once("exit", resolve));
     await ended(startThread(import.meta.url, "worker"));
     const second = startThread(import.meta.url, "worker");
     rmSync(${JSON.stringify(link)});
     await ended(second);
     await ended(startThread(import.meta.url, "worker"));\n`,
  );
  execFileSync(process.execPath, [main], { stdio: "pipe" });
  t.notOk(existsSync(link));
  t.ok(readdirSync(kept).length > 0, "and keeps the code where it belongs");
  t.end();
});
