// Holds: an end binds honest clocks, and no clock goes back before a kit (lib/agent/sources/kits/host-kit.ts)
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";
import { movedClock } from "../../support/host/starved.ts";
import { builtProgram } from "../../support/programs/command-line.ts";

/** A site whose host takes a kit with a clock that shows another year, and hands its report in. */
async function inYear(t: Test, year: string) {
  const site = await offlineSite(t);
  const { hub, folder, target, root, make, hubKey } = site;
  await target.publish("1.0.0");
  const kit = await make("kit");
  await writeFile(join(folder, "policy.yaml"), `min_age: 24h\nhub_keys: [${await hubKey()}]\n`);
  const { env } = movedClock(t, Date.parse(`${year}-06-01T00:00:00.000Z`) - Date.now());
  const to = ["--hub-url", hub.url, "--api-key-file", target.options["api_key_file"]!];
  return {
    ...site,
    kit,
    take: async (more: string[] = []): Promise<Record<string, unknown>> => {
      const from = ["--from", kit, "--host-key-file", "host.key", "--project-root", root, "--json", ...more];
      const signer = ["--signer-public-key", target.options["signer_public_key"]!];
      const args = ["deploy-project", "--project-id", target.slug, ...signer, ...from];
      const { stdout } = await builtProgram(args, { cwd: folder, env: { PATH: process.env["PATH"], ...env } });
      return JSON.parse(stdout.trim().split("\n").at(-1)!) as Record<string, unknown>;
    },
    shown: async (): Promise<Record<string, unknown>> => {
      t.match((await sealift(folder, ["kit", "submit", kit, ...to])).result, { refused: 0 });
      return (await hub.call("GET", `/app/deploy/v1/projects/${target.slug}/hosts/pier-7`)).body as Record<
        string,
        unknown
      >;
    },
  };
}

t.test("a host in 1970 takes a kit that has not ended, and its report counts from when the kit was made", async (t) => {
  const { kit, kitText, take, shown } = await inYear(t, "1970");
  const young = await take(["--policy", "policy.yaml"]);
  t.match(young, { error: { code: "policy_refused", message: /old enough from/ } }, "it is no earlier than the kit");
  t.match(await take(), { outcome: "deployed" });
  t.match(await shown(), { running_version: "1.0.0", created_at: (await kitText(kit))["made_at"] });
});

t.test("a host in 2099 finds the kit ended, and its report counts from now at the latest", async (t) => {
  const { take, shown } = await inYear(t, "2099");
  t.match(await take(), { error: { code: "kit_ended", message: /it is 2099-06-01/ } });
  t.match(await take(["--allow-ended"]), { outcome: "deployed" });
  const { created_at: at, running_version: version } = await shown();
  t.equal(version, "1.0.0");
  t.ok(Date.parse(at as string) <= Date.now());
});
