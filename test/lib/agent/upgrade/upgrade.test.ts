// Holds: what an upgrade proves before it switches (lib/agent/upgrade/upgrade.ts)
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { AgentEvent } from "../../../../lib/agent/base/events.ts";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { projectSource } from "../../../../lib/agent/sources/project.ts";
import { ProgramFile } from "../../../../lib/agent/upgrade/program-file.ts";
import { upgrade } from "../../../../lib/agent/upgrade/upgrade.ts";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { publicKeyOf } from "../../../../lib/artifact/signatures/ed25519.ts";
import { publishProject } from "../../../../lib/publisher/publish-project.ts";
import { createProject, startHub } from "../../../support/hub/harness.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const PLATFORM = "linux-x64";

/** A program that checks itself with this exit code. */
const program = (version: string, checked = 0): string =>
  `#!/bin/sh\n[ "$1" = self-check ] && { echo "FAILED  hub: no"; exit ${checked}; }\necho ${version}\n`;

/** A host with program 1.0.0, and a hub where others are published. */
async function host(t: Test) {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const seed = randomBytes(32);
  const folder = temporaryFolder(t);
  const executable = join(folder, "sealift");
  writeFileSync(executable, program("1.0.0"));
  chmodSync(executable, 0o755);
  const connection = { hubUrl: hub.url, apiKey: project.key, timeoutMs: 10_000 };
  return {
    executable,
    project,
    present: () => readFileSync(executable, "utf8"),
    names: () => readdirSync(folder).filter((name) => !name.endsWith(".upgrade")),
    async publish(version: string, files: Record<string, string>) {
      const source = temporaryFolder(t);
      mkdirSync(join(source, "deployment"));
      mkdirSync(join(source, "plugins/sealift"), { recursive: true });
      const step = "{id: sealift, action: install_plugin, plugin: sealift}";
      const head = `format_version: "1"\nproject_id: ${project.id}\nversion: ${version}\n`;
      writeFileSync(join(source, "deployment/install.yaml"), `${head}steps: [${step}]\n`);
      const descriptor = `name: sealift\nversion: ${version}\nexecution_mode: trusted\n`;
      for (const [name, text] of Object.entries({ ...files, "plugin.yaml": descriptor })) {
        writeFileSync(join(source, "plugins/sealift", name), text);
        chmodSync(join(source, "plugins/sealift", name), 0o755);
      }
      await publishProject({
        ...{ sourceRoot: source, projectId: project.id, projectName: "Sealift", version, include: [], seed, level: 3 },
        ...{ limits: DEFAULT_LIMITS, signal: new AbortController().signal, emit: () => {}, hub: connection },
      });
    },
    async upgrade(version = "latest", { signer = seed, allowDowngrade = true } = {}) {
      const events: AgentEvent[] = [];
      const trust = { pinned: [publicKeyOf(signer)] };
      const deploymentCredential = project.credential;
      const source = projectSource({ ...connection, projectId: project.id, version, deploymentCredential, trust });
      const options = { ...DEPLOY_DEFAULTS, projectRoot: join(folder, "state"), hostId: "host", allowDowngrade };
      using file = await ProgramFile.open(executable);
      const run = { ...options, supervisor: { name: "none" as const }, durability: "none" as const };
      const result = await upgrade(source, run, file, "1.0.0", (event) => events.push(event), PLATFORM);
      return {
        result,
        proved: events.filter((event) => event.event === "verify.ok" && event.check === "program").length,
      };
    },
    async back() {
      using file = await ProgramFile.open(executable);
      await file.switchBack();
    },
  };
}

const named = (version: string, text: string, other = "for another platform") => ({
  [`sealift-${version}-${PLATFORM}`]: text,
  [`sealift-${version}-linux-arm64`]: other,
});

t.test("a version that proves itself takes the place of the program, once", async (t) => {
  const site = await host(t);
  await site.publish("2.0.0", named("2.0.0", program("2.0.0")));
  const first = await site.upgrade();
  t.match(first.result, { outcome: "deployed", version: "2.0.0" }, first.result.error?.message ?? "");
  t.equal(first.proved, 1);
  t.equal(site.present(), program("2.0.0"));
  t.strictSame(site.names(), ["sealift", "sealift.former", "state"]);
  t.match(await site.upgrade(), { result: { outcome: "unchanged" }, proved: 0 });
  await site.back();
  t.equal(site.present(), program("1.0.0"));
  t.match(await site.upgrade(), { result: { outcome: "deployed" }, proved: 1 }, "a person asks again");
  t.equal(site.present(), program("2.0.0"));
});

t.test(
  "a program that does not pass its own check, or is missing, changes nothing, and the hub hears of it",
  async (t) => {
    const site = await host(t);
    await site.publish("2.0.0", named("2.0.0", program("2.0.0", 1)));
    await site.publish("3.0.0", { "sealift-3.0.0-linux-arm64": program("3.0.0") });
    await site.publish("4.0.0", named("4.0.0", "not a program"));
    for (const [version, code] of [
      ["2.0.0", "program_unfit"],
      ["3.0.0", "program_missing"],
      ["4.0.0", "program_unfit"],
    ] as const) {
      const { result } = await site.upgrade(version);
      t.match(result, { outcome: "failed", error: { code } });
      const { status, code: reported } = JSON.parse(readFileSync(result.report!, "utf8")) as Record<string, string>;
      t.strictSame([status, reported], ["failed", code]);
      t.equal(site.present(), program("1.0.0"));
      t.strictSame(site.names(), ["sealift", "state"], "nothing is left of it");
    }
  },
);

t.test("a latest version below the program's own is not taken unasked, a first time either", async (t) => {
  const site = await host(t);
  await site.publish("0.9.0", named("0.9.0", program("0.9.0")));
  const { result } = await site.upgrade("latest", { allowDowngrade: false });
  t.match(result, { outcome: "failed", error: { code: "downgrade_refused" } });
  t.equal(site.present(), program("1.0.0"));
  t.match(await site.upgrade("0.9.0", { allowDowngrade: false }), { result: { outcome: "deployed" } }, "by its name");
});

t.test("a version of another signer is refused before it runs", async (t) => {
  const site = await host(t);
  await site.publish("2.0.0", named("2.0.0", program("2.0.0")));
  const { result, proved } = await site.upgrade("latest", { signer: randomBytes(32) });
  t.match(result, { outcome: "failed", error: { exitCode: 4 } });
  t.equal(proved, 0);
  t.equal(site.present(), program("1.0.0"));
});

t.test("an upgrade that was killed before the switch is finished by the next one", async (t) => {
  const site = await host(t);
  await site.publish("2.0.0", named("2.0.0", program("2.0.0")));
  await site.upgrade();
  // As a kill between the two leaves it: the release is there, the program is not.
  rmSync(`${site.executable}.former`);
  writeFileSync(site.executable, program("1.0.0"));
  t.match(await site.upgrade(), { result: { outcome: "deployed", version: "2.0.0" }, proved: 1 });
  t.equal(site.present(), program("2.0.0"));
});
