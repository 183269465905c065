import t from "tap";
import { logCommands } from "../../../../lib/agent/supervisors/logs.ts";

const request = { units: ["a", null], lines: 20, follow: true, systemdScope: "system" as const };
const linesOf = (found: ReturnType<typeof logCommands>) => found.map(({ command }) => command.join(" "));

t.test("each supervisor is asked in its own words", (t) => {
  t.same(linesOf(logCommands({ ...request, supervisor: "systemd" })), [
    "journalctl --no-pager --lines=20 --follow --unit=sealift-plugin-a --unit=sealift-project",
  ]);
  t.same(linesOf(logCommands({ ...request, supervisor: "systemd", systemdScope: "user", follow: false })), [
    "journalctl --no-pager --lines=20 --user-unit=sealift-plugin-a --user-unit=sealift-project",
  ]);
  t.same(linesOf(logCommands({ ...request, supervisor: "docker", template: "app-<id>", units: ["a", "b"] })), [
    "docker logs --tail=20 --follow app-a",
    "docker logs --tail=20 --follow app-b",
  ]);
  t.throws(() => logCommands({ ...request, supervisor: "runtime" }), { code: "usage", hint: /runtime-serve/ });
  t.throws(() => logCommands({ ...request, supervisor: "none" }), { code: "usage", hint: /--supervisor/ });
  t.end();
});
