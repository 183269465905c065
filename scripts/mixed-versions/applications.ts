import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Asker } from "./asker.ts";
import { createProject, type Edition, type Project, type Secrets, startHub } from "./project.ts";

interface Setting {
  today: Edition;
  /** Edition that has applications, too: 0.2.0. */
  before: Edition;
  /** The same two, for the `app serve` of each: they end apart. */
  serving: Record<"today" | "before", Edition>;
  folder: string;
}

const SERVER = (version: string): string =>
  `const server = require("node:http").createServer((request, answer) => answer.end("${version}"));
server.listen({ fd: 3 });
process.on("SIGTERM", () => server.close(() => process.exit(0)));
`;
const APP = "command: [node, server.js]\nlisten: [http]\nhealth: { http: /, within: 20s, stays_up: 1s }\n";
/** Requests that may be lost while one `app serve` follows another: ten seconds of them. */
const LOST = 200;
/** The user of the application. */
const USER = process.getuid?.() === 0 ? ["--user", "nobody"] : ["--same-user"];

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/**
 * Returns an application's way through both editions, in the order in which it is played: it is asked all the time, and
 * no connection may be refused while its host is upgraded, but for the moment in which `app serve` itself is exchanged.
 */
export function applicationJobs({ today, before, serving, folder }: Setting): Record<string, () => Promise<string>> {
  const path = (...parts: string[]): string => join(folder, ...parts);
  const root = path("root");
  const place = ["--project-root", root];
  let admin: Secrets = {};
  let project!: Project;
  let asker!: Asker;

  const publish = async ({ programs }: Edition, version: string): Promise<void> => {
    const source = path("source");
    for (const each of ["deployment", "apps/web"]) mkdirSync(join(source, each), { recursive: true });
    const plan = `format_version: "1"\nproject_id: ${project.id}\nversion: ${version}\nsteps: [{ id: web, action: install_app, app: web }]\n`;
    writeFileSync(join(source, "deployment/install.yaml"), plan);
    writeFileSync(join(source, "apps/web/app.yaml"), APP);
    writeFileSync(join(source, "apps/web/server.js"), SERVER(version));
    const key = join(project.files, "keys/signer.key");
    const args = [source, "--project-id", project.id, "--version", version, "--signing-key-file", key];
    await programs.run("deploy-publish", args, { ...project.publisher, ...admin });
  };
  const deploy = ({ programs }: Edition): Promise<unknown> => {
    const signer = ["--signer-public-key", join(project.files, "keys/signer.pub")];
    const words = ["--project-id", project.id, ...signer, ...place, "--host-id", "pier"];
    return programs.run("deploy-project", words, { ...project.host, SEALIFT_HUB_URL: admin["SEALIFT_HUB_URL"]! });
  };
  const serve = ({ programs }: Edition): Promise<string> => programs.serve("sealift", ["app", "serve", ...place]);
  /** Says what was heard meanwhile; the version named must be what it is now, and nothing may be lost. */
  const heard = async (version: string, lost = 0): Promise<string> => {
    const during = asker.take();
    await sleep(500);
    const { answers } = asker.take();
    if (Object.keys(answers).join() !== version) throw new Error(`now answers ${JSON.stringify(answers)}`);
    const text = `${JSON.stringify(during.answers)}, ${during.refused} refused, ${during.broken} broken`;
    if (during.refused + during.broken > lost) throw new Error(text);
    return text;
  };
  const upgrade = (agent: Edition, version: string) => async (): Promise<string> => {
    await publish(agent, version);
    asker.take();
    await deploy(agent);
    return heard(version);
  };
  const back = (agent: Edition, version: string) => async (): Promise<string> => {
    asker.take();
    await agent.programs.run("sealift", ["rollback", `project:${project.id}`, "--to", version, ...place], project.host);
    return heard(version);
  };
  const exchange = (from: Edition, to: Edition, version: string) => async (): Promise<string> => {
    asker.take();
    await from.programs.stop();
    await serve(to);
    // Its sockets are its own: whoever asks in this moment is refused.
    return heard(version, LOST);
  };

  return {
    "host and hub of before": async () => {
      mkdirSync(root, { recursive: true });
      chmodSync(root, 0o755);
      admin = await startHub(before, path("hub"));
      project = await createProject(before, admin, path("project"));
      await publish(before, "1.0.0");
      const port = await freePort();
      const listen = ["--listen", `http=127.0.0.1:${port}`];
      await before.programs.run("sealift", ["app", "allow", "web", ...listen, ...USER, ...place], {});
      await serve(serving.before);
      await deploy(before);
      asker = new Asker(port);
      return heard("1.0.0");
    },
    "hub of today on the data of before": async () => {
      asker.take();
      await before.programs.stop();
      admin = await startHub(today, path("hub"));
      return heard("1.0.0");
    },
    "agent of today, app serve of before": upgrade(today, "1.1.0"),
    "agent of before again": upgrade(before, "1.2.0"),
    "rollback of before": back(before, "1.1.0"),
    "rollback of today": back(today, "1.0.0"),
    "app serve of before exchanged for today's": exchange(serving.before, serving.today, "1.0.0"),
    "agent of before, app serve of today": upgrade(before, "1.3.0"),
    "agent of today, app serve of today": upgrade(today, "1.4.0"),
    "rollback to a release of before": back(today, "1.3.0"),
    "app serve of before on what today's wrote": exchange(serving.today, serving.before, "1.3.0"),
    "agent of before after all of that": upgrade(before, "1.5.0"),
    "rollback of before to a release of today": back(before, "1.4.0"),
    end: async () => {
      asker.end();
      for (const { programs } of [serving.before, serving.today]) await programs.stop();
      return "stopped";
    },
  };
}
