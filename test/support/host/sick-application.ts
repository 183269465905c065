import { chmod, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Test } from "tap";
import type { Source } from "../../../lib/agent/sources/source.ts";
import { AppServe } from "../../../lib/apps/serve.ts";
import type { LocalReport } from "../../../lib/contract/surfaces/reports.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { freePort } from "../free-port.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { installing } from "./application-host.ts";
import { GRANT_USER } from "./application-root.ts";
import { type Given, sourceOf } from "./given-source.ts";

/** A server that answers with the status in a file, ends when that says so, and is gone for good after that. */
const serverOf = (answer: string) => `
const { readFileSync } = require("node:fs");
const said = () => readFileSync(${JSON.stringify(answer)}, "utf8").trim();
if (said() === "gone") process.exit(1);
require("node:http").createServer((request, response) => {
  if (said() === "gone") process.exit(1);
  response.writeHead(Number(said())).end();
}).listen(Number(process.env.PORT), process.env.HOST);
`;

/**
 * A project root with a real `sealift app serve`, for versions of one application that answers as it is told.
 *
 * @param health as app.yaml has it
 */
export async function sickApplication(t: Test, health = "{ http: /healthz, within: 10s, stays_up: 1s }") {
  const root = temporaryFolder(t);
  await chmod(root, 0o755);
  const answer = join(root, "answer");
  const answers = async (said: number | "gone"): Promise<void> => {
    // Whole at once: the application reads it at any moment.
    await writeFile(`${answer}-next`, `${said}\n`);
    await rename(`${answer}-next`, answer);
  };
  await answers(200);
  const port = await freePort();
  const grants = { supervisor: "serve", applications: { web: { ...GRANT_USER, listen: { http: port } } } };
  await writeFile(join(root, "applications.yaml"), JSON.stringify(grants));
  const served = await AppServe.start(layoutOf(root), () => undefined);
  t.teardown(() => served[Symbol.asyncDispose]());
  const app = `command: [sh, start.sh]\nports: [http]\nhealth: ${health}\nstop: { within: 1s }\n`;
  const files = {
    "apps/web/app.yaml": app,
    "apps/web/start.sh": `exec '${process.execPath}' server.js\n`,
    "apps/web/server.js": serverOf(answer),
  };
  const reports: LocalReport[] = [];
  return {
    ...{ root, layout: layoutOf(root), answers, served, reports, steps: installing("web"), files },
    /** Facts of the source of a version; its reports are kept. */
    given: (): Given => ({ files, reports }),
    source: (version: string): Source => sourceOf(version, installing("web"), { files, reports }),
  };
}
