// Holds: a file that is no report keeps no other report of a stick back (lib/fleet/kits/report-files.ts)
// Holds: of reports with a wrong clock, the last one of the host counts (lib/hub/records/reports.ts)
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";
import { reportOf, submitted } from "../../support/hub/kits.ts";

t.test("files that are no reports are refused one by one, and the others are taken", async (t) => {
  const { hub, folder, target, make, deploy } = await offlineSite(t);
  await target.publish("1.0.0");
  const kit = await make("kit");
  t.match((await deploy(kit)).result, { outcome: "deployed" });
  const file = (digit: string): string => join(kit, "reports", `${digit.repeat(16)}.json`);
  // What a stick has that was pulled out, and what a damaged or foreign one may have.
  await writeFile(file("0"), "");
  await writeFile(file("1"), Buffer.from([0xff, 0xfe]));
  await writeFile(file("2"), " ".repeat(3 * 1024 * 1024));
  await symlink("/dev/zero", file("3"));
  await mkdir(file("4"));
  await writeFile(file("5"), '{"signed":{');
  await writeFile(file("6"), "x".repeat(600 * 1024));
  const submit = ["kit", "submit", kit, "--hub-url", hub.url, "--api-key-file", target.options["api_key_file"]!];
  const done = await sealift(folder, submit);
  t.match(done.result, { taken: 1, known: 0, refused: 7 }, done.stdout + done.stderr);
  t.equal(done.code, 4);
  for (const event of done.events.filter(({ event, state }) => event === "report" && state === "refused"))
    t.match(event, {
      code: "kit_report_invalid",
      message: /^The report is damaged: [^.]*[^ ].*[^.]\. `sealift kit collect` on its host/,
    });
  t.match((await sealift(folder, submit)).result, { taken: 0, known: 1, refused: 7 });
});

t.test("a hub answers each report by itself, however long it is", async (t) => {
  const { hub, target, make, kitText, key } = await offlineSite(t);
  await target.publish("1.0.0");
  const host = { name: "pier-7", key, named: { host_id: "pier-7", x25519: key.x25519, ed25519: key.ed25519 } };
  const { id } = (await kitText(await make("kit"))) as { id: string };
  const long = reportOf(host, id, target.slug, { more: '"'.repeat(200_000) });
  t.ok(long.length > 512 * 1024 && long.length < 1024 * 1024);
  t.match(await submitted(hub, ["", long, "x"]), [{ state: "refused" }, { state: "taken" }, { state: "refused" }]);
});

for (const year of ["1970", "2099"])
  t.test(`the last report of a host counts, though its clock shows ${year}`, async (t) => {
    const { hub, folder, target, make, kitText, key } = await offlineSite(t);
    await target.publish("1.0.0");
    const host = { name: "pier-7", key, named: { host_id: "pier-7", x25519: key.x25519, ed25519: key.ed25519 } };
    const { id } = (await kitText(await make("kit"))) as { id: string };
    const at = (minute: number) => ({
      completed_at: `${year}-01-01T00:0${minute}:00.000Z`,
      running_version: `1.${minute}.0`,
    });
    const reports = [5, 1, 3, 2, 4].map((minute) => reportOf(host, id, target.slug, at(minute)));
    await mkdir(join(folder, "stick/reports"), { recursive: true });
    for (const [index, text] of reports.entries())
      await writeFile(join(folder, "stick/reports", `${String(index).repeat(16)}.json`), text);
    if (year === "1970") for (const report of reports) t.match(await submitted(hub, [report]), [{ state: "taken" }]);
    else {
      const to = ["--hub-url", hub.url, "--api-key-file", target.options["api_key_file"]!];
      t.match((await sealift(folder, ["kit", "submit", "stick", ...to])).result, { taken: 5 });
    }
    t.match((await hub.call("GET", `/app/deploy/v1/projects/${target.slug}/hosts/pier-7`)).body, {
      running_version: "1.5.0",
    });
  });
