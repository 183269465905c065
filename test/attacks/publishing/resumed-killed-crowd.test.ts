// In a process of its own: it starts a hub and kills it.
/** A hub is killed while an owner brings thirty uploads: what is left is bounded as what is kept. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { freePort } from "../../support/free-port.ts";
import { createProject, hubAt, publication } from "../../support/hub/harness.ts";
import { beginUpload, incomingFiles, namedForm, newUploadId, placeOf } from "../../support/hub/resumed.ts";
import { builtFile } from "../../support/programs/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";

const MIB = 1024 * 1024;

t.test("of uploads that a kill left, no more are kept than of those that were cut", async (t) => {
  const dataDir = join(temporaryFolder(t), "hub");
  const port = await freePort();
  const start = async () => {
    const words = [builtFile("hub-serve"), "--data-dir", dataDir, "--listen", `127.0.0.1:${port}`];
    const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
    t.teardown(() => child.kill("SIGKILL"));
    await once(child.stdout, "data");
    return child;
  };
  const child = await start();
  const url = `http://127.0.0.1:${port}`;
  const hub = hubAt(url, readFileSync(join(dataDir, "admin.key"), "utf8").trim());
  const place = placeOf(await createProject(hub));
  for (let index = 0; index < 30; index++) {
    const form = namedForm(publication(`1.${index}.0`, { size: 3 * MIB }), newUploadId());
    await beginUpload({ url }, { key: place.key, path: `${place.base}/publish` }, form, 2.5 * MIB);
  }
  await until(
    async () => Object.values(await incomingFiles({ dataDir })).filter((bytes) => bytes >= MIB).length === 30,
  );
  child.kill("SIGKILL");
  await once(child, "exit");
  await start();
  await until(async () => Object.keys(await incomingFiles({ dataDir })).length <= 8);
  t.equal(Object.keys(await incomingFiles({ dataDir })).length, 8, "eight of an owner");
});
