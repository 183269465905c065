import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createProject, type Edition, type Project, publish, type Secrets, startHub } from "./project.ts";

interface Setting {
  today: Edition;
  /** Edition that knows no settings of a fleet: 0.2.0. */
  before: Edition;
  folder: string;
}

/** Returns meetings of settings with an edition that knows none, in the order in which they are played. */
export function settingsJobs({ today, before, folder }: Setting): Record<string, () => Promise<string>> {
  const path = (...parts: string[]): string => join(folder, ...parts);
  const operator = ["--operator-key", path("operator/signer.key")];
  const fleet = path("fleet.yaml");
  let admin: Secrets = {};
  let project!: Project;

  const sealift = <T>(edition: Edition, secrets: Secrets, ...args: string[]): Promise<T> =>
    edition.programs.run<T>("sealift", args, secrets);
  /** Returns what a command says that must fail. */
  const refused = async (what: Promise<unknown>, says: RegExp): Promise<void> => {
    const message = await what.then(
      () => "it did not fail",
      (error: Error) => error.message,
    );
    if (!says.test(message)) throw new Error(message);
  };
  const invite = async (edition: Edition, ...more: string[]): Promise<string> =>
    (await sealift<{ token: string }>(edition, admin, "host", "invite", "--project", project.id, ...more)).token;
  const enrol = (edition: Edition, host: string, token: string): Promise<unknown> =>
    sealift(
      ...([edition, { SEALIFT_TOKEN: token }, "join", admin["SEALIFT_HUB_URL"]!, "--yes"] as const),
      ...["--out", path(host), "--project-root", path(`${host}-root`), "--host-id", host],
    );
  /** Lets a host look once. @returns its events */
  const look = async (edition: Edition, host: string): Promise<Record<string, unknown>[]> => {
    const events: Record<string, unknown>[] = [];
    const words = ["--config", path(host, "watch.yaml"), "--once"];
    await edition.programs.run("watch", words, {}, (event) => events.push(event));
    return events;
  };
  const runs = (host: string, version: string): void => {
    const file = path(`${host}-root`, ".sealift/current", `project-${project.id}`, "release.json");
    const { version: found } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
    if (found !== version) throw new Error(`${host} runs ${found}, and not ${version}`);
  };
  const apply = async (level: string): Promise<void> => {
    writeFileSync(
      fleet,
      JSON.stringify({ project: project.id, settings: [{ apps: { web: { LOG_LEVEL: level, SECRET: "planted" } } }] }),
    );
    await sealift(today, admin, "settings", "apply", fleet, ...operator, "--accept-new", "--no-wait");
  };
  const applied = async (host: string): Promise<void> => {
    let state: unknown;
    await today.programs.run("sealift", ["settings", "show", "--fleet", fleet], admin, (event) => {
      if (event.event === "host" && event["host_id"] === host) state = event["state"];
    });
    if (state !== "applied") throw new Error(`${host} is ${String(state)}`);
  };
  const done = (events: readonly Record<string, unknown>[]): void => {
    if (!events.some(({ event, state }) => event === "settings.done" && state === "applied"))
      throw new Error(`no settings came: ${JSON.stringify(events.slice(-3))}`);
  };

  return {
    "host of before at a hub with settings": async () => {
      mkdirSync(folder, { recursive: true });
      admin = await startHub(today, path("hub"));
      project = await createProject(today, admin, path("project"));
      await publish(today, project, "1.0.0");
      await sealift(today, {}, "signer", "create", "--out", path("operator"));
      const line = await invite(today, "--host", "new", ...operator);
      await refused(enrol(before, "new", line), /not a token/);
      await enrol(today, "new", line);
      await enrol(before, "old", await invite(before));
      for (const [edition, host] of [
        [before, "old"],
        [today, "new"],
      ] as const)
        await look(edition, host);
      await apply("info");
      done(await look(today, "new"));
      await applied("new");
      await look(before, "old");
      await publish(today, project, "1.1.0");
      await look(before, "old");
      runs("old", "1.1.0");
      return "it refuses the line, and goes on beside settings";
    },
    "host of before that is upgraded": async () => {
      const { line } = await sealift<{ line: string }>(today, {}, "host", "key", "--out", path("old"));
      const config = path("old", "watch.yaml");
      await sealift(today, {}, "host", "operator", "set", path("operator/signer.pub"), "--config", config);
      await look(today, "old");
      await sealift(today, admin, "settings", "accept", "old", line, "--fleet", fleet);
      await apply("debug");
      done(await look(today, "old"));
      await applied("old");
      await today.programs.stop();
      return "its line is accepted, and it gets settings";
    },
    "hub of before": async () => {
      admin = await startHub(before, path("hub-of-before"));
      project = await createProject(before, admin, path("project-of-before"));
      await publish(before, project, "1.0.0");
      await refused(invite(today, ...operator), /older than settings/);
      await enrol(today, "newer", await invite(today));
      const quiet = await look(today, "newer");
      if (quiet.some(({ event }) => event === "settings.refused")) throw new Error("it complains without an operator");
      runs("newer", "1.0.0");
      const config = path("newer", "watch.yaml");
      await sealift(today, {}, "host", "operator", "set", path("operator/signer.pub"), "--config", config);
      const told = await look(today, "newer");
      if (!told.some(({ event, message }) => event === "settings.refused" && /older than/.test(String(message))))
        throw new Error("it does not say that its hub is older");
      return "no invite of an operator, a host that follows versions and says why it gets no settings";
    },
    "backup of before in a hub of today": async () => {
      const data = path("hub-of-before");
      const backup = path("backup");
      await sealift(before, {}, "hub", "backup", "--data-dir", data, "--to", backup, "--unsigned");
      await before.programs.stop();
      const place = path("restored");
      await sealift(today, {}, "hub", "restore", "--backup", backup, "--data-dir", place, "--unsigned");
      for (const file of ["kek.json", "admin.key"]) cpSync(join(data, file), join(place, file));
      admin = await startHub(today, place);
      const config = path("newer", "watch.yaml");
      const text = readFileSync(config, "utf8");
      writeFileSync(config, text.replace(/hub_url: .*/g, `hub_url: ${admin["SEALIFT_HUB_URL"]}`));
      await look(today, "newer");
      const { line } = await sealift<{ line: string }>(today, {}, "host", "key", "--out", path("newer"));
      const lock = path("fleet.lock");
      cpSync(lock, path("fleet.lock.of-before"));
      writeFileSync(
        lock,
        JSON.stringify({ t: "sealift-fleet-lock", v: 1, project: project.id, operator: null, contents: {}, hosts: {} }),
      );
      writeFileSync(fleet, JSON.stringify({ project: project.id, settings: [{ apps: {} }] }));
      await sealift(today, admin, "settings", "accept", "newer", line, "--fleet", fleet);
      await apply("info");
      done(await look(today, "newer"));
      await applied("newer");
      await today.programs.stop();
      return "restored, and its hosts get settings";
    },
  };
}
