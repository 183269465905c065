// Only in test:all: the compiler checks each new plugin.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import t from "tap";
import { scaffoldPlugin } from "../../../../lib/runtime/authoring/scaffold.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");

// Compilers are slow on a busy machine.
t.setTimeout(240_000);

for (const mode of ["sandboxed", "trusted"] as const) {
  t.test(`tsc is content with a new ${mode} plugin, with nothing installed`, async (t) => {
    // Far from this repository, whose node_modules would be found.
    const folder = join(temporaryFolder(t), "greeter");
    await scaffoldPlugin({ name: "greeter", folder, language: "typescript", mode });
    t.doesNotThrow(() => execFileSync(process.execPath, [tsc, "-p", "."], { cwd: folder }));
  });
}
