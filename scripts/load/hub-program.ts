/**
 * A hub for `npm run load` whose clock can be put forward: a line on stdin says by how many milliseconds, and a line on
 * stdout that it was done. Prints its URL first, and that of its metrics.
 */
import { createInterface } from "node:readline";
import { createHub } from "../../lib/hub/hub.ts";

let ahead = 0;
const databaseUrl = process.env["LOAD_DATABASE_URL"];
const hub = await createHub({
  dataDir: process.argv[2]!,
  listen: { host: "127.0.0.1", port: 0 },
  metricsListen: { host: "127.0.0.1", port: 0 },
  clock: () => Date.now() + ahead,
  ...(databaseUrl !== undefined && { databaseUrl }),
});
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  ahead += Number(line);
  console.log(ahead);
});
process.once("SIGTERM", () => {
  lines.close();
  process.stdin.destroy();
  void hub.close();
});
console.log(`${await hub.listen()} ${hub.metricsUrl}`);
