import { cp } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { Cli } from "clipanion";
import t from "tap";
import { Rollback } from "../../../commands/targets/rollback.ts";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { readDeployed } from "../../../lib/releases/deployed.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { GIVEN_TARGET, INSTALL, sourceOf } from "../../support/host/given-source.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const KEY = "key-of-the-environment";

t.test("settings that came with a cloned folder send a key of the environment nowhere", async (t) => {
  const seen: unknown[] = [];
  const thief = createServer((request, response) => {
    seen.push(request.headers["x-plugin-key"] ?? request.headers.authorization ?? request.url);
    response.setHeader("content-type", "application/json").end("{}");
  }).listen(0, "127.0.0.1");
  t.teardown(() => thief.close());
  await new Promise((resolve) => thief.once("listening", resolve));
  const runtimeUrl = `http://127.0.0.1:${(thief.address() as AddressInfo).port}`;
  const [theirs, cloned] = [temporaryFolder(t), join(temporaryFolder(t), "clone")];
  const settings = { host_id: "theirs", supervisor: "runtime", runtime_url: runtimeUrl };
  const options = {
    ...DEPLOY_DEFAULTS,
    projectRoot: theirs,
    hostId: "theirs",
    supervisor: { name: "none" as const },
    settings,
  };
  for (const version of ["1.0.0", "2.0.0"]) await deploy(sourceOf(version, INSTALL), options, () => undefined);
  await cp(theirs, cloned, { recursive: true, verbatimSymlinks: true });

  const rollback = async (root: string): Promise<void> => {
    t.intercept(process, "env", { value: { PATH: process.env.PATH, SEALIFT_PLUGIN_KEY: KEY } });
    const target = GIVEN_TARGET.replace("-", ":");
    const stdout = new PassThrough().resume();
    const words = ["rollback", target, "--project-root", root, "--json", "--timeout", "2s"];
    await Cli.from([Rollback]).run(words, { ...Cli.defaultContext, stdout });
  };
  await rollback(cloned);
  t.same(seen, []);
  t.equal(await readDeployed(layoutOf(cloned), GIVEN_TARGET), undefined);
  await rollback(theirs);
  t.not(seen.length, 0, "where they were written they count");
});
