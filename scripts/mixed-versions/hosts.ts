import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createProject, type Edition, type Project, type Secrets, startHub } from "./project.ts";

interface Setting {
  today: Edition;
  /** Edition that hosts and hubs come from and go back to: 0.2.0. */
  before: Edition;
  folder: string;
}

/**
 * Returns the ways of a host and a hub from an older edition to this one and back, in the order in which they are
 * played: each edition goes on with what the other one has written on the disk.
 */
export function hostJobs({ today, before, folder }: Setting): Record<string, () => Promise<string>> {
  const path = (...parts: string[]): string => join(folder, ...parts);
  const root = path("root");
  const place = ["--project-root", root];
  const config = path("host/watch.yaml");
  const programs = path("programs");
  /** Its systemctl comes first. */
  const withSystemctl = { PATH: `${programs}:${process.env["PATH"]}` };
  let admin: Secrets = {};
  let project!: Project;

  const target = (): string => `project:${project.id}`;
  const sealift = <T>(edition: Edition, secrets: Secrets, ...args: string[]): Promise<T> =>
    edition.programs.run<T>("sealift", args, secrets);
  /** Serves a data folder, and tells the host where: each start has a port of its own. */
  const serve = async (edition: Edition, data: string): Promise<void> => {
    const was = admin["SEALIFT_HUB_URL"];
    admin = await startHub(edition, data);
    if (was === undefined) return;
    writeFileSync(config, readFileSync(config, "utf8").replaceAll(was, admin["SEALIFT_HUB_URL"]!));
  };
  /** Requires that something fails, and says why. */
  const refused = async (what: Promise<unknown>, says: RegExp): Promise<void> => {
    const message = await what.then(
      () => "it did not fail",
      (error: Error) => error.message,
    );
    if (!says.test(message)) throw new Error(message);
  };
  const publish = async (edition: Edition, version: string, signer = join(project.files, "keys")): Promise<void> => {
    const source = join(project.files, "source");
    const steps = [
      "{ id: greeter, action: install_plugin, plugin: greeter }",
      "{ id: up, action: restart, plugin: greeter, depends_on: [greeter] }",
    ];
    mkdirSync(join(source, "deployment"), { recursive: true });
    const plan = `format_version: "1"\nproject_id: ${project.id}\nversion: ${version}\nsteps: [${steps.join(", ")}]\n`;
    writeFileSync(join(source, "deployment/install.yaml"), plan);
    const words = ["--project-id", project.id, "--version", version, "--signing-key-file", join(signer, "signer.key")];
    const hubUrl = { SEALIFT_HUB_URL: admin["SEALIFT_HUB_URL"]! };
    await edition.programs.run("deploy-publish", [source, ...words, "--yes"], { ...project.publisher, ...hubUrl });
  };
  /** Lets the host look once. @returns its events, however it ends */
  const look = async (edition: Edition): Promise<Record<string, unknown>[]> => {
    const events: Record<string, unknown>[] = [];
    const words = ["--config", config, "--once"];
    const looking = edition.programs.run("watch", words, withSystemctl, (event) => events.push(event));
    await looking.catch(() => undefined);
    return events;
  };
  const runs = (version: string): void => {
    const file = join(root, ".sealift/current", `project-${project.id}`, "release.json");
    const { version: found } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
    if (found !== version) throw new Error(`the host runs ${found}, and not ${version}`);
  };
  const upgrade = async (edition: Edition, version: string): Promise<void> => {
    await publish(edition, version);
    await look(edition);
    runs(version);
  };
  /** Lets one edition look, which must hold a version for a reason. */
  const holds = async (edition: Edition, reason: string): Promise<void> => {
    const events = await look(edition);
    if (!events.some(({ event, reason: why }) => event === "target.held" && why === reason))
      throw new Error(`${edition.name} does not hold for ${reason}: ${JSON.stringify(events.slice(-2))}`);
  };
  const request = (edition: Edition, word: string): Promise<unknown> =>
    sealift(edition, {}, "watch", word, target(), ...place);

  const rootFile = (number: number): string => path("trust", `${number}.root.json`);
  const trust = (edition: Edition, ...words: string[]): Promise<unknown> => sealift(edition, admin, "trust", ...words);
  /** Publishes the next version of the trust root, and has the host follow it. */
  const follow = async (editor: Edition, host: Edition, number: number, ...change: string[]): Promise<void> => {
    await trust(editor, "change", rootFile(number - 1), ...change);
    for (const key of ["anna", "ben"])
      await trust(
        ...([editor, "sign", rootFile(number), "--base", rootFile(number - 1)] as const),
        ...["--key", path(key, "signer.key")],
      );
    await trust(editor, "publish", rootFile(number), project.id);
    const events = await look(host);
    if (!events.some(({ event, version }) => event === "trust.followed" && version === number))
      throw new Error(`${host.name} does not follow version ${number}`);
  };

  /** Has one edition die in its switch, and another one end what it began. */
  const cutShort =
    (dying: Edition, ending: Edition, [from, broken, to]: [string, string, string]) =>
    async () => {
      runs(from);
      await publish(dying, broken);
      writeFileSync(path("die"), "");
      await look(dying);
      rmSync(path("die"), { force: true });
      if (!existsSync(join(root, ".sealift/journal.json"))) throw new Error("no journal was left");
      const events = await look(ending);
      if (!events.some(({ event, outcome }) => event === "recovery.done" && outcome === "undone"))
        throw new Error(`it undid nothing: ${JSON.stringify(events.slice(-3))}`);
      if (existsSync(join(root, ".sealift/journal.json"))) throw new Error("the journal is still there");
      await upgrade(ending, to);
      return `${ending.name} undoes the switch of ${dying.name}`;
    };

  return {
    "host and hub of before, with a trust root": async () => {
      mkdirSync(path("trust"), { recursive: true });
      mkdirSync(programs, { recursive: true });
      const systemctl = `#!/bin/sh
case "$*" in
  *show*) echo LoadState=loaded; echo ActiveState=active; echo NRestarts=0;;
  *restart*) [ -e ${path("die")} ] && kill -KILL $PPID;;
esac
true
`;
      writeFileSync(join(programs, "systemctl"), systemctl, { mode: 0o755 });
      await serve(before, path("hub"));
      project = await createProject(before, admin, path("project"));
      for (const name of ["anna", "ben", "carol"]) await sealift(before, {}, "signer", "create", "--out", path(name));
      const keys = ["anna", "ben", "carol"].flatMap((name) => ["--root-key", path(name, "signer.pub")]);
      await trust(before, "start", rootFile(1), "--from-signer", join(project.files, "keys/signer.key"), ...keys);
      for (const name of ["anna", "ben"]) await trust(before, "sign", rootFile(1), "--key", path(name, "signer.key"));
      await trust(before, "publish", rootFile(1), project.id);
      await publish(before, "1.0.0");
      const invite = ["host", "invite", "--project", project.id];
      const { token } = await sealift<{ token: string }>(before, admin, ...invite);
      const where = ["--out", path("host"), ...place, "--host-id", "pier"];
      await sealift(before, { SEALIFT_TOKEN: token }, "join", admin["SEALIFT_HUB_URL"]!, "--yes", ...where);
      const target = /^targets:$/m;
      writeFileSync(
        config,
        readFileSync(config, "utf8").replace(target, "supervisor: systemd\nstays_up: 0s\ntargets:"),
      );
      await look(before);
      runs("1.0.0");
      return "joined, and runs 1.0.0";
    },
    "backup of before, and hub of today on its data": async () => {
      await sealift(before, {}, "hub", "backup", "--data-dir", path("hub"), "--to", path("backup"), "--unsigned");
      await before.programs.stop();
      await serve(today, path("hub"));
      await upgrade(before, "1.1.0");
      return "its host goes on";
    },
    "host of today, and back": async () => {
      await upgrade(today, "1.2.0");
      await upgrade(before, "1.3.0");
      await upgrade(today, "1.4.0");
      return "each by a watch, from the state of the other";
    },
    "pause and quarantine": async () => {
      for (const [one, other] of [
        [today, before],
        [before, today],
      ] as const) {
        await request(one, "pause");
        await look(one);
        await publish(one, one === today ? "1.5.0" : "1.6.0");
        await holds(other, "paused");
        await request(other, "resume");
        await look(other);
        runs(one === today ? "1.5.0" : "1.6.0");
        await sealift(one, withSystemctl, "rollback", target(), "--to", "1.4.0", ...place);
        await holds(other, "quarantined");
        await request(other, "retry");
        await look(other);
        runs(one === today ? "1.5.0" : "1.6.0");
      }
      return "each holds what the other has noted";
    },
    "trust roots": async () => {
      await sealift(today, {}, "signer", "create", "--out", path("ci"));
      await follow(today, before, 2, "--add-signer", path("ci/signer.pub"));
      await publish(today, "1.7.0", path("ci"));
      await look(before);
      runs("1.7.0");
      await sealift(before, {}, "signer", "create", "--out", path("laptop"));
      await follow(before, today, 3, "--add-signer", path("laptop/signer.pub"));
      await publish(before, "1.8.0", path("laptop"));
      await look(today);
      runs("1.8.0");
      await upgrade(before, "1.9.0");
      return "changed by each, followed by the other";
    },
    "grant of today": async () => {
      const grant = ["app", "allow", "web", "--listen", "http=3000", "--user", "nobody"];
      await sealift(today, {}, ...grant, ...place);
      await sealift(before, {}, "app", "allow", "worker", "--user", "nobody", ...place);
      await sealift(today, {}, "app", "allow", "web", "--memory-max", "256M", ...place);
      const serving = before.programs.serve("sealift", ["app", "serve", ...place]);
      await refused(serving, /applications\.yaml is not valid: applications\.web: unknown key "limits"/);
      return "read by before, which names the key that it does not know";
    },
    "switch that today's agent was killed in": cutShort(today, before, ["1.9.0", "1.10.0", "1.11.0"]),
    "switch that the agent of before was killed in": cutShort(before, today, ["1.11.0", "1.12.0", "1.13.0"]),
    "hub of before on the data of today": async () => {
      await today.programs.stop();
      await refused(startHub(before, path("hub")), /schema that this version of Sealift does not know/);
      await serve(today, path("hub"));
      await upgrade(today, "1.14.0");
      await today.programs.stop();
      return "refused, and untouched";
    },
    "hub of before on its backup": async () => {
      await sealift(before, {}, "hub", "restore", "--backup", path("backup"), "--data-dir", path("back"), "--unsigned");
      for (const file of ["kek.json", "admin.key"]) cpSync(path("hub", file), path("back", file));
      await serve(before, path("back"));
      // To this hub the running version is gone, and the host has run 1.0.0 before.
      await look(today);
      runs("1.0.0");
      await upgrade(today, "1.15.0");
      await upgrade(before, "1.16.0");
      return "its hosts go back to what the backup knows, and take the next version";
    },
  };
}
