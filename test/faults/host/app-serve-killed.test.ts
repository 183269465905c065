// In a process of its own: it kills programs.
// Holds: nothing of an application outlives a killed app serve (lib/apps/leftovers.ts)
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { setpriv } from "../../../lib/apps/guard.ts";
import { askApplications } from "../../../lib/client/app-serve-client.ts";
import { SERVE_SOCKET, serveFolder } from "../../../lib/releases/applications.ts";
import { freePort } from "../../support/free-port.ts";
import { ApplicationRoot, HANDED_OVER } from "../../support/host/application-root.ts";
import { until } from "../../support/until.ts";

/** Applications that a kill of their supervisor does not end by itself; each holds the socket and a child. */
const KINDS = {
  silent: HANDED_OVER,
  loud: `${HANDED_OVER} process.stdout.on("error", () => {}); setInterval(() => console.log("x".repeat(1000)), 5);`,
  stubborn: `${HANDED_OVER} process.removeAllListeners("SIGTERM"); process.on("SIGTERM", () => {});`,
};
const WITH_CHILD = `
require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" });`;

/** Words that run a program where the machine's setpriv is one that does nothing, as without util-linux. */
const WITHOUT_SETPRIV = ["unshare", "--mount", "sh", "-c", 'mount --bind /bin/false "$0"; exec "$@"', setpriv() ?? ""];

async function started(t: Test, root: string, hasSetpriv: boolean): Promise<ChildProcess> {
  const words = [process.execPath, "bin/sealift.ts", "app", "serve", "--project-root", root, "--json"];
  const [file, ...args] = hasSetpriv ? words : [...WITHOUT_SETPRIV, ...words];
  const child = spawn(file!, args, { stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => child.kill("SIGKILL"));
  let text = "";
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    text += String(chunk);
    if (text.includes('"ready"')) break;
  }
  return child;
}

/** Asks `app serve` itself: its marks are written beside its work. */
async function pidOf({ layout }: ApplicationRoot, id: string): Promise<number> {
  const all = await askApplications({ socket: join(serveFolder(layout), SERVE_SOCKET), timeoutMs: 10_000 });
  return all.find((one) => one.id === id)!.pid!;
}

/** Living processes whose group is that of `pid`. */
async function groupOf(pid: number): Promise<number> {
  const { readdir } = await import("node:fs/promises");
  let count = 0;
  for (const name of await readdir("/proc")) {
    const text = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, "latin1").catch(() => "") : "";
    const [state, , group] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    if (Number(group) === pid && state !== "Z") count++;
  }
  return count;
}

const connects = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => (socket.destroy(), resolve(true)));
    socket.once("error", () => resolve(false));
  });

/** Returns why this user cannot hide setpriv; false where it can, or need not. */
const skip = (hasSetpriv: boolean): string | false =>
  hasSetpriv || (process.getuid?.() === 0 && setpriv() !== undefined) ? false : "only root hides setpriv";

for (const [how, hasSetpriv] of [
  ["with setpriv", true],
  ["without setpriv", false],
] as const)
  t.test(
    `after a kill of app serve there are never two of an application, ${how}`,
    { skip: skip(hasSetpriv) },
    async (t) => {
      const root = await ApplicationRoot.make(t);
      const ports = { silent: await freePort(), loud: await freePort(), stubborn: await freePort() };
      for (const [id, server] of Object.entries(KINDS))
        await root.install(id, {
          app: { listen: ["http"], stop: { within: 1 } },
          files: { "server.js": server + WITH_CHILD },
        });
      await root.grant(Object.fromEntries(Object.entries(ports).map(([id, port]) => [id, { listen: { http: port } }])));
      const first = await started(t, root.layout.root, hasSetpriv);
      const old = await Promise.all(Object.keys(KINDS).map((id) => pidOf(root, id)));
      await until(async () => (await Promise.all(old.map(groupOf))).every((count) => count >= 2));
      first.kill("SIGKILL");
      await once(first, "exit");
      const second = await started(t, root.layout.root, hasSetpriv);
      t.same(await Promise.all(old.map(groupOf)), [0, 0, 0], "nothing of the old ones is left");
      for (const [id, port] of Object.entries(ports)) {
        t.ok(await connects(port), id);
        t.notOk(old.includes(await pidOf(root, id)));
      }
      second.kill("SIGTERM");
      const [code] = (await once(second, "exit")) as [number];
      t.equal(code, 0);
      for (const port of Object.values(ports)) t.notOk(await connects(port), "the port is free");
    },
  );
