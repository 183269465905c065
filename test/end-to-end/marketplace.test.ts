import { mkdir, readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { zipFolder } from "../../scripts/quickstart/zip-folder.ts";
import { lastReport, makePlugin } from "../support/host/marketplace-plugin.ts";
import { World } from "../support/host/world.ts";

t.test("a plugin goes from its developer's archive to a host and its fleet", async (t) => {
  await using world = await World.make();
  const { plan, developer, publish } = await makePlugin(world, "tide-table");
  const root = world.path("host");
  const args = ["tide-table", "--install-plan", plan, "--project-root", root, "--host-id", "host-1"];
  await publish("1.0.0");

  const first = await world.programs.run<{ outcome: string; version: string }>(
    "deploy-marketplace",
    [...args, "--plugin-secret-key", "sig"],
    developer,
  );
  t.match(first, { outcome: "deployed", version: "1.0.0" });
  t.match(JSON.parse(await readFile(join(root, "plugins/tide-table/plugin.sig"), "utf8")), {
    plugin: "tide-table",
    version: "1.0.0",
    algo: "HMAC-SHA256",
  });
  t.match(await lastReport(root, "plugin-tide-table"), {
    status: "success",
    repo: "acme/tide-table@v1.0.0",
    host_id: "host-1",
  });

  await t.test("the same version again changes nothing", async (t) => {
    t.match(await world.programs.run("deploy-marketplace", args, developer), { outcome: "unchanged" });
  });
  await t.test("a redeploy keeps plugin.sig in step", async (t) => {
    await publish("1.1.0", { "src/tides.js": "export {};\n" });
    const found: Record<string, unknown>[] = [];
    const compare = ["version", "diff", "plugin:tide-table", "1.0.0", "1.1.0"];
    t.match(await world.programs.run("sealift", compare, developer, (event) => found.push(event)), { differences: 3 });
    t.match(found, [
      { event: "difference", what: "file", change: "changed", path: "plugin.yaml" },
      { path: "src/main.js" },
      { path: "src/tides.js", change: "added", before: null, after: 11 },
    ]);
    const signing = [...args, "--plugin-secret-key", "sig"];
    t.match(await world.programs.run("deploy-marketplace", [...signing, "--dry-run"], developer), {
      ...{ dry_run: true, outcome: "would_deploy", version: "1.1.0", previous_version: "1.0.0" },
      fetched: { bytes: Number, delta_from: null },
      installed: ["plugins/tide-table"],
      files: { added: 1, changed: 3, removed: 0 },
    });
    t.match(JSON.parse(await readFile(join(root, "plugins/tide-table/plugin.sig"), "utf8")), { version: "1.0.0" });
    await world.programs.run("deploy-marketplace", signing, developer);
    t.match(JSON.parse(await readFile(join(root, "plugins/tide-table/plugin.sig"), "utf8")), { version: "1.1.0" });
    const listed = await world.programs.run<{ fleets: unknown[] }>(
      "sealift",
      ["fleet", "plugin:tide-table"],
      world.admin,
    );
    t.match(listed.fleets, [{ hosts: 1, failing: 0, versions: { "1.1.0": 1 } }]);
  });
  await t.test("another secret is refused, and the old version stays", async (t) => {
    await publish("1.2.0");
    await t.rejects(
      world.programs.run("deploy-marketplace", args, { ...developer, SEALIFT_SIGNING_SECRET: "another" }),
      /X-Signature/,
    );
    t.match(await readFile(join(root, "plugins/tide-table/plugin.yaml"), "utf8"), /1\.1\.0/);
    t.match(await lastReport(root, "plugin-tide-table"), { status: "failed", code: "signature_invalid" });
  });
  await t.test("a yanked version is not latest any more", async (t) => {
    await world.programs.run("sealift", ["version", "yank", "tide-table", "1.2.0", "--reason", "wrong"], developer);
    t.match(await world.programs.run("deploy-marketplace", args, developer), {
      outcome: "unchanged",
      version: "1.1.0",
    });
  });
  await t.test("a plan of another target is refused before any request, with a report", async (t) => {
    const other = world.path("other.yaml");
    await world.programs.run("sealift", ["plan", "init", "somebody-else", "--out", other], {});
    await t.rejects(
      world.programs.run(
        "deploy-marketplace",
        ["tide-table", "--install-plan", other, "--project-root", root, "--hub-url", "http://127.0.0.1:9"],
        developer,
      ),
      /somebody-else/,
    );
    t.match(await lastReport(root, "plugin-tide-table"), { status: "failed", code: "config_invalid" });
  });
  await t.test("a service is installed under extensions, without a descriptor", async (t) => {
    await world.programs.run(
      "sealift",
      ["project", "create", "Clock", "--kind", "service", "--slug", "clock"],
      world.admin,
    );
    const folder = world.path("clock");
    await mkdir(folder);
    await writeFile(join(folder, "index.js"), "export default 1;\n");
    await zipFolder(folder, "clock-1", world.path("clock.zip"));
    await world.programs.run(
      "sealift",
      [
        "marketplace",
        "publish",
        "clock",
        "--kind",
        "service",
        "--version",
        "1.0.0",
        "--archive",
        world.path("clock.zip"),
      ],
      developer,
    );
    await world.programs.run(
      "sealift",
      ["plan", "init", "clock", "--kind", "service", "--out", world.path("clock.yaml")],
      {},
    );
    await world.programs.run(
      "deploy-marketplace",
      ["clock", "--kind", "service", "--install-plan", world.path("clock.yaml"), "--project-root", root],
      developer,
    );
    t.equal(await readlink(join(root, "extensions/clock")), "../.sealift/current/service-clock/extensions/clock");
  });
});
