/** A fetch ahead that is killed in the middle of its bytes. Arguments: the project root and the target. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { writeAhead } from "../../../lib/releases/ahead.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { until } from "../until.ts";

const [root, target] = process.argv.slice(2) as [string, `project-${string}`];
const layout = layoutOf(root);

async function* body(): AsyncGenerator<Buffer> {
  yield Buffer.alloc(100_000);
  const file = join(layout.ahead(target), "sealed");
  await until(() => existsSync(file));
  process.kill(process.pid, "SIGKILL");
}

const check = { update: () => {}, verify: () => {} };
const sealed = { version: "2.0.0", signature: "", check, size: undefined, body: body() };
await writeAhead(layout, target, sealed, new AbortController().signal);
