/** A trusted plugin that ends the runtime's process as if all were well: nothing would start the runtime again. */
import { execFile } from "node:child_process";
import t from "tap";
import { builtFile } from "../../support/programs/command-line.ts";
import { actions, KEY, startHost, trusted } from "../../support/runtime/host.ts";

t.test("a runtime that a plugin ends says so, and is not a success", async (t) => {
  const ending = trusted("ending", actions(`end: ({ code }) => process.exit(code)`));
  const host = await startHost(t, { plugins: { ending }, listen: false });
  host.write(
    "integration.yaml",
    `app: { secret_key: ${KEY}, server: { port: 0 } }\nplugins: { strict_trusted: false }\n`,
  );
  for (const [code, exit] of [
    [0, 70],
    [5, 5],
  ] as const) {
    const program = execFile(process.execPath, [builtFile("runtime-serve")], { cwd: host.root });
    t.teardown(() => program.kill("SIGKILL"));
    let log = "";
    program.stderr!.on("data", (chunk: string) => (log += chunk));
    const ended = new Promise((resolve) => program.once("close", resolve));
    const ready = await new Promise<string>((resolve) => program.stdout!.once("data", resolve));
    const url = `${ready.trim().replace("ready ", "")}/plugin/ipc/ending/end`;
    const headers = { "x-plugin-key": KEY, "content-type": "application/json" };
    await t.rejects(fetch(url, { method: "POST", headers, body: JSON.stringify({ payload: { code } }) }));
    t.equal(await ended, exit);
    t.match(log, new RegExp(`"code":${code},.*the runtime's process was ended from within`));
  }
});
