/** A rollback that is killed at its n-th event. Arguments: the number, the project root, the project, the version. */
import { rollback } from "../../../lib/agent/deployment/rollback.ts";

const [dieAt, projectRoot, slug, to] = process.argv.slice(2) as [string, string, string, string];
let count = 0;
await rollback(
  { kind: "project", slug, to },
  { projectRoot, hostId: "host", supervisor: { name: "none" }, durability: "none" },
  () => {
    if (count++ === Number(dieAt)) process.kill(process.pid, "SIGKILL");
  },
);
