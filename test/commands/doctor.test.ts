import { once } from "node:events";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import type { TargetName } from "../../lib/contract/target.ts";
import { layoutOf } from "../../lib/releases/layout.ts";
import { quarantine } from "../../lib/releases/quarantine.ts";
import { doctor, doctorOf } from "../support/host/doctor.ts";
import { World } from "../support/host/world.ts";

t.test("a host that is fit is told so, and one that is not learns what is wrong", { timeout: 120_000 }, async (t) => {
  await using world = await World.make();
  await world.publish("1.0.0");
  const root = world.path("host");
  await world.programs.run("deploy-project", world.deployArgs(root), world.hostSecrets());
  const before = await readdir(root);

  await t.test("everything in order", async (t) => {
    const { code, finding, result } = await doctor(
      ["--project-root", root, "--project-id", world.projectId],
      world.hostSecrets(),
    );
    t.equal(code, 0);
    t.match(result, { event: "result", status: "success", warnings: 0 });
    t.match(finding(`target project-${world.projectId}`), { status: "ok", message: /^1\.0\.0 runs/ });
    t.match(finding("key"), { status: "ok" });
    const room = /^\d+ of \d+ connections are open, and \d+ of \d+ descriptors/;
    t.match(finding("hub connections"), { status: "ok", message: room });
    t.strictSame(await readdir(root), before, "nothing is left behind");
  });

  await t.test("why a target does not run its newest version", async (t) => {
    const target = `project:${world.projectId}`;
    const why = (env: Record<string, string>) => doctorOf(target, ["--project-root", root, "--host-id", "pier-1"], env);
    const hub = (...words: string[]) => world.programs.run("sealift", words, world.admin);
    t.match(await why(world.hostSecrets()), { code: 0, reason: "newest", message: `${target} runs 1.0.0, the newest` });
    await world.publish("1.1.0");
    await hub("version", "yank", target, "1.1.0", "--reason", "loses more");
    t.match(await why(world.hostSecrets()), { code: 0, reason: "yanked", message: /was yanked: loses more\.$/ });
    await hub("version", "unyank", target, "1.1.0");
    t.match(await why(world.hostSecrets()), { code: 1, reason: "unheard", message: /no watch runs here/ });
    await world.programs.run("sealift", ["pin", target, "--project-root", root, "--reason", "audit"], {});
    t.match(await why(world.hostSecrets()), { code: 0, reason: "pinned", message: /pinned to 1\.0\.0: audit\.$/ });
    await world.programs.run("sealift", ["unpin", target, "--project-root", root], {});
    const gone = { ...world.hostSecrets(), SEALIFT_API_KEY: "slk_no_such_key" };
    t.match(await why(gone), { code: 1, reason: "unreachable", message: /401/ });
    await hub("version", "delete", target, "1.1.0", "--reason", "of this test");
  });

  await t.test("a rejected key", async (t) => {
    const { code, finding } = await doctor(["--project-root", root], {
      ...world.hostSecrets(),
      SEALIFT_API_KEY: "slk_no_such_key",
    });
    t.equal(code, 1);
    t.match(finding("key"), { status: "failed", message: /401/ });
  });

  await t.test("a hub that is not there", async (t) => {
    const { code, finding } = await doctor(
      ["--project-root", root, "--hub-url", "http://127.0.0.1:9"],
      world.hostSecrets(),
    );
    t.equal(code, 1);
    t.match(finding("hub"), { status: "failed" });
    t.equal(finding("key"), undefined);
  });

  await t.test("a hub that is nearly full", async (t) => {
    let told: object = {};
    const server = createServer((_request, response) =>
      response.setHeader("content-type", "application/json").end(JSON.stringify(told)),
    );
    await once(server.listen(0, "127.0.0.1"), "listening");
    t.teardown(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const rooms = {
      connections: { connections: { open: 90, most: 100, shed: 3 } },
      descriptors: { connections: { open: 1, most: 100, shed: 0 }, descriptors: { open: 900, limit: 1000 } },
    };
    for (const [what, room] of Object.entries(rooms)) {
      told = room;
      const { finding } = await doctor(["--project-root", root, "--hub-url", url], world.hostSecrets());
      t.match(finding("hub connections"), { status: "warning", message: what, hint: /LimitNOFILE/ });
    }
  });

  await t.test("a supervisor without its program", async (t) => {
    const { code, finding } = await doctor(["--project-root", root, "--supervisor", "docker"], {
      PATH: world.path("keys"),
    });
    t.equal(code, 1);
    t.match(finding("docker"), { status: "failed" });
    t.match(finding("hub"), { status: "warning" }, "no hub was named");
  });

  await t.test("versions in quarantine, and a deployment that was cut short", async (t) => {
    const layout = layoutOf(root);
    const target: TargetName = `project-${world.projectId}`;
    const entry = {
      version: "1.1.0",
      identity: null,
      code: "unhealthy",
      reason: "answered 503",
      at: "2026-11-20T12:00:00Z",
    };
    await quarantine(layout, target, entry);
    await quarantine(layout, target, { ...entry, version: "0.9.0" });
    await quarantine(layout, target, { ...entry, version: "1.2.0", code: "signer_untrusted", signers: "others" });
    await writeFile(
      layout.journal,
      JSON.stringify({
        ...{ v: 1, phase: "staging", deployment_id: "d", target, kind: "project", slug: world.projectId, host_id: "h" },
        ...{ requested_version: "1.1.0", resolved_version: "1.1.0", started_at: "2026-11-20T12:00:00Z", release: "r" },
        ...{ previous: null, items: [], previous_items: [], adopted: [], env_files: [], touched: [] },
      }),
    );
    const { code, finding, events, result } = await doctor(["--project-root", root], {});
    const hints = events.filter(({ message = "" }) => message.includes(" is in quarantine")).map(({ hint }) => hint);
    t.match(hints, [/watch retry/, /or this host accepts other signers/]);
    t.equal(code, 0, "that is no reason for the next deployment to fail");
    t.match(finding("journal"), { status: "warning", message: /1\.1\.0 .*cut short/ });
    t.equal(
      result?.["warnings"],
      4,
      "the quarantines, not that of an old version, the journal and the hub that was not named",
    );
  });

  await t.test("a folder that is none", async (t) => {
    await mkdir(world.path("files"));
    await writeFile(world.path("files", "file"), "");
    const { code, finding } = await doctor(["--project-root", world.path("files", "file")], {});
    t.equal(code, 1);
    t.match(finding("project root"), { status: "failed" });
  });
});
