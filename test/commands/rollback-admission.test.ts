// Holds: signers and policy are those of the last deployment (commands/deploying/last-deployment.ts)
// Holds: what a kept release must meet before a host goes back to it (lib/agent/deployment/admit-kept.ts)
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { publicKeyOf } from "../../lib/artifact/signatures/ed25519.ts";
import { startHub } from "../support/hub/harness.ts";
import { publishedProject } from "../support/hub/published.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const OTHER = Buffer.from(publicKeyOf(Buffer.alloc(32, 7))).toString("hex");

t.test("rollback asks for signer and policy as the last deployment did, and flags decide otherwise", async (t) => {
  const folder = temporaryFolder(t);
  const hub = await startHub(t, { dataDir: join(folder, "hub"), rateLimits: false });
  const target = await publishedProject(hub, "tides", folder);
  const root = join(folder, "root");
  const env = { PATH: process.env.PATH, XDG_CONFIG_HOME: folder, SEALIFT_HUB_URL: hub.url };
  const run = (...words: string[]) => commandLine([...words, "--project-root", root], { cwd: folder, env });
  const { signer_public_key: given, ...others } = target.options;
  const flags = Object.entries(others).flatMap(([key, value]) => [`--${key.replaceAll("_", "-")}`, value]);
  const pins = join(folder, "pins.pub");
  const pinned = await readFile(join(folder, given!));
  await writeFile(pins, pinned);
  await writeFile(join(folder, "policy.yaml"), "min_age: 0s\n");
  for (const version of ["1.0.0", "1.1.0"]) {
    await target.publish(version);
    const words = ["project", "deploy", "--project-id", target.slug, "--version", version, ...flags];
    const ended = await run(...words, "--signer-public-key", "pins.pub", "--policy", "policy.yaml");
    t.equal(ended.code, 0, ended.stderr);
  }

  await writeFile(pins, OTHER);
  const untrusted = await run("rollback", target.name);
  t.match(untrusted, { code: 4, stderr: /signer_untrusted.*not the pinned key[^]*--allow-untrusted-signer/ });
  t.match(await run("rollback", target.name, "--dry-run"), { code: 4, stderr: /signer_untrusted/ });
  await writeFile(pins, pinned);
  await writeFile(join(folder, "policy.yaml"), "approved: true\n");
  const unmet = await run("rollback", target.name);
  t.match(unmet, { code: 1, stderr: /policy_refused.*rule approved of .*policy\.yaml[^]*--allow-unmet-policy/ });
  t.match(await run("rollback", target.name, "--allow-unmet-policy", "--json"), {
    code: 0,
    stdout: /policy\.yaml was not asked about 1\.0\.0: --allow-unmet-policy was given/,
  });

  t.match(await run("rollback", target.name, "--to", "1.1.0", "--signer-public-key", OTHER), { code: 4 });
  const allowed = await run(
    ...["rollback", target.name, "--to", "1.1.0", "--signer-public-key", OTHER],
    ...["--allow-untrusted-signer", "--allow-unmet-policy"],
  );
  t.match(allowed, { code: 0, stderr: /not the pinned key.*--allow-untrusted-signer/ });
});
