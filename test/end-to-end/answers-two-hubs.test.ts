// Only in test:all: two hubs, and servers around them.
/**
 * Two hubs on one PostgreSQL answer every host alike, through commands, a database that stands still, and the death of
 * one of them.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { freePort } from "../support/free-port.ts";
import { createProject, hubAt, newSigner, publication, publishForm } from "../support/hub/harness.ts";
import { startPostgresServer } from "../support/hub/postgres-server.ts";
import { FLEET_SCOPES, fleetOf, until } from "../support/hub/project-fleet.ts";
import { QUICK } from "../support/hub/rollouts.ts";
import { start } from "../support/programs/watch-program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const HOSTS = ["canary", ...Array.from({ length: 11 }, (_, index) => `host-${index}`), "unknown"];
const RUNNING = ["none", "1.0.0", "2.0.0", "2.0.1"];

async function startHubProgram(t: Test, dataDir: string, more: readonly string[]) {
  const port = await freePort();
  const args = ["--data-dir", dataDir, "--listen", `127.0.0.1:${port}`, "--rate-limit", "0", "--json", ...more];
  const running = start(t, "hub-serve", args);
  await running.untilEvent("ready");
  return { url: `http://127.0.0.1:${port}`, running };
}

t.test(
  "two hubs of one PostgreSQL tell every host the same, through kills and a database that stands still",
  async (t) => {
    const postgres = await startPostgresServer(t);
    if (postgres === undefined) return void t.plan(0, "PostgreSQL is not installed");
    const folder = temporaryFolder(t);
    const [a, b] = [join(folder, "a"), join(folder, "b")];
    const shared = ["--database-url", postgres.url, "--blob-url", join(folder, "blobs")];
    const first = await startHubProgram(t, a, shared);
    const keks = ["--kek-file", join(a, "kek.json")];
    const second = await startHubProgram(t, b, [...shared, ...keks]);
    const key = (await readFile(join(a, "admin.key"), "utf8")).trim();
    const [one, other] = [hubAt(first.url, key), hubAt(second.url, key)];
    const project = await createProject(one, FLEET_SCOPES);
    const signer = newSigner();
    const publish = (hub: typeof one, version: string) => {
      const form = publishForm(publication(version, { signer }));
      return hub.call("POST", `/app/deploy/v1/projects/${project.id}/publish`, { key: project.key, form });
    };
    const fleet = await fleetOf(one, project);
    const token = await project.session();
    const beside = await fleetOf(other, { ...project, session: () => Promise.resolve(token) });

    /** Answers to each host, whatever it runs; undefined where a hub cannot answer now. */
    const answersOf = async (from: typeof fleet): Promise<string | undefined> => {
      const all = await Promise.all(
        HOSTS.flatMap((host) =>
          RUNNING.map(async (running) => {
            const { status, body } = await from.latest(host, { "x-sealift-running": running });
            return status === 503 ? undefined : `${host} on ${running}: ${JSON.stringify(body)}`;
          }),
        ),
      );
      return all.includes(undefined) ? undefined : all.join("\n");
    };
    const agree = async (after: string): Promise<void> => {
      const both = await until(
        async () => [await answersOf(fleet), await answersOf(beside)] as const,
        ([here, there]) => here !== undefined && here === there,
      );
      t.equal(both[0], both[1], after);
    };
    const labels = (host: string) => (host === "canary" ? { labels: { env: "canary" } } : {});

    await publish(one, "1.0.0");
    for (const host of HOSTS.slice(0, -1)) await fleet.report(host, "1.0.0", labels(host));
    const rules = { waves: ["env=canary", "50%", "100%"], ...QUICK, on_halt: "rollback" };
    const { id } = (await beside.start({ version: "2.0.0", ...rules })).body as { id: string };
    await publish(other, "2.0.0");
    await until(
      () => beside.show(id),
      ({ open }) => open === 1,
    );
    await agree("the first wave is open");

    const goOn = await postgres.freeze();
    const frozen = Promise.all([answersOf(fleet), answersOf(beside)]).catch(() => "no answer");
    await sleep(1500);
    await goOn();
    await frozen;
    await agree("the database stood still");

    await beside.report("canary", "2.0.0", labels("canary"));
    await until(
      () => fleet.show(id),
      ({ open }) => open === 2,
    );
    await agree("the second wave is open");
    second.running.child.kill("SIGKILL");
    await second.running.ended;
    const inWave = async (): Promise<string | undefined> => {
      for (const host of HOSTS.slice(1, -1)) if ((await fleet.latest(host)).body.version === "2.0.0") return host;
      return undefined;
    };
    const failing = (await until(inWave, (host) => host !== undefined))!;
    await fleet.report(failing, "2.0.0", { status: "failed", running_version: "1.0.0", error_message: "no port" });
    t.match(
      await until(
        () => fleet.show(id),
        ({ state }) => state === "halted",
      ),
      { state: "halted" },
    );
    const again = await startHubProgram(t, b, [...shared, ...keks]);
    const third = await fleetOf(hubAt(again.url, key), { ...project, session: () => Promise.resolve(token) });
    Object.assign(beside, third);
    await agree("one hub was killed, the other halted, and a new one began");

    const next = (await third.start({ version: "2.0.1", ...rules, replace: id })).body as { id: string };
    await publish(one, "2.0.1");
    await agree("a replacement");
    await fleet.act(next.id, "abort", { rollback: true });
    await agree("and its abort");
    t.equal((await third.latest("host-0", { "x-sealift-running": "1.0.0" })).body.version, "1.0.0");
    t.equal((await fleet.latest("canary", { "x-sealift-running": "2.0.0" })).body.withdrawn, "2.0.0");
  },
);
