/** A hub that lacks a disk, descriptors or the right time. */
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { DeployClient } from "../../lib/client/deploy-client.ts";
import { cannotStarve, DAY_MS, movedClock, readOnlyFolder, smallDisk, startStarved } from "../support/host/starved.ts";
import { createProject, hubAt, publication } from "../support/hub/harness.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Starts a hub of its own process, and a project on it. */
async function startProgram(t: Test, dataDir: string) {
  const clock = movedClock(t);
  const program = startStarved(t, "hub-serve", ["--data-dir", dataDir, "--listen", "127.0.0.1:0"], {
    ...{ cwd: temporaryFolder(t), clock },
  });
  const [, url] = (await program.said(/^ready (\S+)/m)) as unknown as [string, string];
  const adminKey = (await readFile(join(dataDir, "admin.key"), "utf8")).trim();
  return { program, clock, url, adminKey };
}

t.test(
  "a hub outlives a full disk, a read-only one, few descriptors, and a wrong clock",
  { skip: cannotStarve },
  async (t) => {
    const disk = smallDisk(t, 24 * 1024 * 1024);
    const dataDir = join(disk.folder, "hub");
    mkdirSync(dataDir);
    const { program, clock, url, adminKey } = await startProgram(t, dataDir);
    const project = await createProject(hubAt(url, adminKey));
    const client = new DeployClient(project.id, { hubUrl: url, apiKey: project.key, timeoutMs: 30_000 });
    const latest = () => client.latestVersion();

    t.equal((await project.publish(publication("1.0.0"))).status, 201);
    t.equal(await latest(), "1.0.0");
    disk.fill();
    const full = await project.publish(publication("1.1.0"));
    t.equal(full.status, 507, JSON.stringify(full.body));
    t.equal(await latest(), "1.0.0", "it goes on answering");
    disk.free();
    t.equal((await project.publish(publication("1.1.0"))).status, 201);

    {
      using _readOnly = readOnlyFolder(dataDir);
      const { status, body } = await project.publish(publication("1.1.1"));
      t.ok(status >= 500, `${status} ${JSON.stringify(body)}`);
      t.equal(await latest(), "1.1.0", "it goes on answering");
    }
    t.equal((await project.publish(publication("1.1.1"))).status, 201);
    {
      using _starving = program.withoutDescriptors();
      const status = await project.publish(publication("1.1.2")).then(
        (answer) => answer.status,
        () => "no answer",
      );
      t.not(status, 201);
    }
    t.equal((await project.publish(publication("1.1.2"))).status, 201);
    t.equal(await latest(), "1.1.2", "it goes on answering");

    let minor = 2;
    for (const offset of [DAY_MS, -DAY_MS, 0]) {
      clock.set(offset);
      const version = `1.${minor++}.0`;
      t.equal((await project.publish(publication(version))).status, 201, `the clock is off by ${offset} ms`);
      t.equal(await latest(), version);
    }
    t.equal(await program.stop(), 0);
  },
);
