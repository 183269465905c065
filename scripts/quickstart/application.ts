import { chmod, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Programs } from "./programs.ts";
import { copyWebExample } from "./web-packages.ts";
import { say } from "./words.ts";

interface Toured {
  folder: string;
  /** Environment of the operator's commands. */
  admin: Record<string, string>;
  signingKey: string;
  signerPublicKey: string;
}

/** Runs an Express application, and asks it while it is upgraded: it answers before, during and after. */
export async function runApplication(programs: Programs, { folder, admin, signingKey, signerPublicKey }: Toured) {
  const [web, root] = [join(folder, "web"), join(folder, "web-host")];
  copyWebExample(web);
  await programs.run("sealift", ["project", "create", "Web", "--kind", "project"], admin);
  const scopes = ["deploy", "report", "read"].flatMap((scope) => ["--scope", scope]);
  const newKey = ["key", "create", "--name", "web-1", "--project", "Web", ...scopes];
  const { key } = await programs.run<{ key: { key: string; deployment_credential: string } }>("sealift", newKey, admin);
  const host = {
    ...admin,
    SEALIFT_API_KEY: key.key,
    SEALIFT_DEPLOYMENT_CREDENTIAL: key.deployment_credential,
  };
  await programs.run("sealift", ["app", "init", "--project-id", "Web", "--folder", web], admin);
  // A tour is short.
  await edit(join(web, "app.yaml"), (text) => text.replace("stays_up: 10s", "stays_up: 1s"));
  const port = await freePort();
  // As root an application has a user of its own.
  const user = process.getuid?.() === 0 ? ["--user", "nobody"] : ["--same-user"];
  const allow = ["app", "allow", "web", "--listen", `http=127.0.0.1:${port}`, ...user, "--project-root", root];
  await programs.run("sealift", allow, {});
  await chmod(root, 0o755);
  await programs.serve("sealift", ["app", "serve", "--project-root", root]);
  const bring = async (version: string): Promise<void> => {
    await edit(join(web, "package.json"), (text) => text.replace(/"version": ".*"/, `"version": "${version}"`));
    const project = ["--project-id", "Web", "--version", version, "--signing-key-file", signingKey];
    await programs.run("deploy-publish", [join(web, "deploy"), ...project], admin);
    const place = ["--project-root", root, "--host-id", "web-1", "--signer-public-key", signerPublicKey];
    await programs.run("deploy-project", ["--project-id", "Web", ...place], host);
  };
  await bring("1.0.0");
  say(`GET http://127.0.0.1:${port}/  ${await ask(port)}`);
  const answers = { count: 0, failed: 0 };
  let isOver = false;
  const asking = (async () => {
    for (; !isOver; answers.count++) await ask(port).catch(() => answers.failed++);
  })();
  await bring("1.1.0").finally(() => (isOver = true));
  await asking;
  say(`GET http://127.0.0.1:${port}/  ${await ask(port)}`);
  say(`${answers.count} requests during the upgrade, ${answers.failed} failed`);
  if (answers.failed > 0) throw new Error("the application did not answer while it was upgraded");
}

async function ask(port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } });
  if (!answer.ok) throw new Error(`the application answered ${answer.status}`);
  return (await answer.text()).trim();
}

const edit = async (file: string, change: (text: string) => string): Promise<void> =>
  writeFile(file, change(await readFile(file, "utf8")));

async function freePort(): Promise<number> {
  await using server = createServer();
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  return (server.address() as { port: number }).port;
}
