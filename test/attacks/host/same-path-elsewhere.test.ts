// Holds: an application is told by the folder of its root, and not by a path (lib/apps/environment.ts)
// Holds: control groups that tell members (lib/support/control-groups/member-groups.ts)
import { spawn } from "node:child_process";
import { cp, mkdir } from "node:fs/promises";
import t from "tap";
import { freePort } from "../../support/free-port.ts";
import { ApplicationRoot, GRANT_USER, HANDED_OVER } from "../../support/host/application-root.ts";
import { ask, SEALIFT, ServedRoot } from "../../support/host/served-root.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";

t.test(
  "a container with a root at the same path",
  { skip: "same_user" in GRANT_USER && "only root mounts" },
  async (t) => {
    const root = await ApplicationRoot.make(t);
    const path = root.layout.root;
    const other = temporaryFolder(t);
    await mkdir(other, { recursive: true });
    await root.install("web", { app: { listen: ["http"] }, files: { "server.js": HANDED_OVER } });
    await cp(path, other, { recursive: true, verbatimSymlinks: true });
    const [port, inside] = [await freePort(), await freePort()];
    const elsewhere = new ApplicationRoot(other);
    await elsewhere.grant({ web: { listen: { http: inside } } });
    await root.grant({ web: { listen: { http: port } } });

    const words = [process.execPath, SEALIFT, "app", "serve", "--project-root", path];
    const enter = `chmod 755 "$1" && mount --bind "$1" "$2" && shift 2 && exec "$@"`;
    const args = ["--mount", "sh", "-c", enter, "sh", other, path, ...words];
    const contained = spawn("unshare", args, { stdio: "ignore" });
    const ended = new Promise((resolve) => contained.once("exit", resolve));
    t.teardown(() => {
      contained.kill("SIGTERM");
      return ended;
    });
    await until(async () => /^\d+$/.test(await ask(inside)));
    const pid = await ask(inside);

    const served = await ServedRoot.start(t, root);
    await until(async () => /^\d+$/.test(await ask(port)));
    t.equal(await ask(inside), pid, "the start of one ends nothing of the other");
    await served.end("SIGTERM");
    t.equal(await ask(inside), pid, "nor does its end");
  },
);
