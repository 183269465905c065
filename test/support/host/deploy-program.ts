/** Deploys one version of an application, for a test that may kill it. Arguments: root, version, body of its server. */
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { appSource } from "./application-host.ts";

/** Returns a version whose server runs `body` at each request. */
export const versionOf = (version: string, body: string) =>
  appSource(
    version,
    ["web"],
    "command: [node, server.js]\nlisten: [http]\nhealth: { http: /, within: 2s, stays_up: 1s }\nstop: { within: 1s }\n",
    { "apps/web/server.js": `require("node:http").createServer((q, r) => { ${body} }).listen({ fd: 3 });` },
  );

const [projectRoot, version, body] = process.argv.slice(2);
if (projectRoot !== undefined && process.argv[1] === import.meta.filename) {
  const options = { ...DEPLOY_DEFAULTS, projectRoot, hostId: "host", supervisor: { name: "none" as const } };
  const { outcome } = await deploy(versionOf(version!, body!), options, () => undefined);
  process.stdout.write(`${outcome}\n`);
}
