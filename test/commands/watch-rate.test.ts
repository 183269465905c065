import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { watchTargets } from "../../commands/deploying/watch-targets.ts";
import { fileLayer, flagsLayer } from "../../lib/options/layers.ts";
import { readWatchFile } from "../../lib/options/watch-file.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const SIGNER = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

t.test("targets share the bound of the whole watch, and one with its own has that", async (t) => {
  const folder = temporaryFolder(t);
  await writeFile(join(folder, "key"), "slk_0");
  const file = join(folder, "watch.yaml");
  const target = (digit: number, more: object = {}): object => ({
    ...{ target: `project:prj_0123456789abcde${digit}`, project_root: `root-${digit}`, ...more },
    ...{ signer_public_key: SIGNER, deployment_credential_file: "key" },
  });
  const targets = [target(1), target(2), target(3, { max_rate: "1M/s" })];
  const written = { hub_url: "http://127.0.0.1:1", api_key_file: "key", max_rate: "200KiB/s", targets };
  await writeFile(file, JSON.stringify(written));
  const read = await readWatchFile(file);
  const [first, second, own] = (await watchTargets(read.targets, [fileLayer(read.shared, file)])).map(
    ({ fleet }) => fleet!.connection.rateLimit,
  );
  t.ok(first);
  t.equal(second, first);
  t.ok(own !== undefined && own !== first);
  const [none] = await watchTargets(read.targets, [fileLayer({ ...read.shared, max_rate: undefined as never }, file)]);
  t.equal(none!.fleet!.connection.rateLimit, undefined);
  const layers = [flagsLayer({ "max-rate": "much" }), fileLayer(read.shared, file)];
  await t.rejects(watchTargets(read.targets.slice(0, 1), layers), {
    exitCode: 2,
    message: /--max-rate is a rate of 1K or more/,
  });
});
