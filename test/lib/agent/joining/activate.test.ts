// Holds: what of systemd's programs ends a join (lib/agent/joining/activate.ts)
import t from "tap";
import { activate } from "../../../../lib/agent/joining/activate.ts";
import { appSteps } from "../../../../lib/support/systemd/app-units.ts";
import { nextSteps } from "../../../../lib/support/systemd/units.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";

const STEPS = ["systemd-tmpfiles --create sealift.conf", "systemctl daemon-reload", "systemctl enable --now x"];

t.test("codes of systemd-tmpfiles that systemd counts as success end nothing", async (t) => {
  for (const code of [65, 73]) {
    await recordingProgram(t, "systemd-tmpfiles", `exit ${code}`);
    const called = await recordingProgram(t, "systemctl", "");
    const warnings: string[] = [];
    await activate(STEPS, { warn: (message) => warnings.push(message) });
    t.match(warnings, [new RegExp(`systemd-tmpfiles --create sealift\\.conf. failed: .*${code}.*counts that as done`)]);
    t.strictSame(await called(), ["daemon-reload", "enable --now x"]);
  }
});

t.test("a command that fails is told once the others have run", async (t) => {
  await recordingProgram(t, "systemd-tmpfiles", "exit 1");
  const called = await recordingProgram(t, "systemctl", `test "$1" != daemon-reload`);
  await t.rejects(activate(STEPS, { warn: (message) => t.fail(message) }), {
    code: "supervisor_failed",
    faults: [/systemd-tmpfiles --create sealift\.conf/, /systemctl daemon-reload/],
  });
  t.strictSame(await called(), ["daemon-reload", "enable --now x"]);
});

t.test("systemd-tmpfiles is asked for our own folders, whatever other packages wrote", async (t) => {
  const steps = nextSteps([], { services: ["watch"], root: "/" }, "blue");
  t.ok(steps.includes("systemd-tmpfiles --create sealift.conf"), steps.join());
  t.ok(
    appSteps({ instance: "web", socket: undefined, root: "/" }).includes(
      "systemd-tmpfiles --create sealift-app-web.conf",
    ),
  );
});
