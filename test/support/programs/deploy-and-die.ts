/**
 * A deployment that is killed at one moment: the n-th event of its stream, before anything after it happens. Arguments:
 * the number (-1: never) and the options as JSON. Prints the names of the events.
 */
import { writeSync } from "node:fs";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { projectSource } from "../../../lib/agent/sources/project.ts";
import { parsePublicKey } from "../../../lib/artifact/signatures/key-files.ts";

const options = JSON.parse(process.argv[3]!) as {
  hubUrl: string;
  apiKey: string;
  deploymentCredential: string;
  projectId: string;
  publicKey: string;
  projectRoot: string;
};
const dieAt = Number(process.argv[2]);
let count = 0;
const source = projectSource({
  ...options,
  version: "latest",
  timeoutMs: 5_000,
  trust: { pinned: [parsePublicKey(options.publicKey, "key")] },
});
const result = await deploy(
  source,
  { ...DEPLOY_DEFAULTS, projectRoot: options.projectRoot, hostId: "host", supervisor: { name: "none" } },
  (event) => {
    // Progress comes by the clock: a slower run has more of it, and the numbers of the others must not depend on that.
    if (event.event === "fetch.progress") return;
    writeSync(1, `${event.event}\n`);
    if (count++ === dieAt) process.kill(process.pid, "SIGKILL");
  },
);
process.exitCode = result.error?.exitCode ?? 0;
