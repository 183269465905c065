/** A mirror in a process of its own, which a test kills: the hub's URL and the folder are its arguments. */
import { createMirror } from "../../../lib/mirror/mirror.ts";
import { createLogger } from "../../../lib/support/logging.ts";

const [hubUrl = "", cacheDir = ""] = process.argv.slice(2);
const mirror = await createMirror({
  ...{ hubUrl, cacheDir, quotaBytes: 10_000_000, timeoutMs: 10_000 },
  listen: { host: "127.0.0.1", port: 0 },
  logger: createLogger({ name: "mirror", level: "silent" }),
});
console.log(await mirror.listen());
