// Holds: what a host that joins pins (lib/agent/joining/join.ts)
/**
 * An agent of 0.1.0, which knows no roots, started on a host that follows one: it refuses each unknown key, and demands
 * a pin, of which it finds none. So whoever brings an older agent to a host brings no older rule with it.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import * as YAML from "yaml";
import { COMMANDS } from "../../../commands/shell/registry.ts";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { startHub } from "../../support/hub/harness.ts";
import { trustAt } from "../../support/hub/trust.ts";
import { runHere } from "../../support/programs/run-here.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** Keys of a target by which 0.1.0 accepts a signer; without one it ends with `config_invalid`. */
const PINS = ["signer_public_key", "trust_on_first_use"];

t.test("what a host with a root is given has a key that 0.1.0 refuses, and no pin", async (t) => {
  const folder = temporaryFolder(t);
  process.env["XDG_CONFIG_HOME"] = folder;
  const hub = await startHub(t);
  Object.assign(process.env, { SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey });
  const { body } = await hub.call("POST", "/devkeys/projects", { json: { name: "Harbour", kind: "project" } });
  const root = rootChain().version(1, [heldKey()]);
  t.match(await trustAt(hub).publish(root, [body.id as string]), { status: 201 });
  const run = (line: string) => runHere(COMMANDS, line.split(" "));
  const { stdout } = await run("host invite --project Harbour");
  const file = join(folder, "join.token");
  await writeFile(file, stdout);
  const out = join(folder, "host");
  const words = `--token-file ${file} --host-id pier-7 --out ${out} --project-root ${folder}/root --yes`;
  t.match(await run(`join ${hub.url} ${words}`), { code: 0 });
  const watch = YAML.parse(await readFile(join(out, "watch.yaml"), "utf8")) as { targets: Record<string, unknown>[] };
  const [target] = watch.targets as [Record<string, unknown>];
  t.equal(target["root"], "root.json");
  for (const pin of PINS) t.notOk(pin in target || pin in watch, pin);
  t.equal(await readFile(join(out, "root.json"), "utf8"), root);
});
