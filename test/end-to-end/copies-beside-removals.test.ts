// Only in test:all: rounds of races.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { createProject, publication, startHub } from "../support/hub/harness.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const PROGRAM = fileURLToPath(new URL("../../dist/bin/sealift.js", import.meta.url));
const VERSIONS = 40;

t.test("backup, move and verify end well beside deletions and retention of the running hub", async (t) => {
  const folder = temporaryFolder(t);
  const hub = await startHub(t, { rateLimits: false });
  const project = await createProject(hub);
  const publish = (version: string) => project.publish(publication(version, { size: 200_000 }));
  for (let minor = 0; minor < VERSIONS; minor += 1) await publish(`1.${minor}.0`);
  const env = { PATH: process.env.PATH, HOME: folder, SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey };
  const sealift = (...words: string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) =>
      execFile(process.execPath, [PROGRAM, ...words], { env }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      ),
    );
  const place = ["--data-dir", hub.dataDir];
  const deleted: string[] = [];
  const copies = ["backup", "move", "verify"].map((what) => join(folder, what));
  const runs = [
    sealift("hub", "backup", ...place, "--to", copies[0]!, "--unsigned", "--json"),
    sealift("hub", "move", ...place, "--to-data-dir", copies[1]!, "--json"),
    sealift("hub", "verify", ...place, "--json"),
  ];
  let copying = true;
  const ended = Promise.all(runs).finally(() => (copying = false));
  const remove = async (): Promise<void> => {
    for (let minor = 0; copying && minor < VERSIONS / 2; minor += 1) {
      const path = `/devkeys/projects/${project.id}/versions/1.${minor}.0?reason=a+test`;
      const { status } = await hub.call("DELETE", path);
      if (status < 300) deleted.push(`1.${minor}.0`);
      await publish(`2.${minor}.0`);
    }
  };
  const retain = async (): Promise<void> => {
    const { code, stdout } = await sealift("hub", "retain", ...place, "--keep", "20", "--min-age", "0s", "--json");
    t.equal(code, 0, stdout);
  };
  await Promise.all([remove(), retain()]);
  for (const { code, stdout, stderr } of await ended) t.equal(code, 0, stdout.slice(-600) + stderr);
  t.not(deleted.length, 0, "versions were deleted meanwhile");

  // A last run of each has what is there now; a restored backup and the moved hub are whole.
  t.match(await sealift("hub", "backup", ...place, "--to", copies[0]!, "--unsigned"), { code: 0 });
  t.match(await sealift("hub", "verify", "--backup", copies[0]!, "--unsigned"), { code: 0 });
  const restored = join(folder, "restored");
  t.match(await sealift("hub", "restore", "--backup", copies[0]!, "--unsigned", "--data-dir", restored), { code: 0 });
  t.match(await sealift("hub", "move", ...place, "--to-data-dir", copies[1]!), { code: 0 });
  for (const dataDir of [restored, copies[1]!, hub.dataDir])
    t.match(await sealift("hub", "verify", "--data-dir", dataDir), { code: 0 }, dataDir);
});
