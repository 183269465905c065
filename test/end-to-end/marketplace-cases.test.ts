// Only in test:all: whole runs of a plugin that fails, is fetched for a project, or has links.
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import t from "tap";
import yazl from "yazl";
import { lastReport, makePlugin, SECRET } from "../support/host/marketplace-plugin.ts";
import { World } from "../support/host/world.ts";
import { Visitor } from "../support/hub/web.ts";

t.test(
  "a failing healthcheck brings the previous version back, restarts it, and the fleet says rolled_back",
  async (t) => {
    await using world = await World.make();
    const { developer, publish } = await makePlugin(world, "tides");
    const plan = world.path("supervised.yaml");
    await world.programs.run("sealift", ["plan", "init", "tides", "--supervised", "--out", plan], {});
    await writeFile(plan, (await readFile(plan, "utf8")).replace("retries: 3", "retries: 0"));
    const programs = world.path("programs");
    await mkdir(programs);
    const log = world.path("systemctl.log");
    const systemctl = (state: string) =>
      writeFile(
        join(programs, "systemctl"),
        `#!/bin/sh\necho "$@" >> ${log}\ncase "$*" in *show*) echo LoadState=loaded; echo ActiveState=${state}; echo NRestarts=0;; esac\n`,
        { mode: 0o755 },
      );
    const root = world.path("host");
    const args = ["tides", "--install-plan", plan, "--project-root", root, "--host-id", "h"];
    args.push("--supervisor", "systemd", "--stays-up", "100ms");
    const environment = { ...developer, PATH: `${programs}:${process.env.PATH}` };

    await systemctl("active");
    await publish("1.0.0");
    await world.programs.run("deploy-marketplace", args, environment);
    await systemctl("failed");
    await publish("2.0.0");
    await rm(log);
    await t.rejects(world.programs.run("deploy-marketplace", args, environment), { code: "rolled_back" });
    t.match(await readFile(join(root, "plugins/tides/plugin.yaml"), "utf8"), /1\.0\.0/);
    t.match((await readFile(log, "utf8")).trim().split("\n").at(-1), /restart sealift-plugin-tides/);
    const hosts: unknown[] = [];
    await world.programs.run("sealift", ["fleet", "plugin:tides"], world.admin, (event) => hosts.push(event));
    t.match(hosts, [{ host_id: "h", version: "2.0.0", status: "rolled_back", running_version: "1.0.0" }]);
    const reader = await new Visitor(world.hubUrl).signIn(world.admin.SEALIFT_API_KEY!);
    const { html } = await reader.request("/plugins/tides/fleet/h");
    t.match(html, /Steps of the last report.*restart/s, "the hub shows the steps that the agent took");

    await t.test("with the hub gone at report time the outcome is the same and a warning is logged", async (t) => {
      // A door before the hub that closes when the deployment reports.
      const door = createServer((request, response) => {
        if (request.url?.includes("/deployments/report")) {
          request.socket.destroy();
          return;
        }
        void fetch(world.hubUrl + request.url, { headers: { "x-api-key": String(request.headers["x-api-key"]) } }).then(
          async (answer) => {
            response.writeHead(answer.status, Object.fromEntries(answer.headers));
            response.end(Buffer.from(await answer.arrayBuffer()));
          },
        );
      });
      await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve));
      t.teardown(() => void door.close());
      const warnings: unknown[] = [];
      const url = `http://127.0.0.1:${(door.address() as AddressInfo).port}`;
      await t.rejects(
        world.programs.run("deploy-marketplace", [...args, "--hub-url", url], environment, (event) => {
          if (event.event === "warning") warnings.push(event);
        }),
        /previous release is back/,
      );
      t.match(warnings, [{}, { message: /report could not be sent/ }]);
      t.match(await lastReport(root, "plugin-tides"), { status: "rolled_back" });
    });
  },
);

t.test("a project fetches the plugins that it only names, pinned by their digest", async (t) => {
  await using world = await World.make();
  const { publish } = await makePlugin(world, "fetched");
  const file = await publish("1.0.0");
  const { unzip } = await import("../../lib/artifact/zip/unzip.ts");
  const { DEFAULT_LIMITS } = await import("../../lib/artifact/limits.ts");
  await mkdir(world.path("look"));
  const options = { limits: DEFAULT_LIMITS, symlinks: "refuse" } as const;
  const digest = (await unzip(file, world.path("look"), options)).files.digest();

  const sources = (sha256: string): Promise<void> =>
    writeFile(
      world.path("source/deployment/sources.yaml"),
      `plugins:\n  fetched:\n    version: 1.0.0\n    sha256: "${sha256}"\n    source: {marketplace_slug: fetched, marketplace_version: 1.0.0}\n`,
    );
  const addStep = async (): Promise<void> => {
    const plan = world.path("source/deployment/install.yaml");
    await writeFile(
      plan,
      `${await readFile(plan, "utf8")}  - {id: fetched, action: install_plugin, plugin: fetched}\n`,
    );
  };
  await addStep();
  await sources(digest);
  await world.publish("1.0.0");
  const root = world.path("host");
  const secrets = { ...world.hostSecrets(), SEALIFT_SIGNING_SECRET: SECRET };
  await t.rejects(world.programs.run("deploy-project", world.deployArgs(root), world.hostSecrets()), {
    code: "usage",
    message: /signing-secret/,
  });
  await world.programs.run("deploy-project", world.deployArgs(root), secrets);
  t.match(await readFile(join(root, "plugins/fetched/src/main.js"), "utf8"), /1\.0\.0/);

  await sources("0".repeat(64));
  await world.publish("1.1.0");
  await t.rejects(world.programs.run("deploy-project", world.deployArgs(root), secrets), {
    code: "plugin_digest_mismatch",
  });
  t.match(await lastReport(root, `project-${world.projectId}`), { code: "plugin_digest_mismatch", status: "failed" });

  await t.test("from a source host as well, with a token that goes nowhere else", async (t) => {
    const seen: string[] = [];
    const host = createServer((request, response) => {
      seen.push(`${request.url} ${String(request.headers.authorization)}`);
      if (request.headers.authorization !== "token git-secret") return void response.writeHead(404).end();
      void readFile(file).then((bytes) => response.end(bytes));
    });
    await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
    t.teardown(() => void host.close());
    const authority = `127.0.0.1:${(host.address() as AddressInfo).port}`;
    await writeFile(
      world.path("source/deployment/sources.yaml"),
      `plugins:\n  fetched:\n    version: 1.0.0\n    sha256: "${digest}"\n    source: {url: "http://${authority}/acme/fetched.git", ref: v1.0.0}\n`,
    );
    await world.publish("1.2.0");
    await world.programs.run(
      "deploy-project",
      [...world.deployArgs(root), "--git-token", `${authority}=git-secret`],
      secrets,
    );
    t.same(seen, ["/acme/fetched/archive/v1.0.0.zip token git-secret"]);
  });
});

t.test("links in an archive are refused, or left out and listed", async (t) => {
  await using world = await World.make();
  const { plan, developer } = await makePlugin(world, "linked");
  const zip = new yazl.ZipFile();
  zip.addBuffer(Buffer.from("name: linked\nversion: 1.0.0\n"), "linked-1/plugin.yaml");
  zip.addBuffer(Buffer.from("export default 1;\n"), "linked-1/src/main.js");
  zip.addBuffer(Buffer.from("src/main.js"), "linked-1/alias.js", { mode: 0o120777 });
  zip.end();
  await writeFile(world.path("linked.zip"), await buffer(zip.outputStream));
  await world.programs.run(
    "sealift",
    ["marketplace", "publish", "linked", "--version", "1.0.0", "--archive", world.path("linked.zip")],
    developer,
  );
  const args = ["linked", "--install-plan", plan, "--project-root", world.path("host")];
  await t.rejects(world.programs.run("deploy-marketplace", args, developer), {
    code: "member_type",
    message: /alias\.js/,
  });
  const warnings: unknown[] = [];
  await world.programs.run("deploy-marketplace", [...args, "--symlinks", "skip"], developer, (event) => {
    if (event.event === "warning") warnings.push(event);
  });
  t.match(warnings, [{ message: /alias\.js/ }]);
  t.same((await readdir(world.path("host/plugins/linked"))).toSorted(), ["data", "plugin.yaml", "src"]);
});
