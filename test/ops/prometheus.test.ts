import { spawnSync } from "node:child_process";
import { join } from "node:path";
import t from "tap";
import { needs, programFile } from "../support/programs/optional.ts";

const CONFIGURATION = join(import.meta.dirname, "../../ops/prometheus/prometheus.yml");

t.test("Debian's Prometheus takes the configuration", { skip: needs("promtool") }, (t) => {
  // Its secrets are files of the machine that it runs on.
  const words = ["check", "config", "--syntax-only", CONFIGURATION];
  const { status, stdout, stderr } = spawnSync(programFile("promtool"), words, { encoding: "utf8" });
  t.equal(status, 0, stdout + stderr);
  t.end();
});
