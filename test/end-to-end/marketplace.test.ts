import { mkdir, readdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import t from "tap";
import yazl from "yazl";
import type { LocalReport } from "../../lib/contract/surfaces/reports.ts";
import { zipFolder } from "../../scripts/quickstart/zip-folder.ts";
import { World } from "../support/host/world.ts";
import { Visitor } from "../support/hub/web.ts";

const SECRET = "the developer's own secret";

/** A plugin on the marketplace of a real hub, with its install plan. */
async function makePlugin(
  world: World,
  slug: string,
): Promise<{
  plan: string;
  developer: Record<string, string>;
  publish: (version: string, files?: Record<string, string>) => Promise<string>;
}> {
  const developer = { ...world.admin, SEALIFT_SIGNING_SECRET: SECRET };
  await world.programs.run(
    "sealift",
    ["project", "create", `The ${slug}`, "--kind", "plugin", "--slug", slug],
    world.admin,
  );
  const plan = world.path(`${slug}.yaml`);
  await world.programs.run("sealift", ["plan", "init", slug, "--out", plan], {});
  const publish = async (version: string, files: Record<string, string> = {}): Promise<string> => {
    const folder = world.path(`${slug}-${version}`);
    const all = {
      "plugin.yaml": `name: ${slug}\nversion: ${version}\nexecution_mode: trusted\n`,
      "src/main.js": `export default ${JSON.stringify(version)};\n`,
      ...files,
    };
    for (const [path, content] of Object.entries(all)) {
      await mkdir(join(folder, path, ".."), { recursive: true });
      await writeFile(join(folder, path), content);
    }
    const file = world.path(`${slug}-${version}.zip`);
    await zipFolder(folder, `${slug}-${version}`, file);
    await world.programs.run(
      "sealift",
      ["marketplace", "publish", slug, "--version", version, "--archive", file, "--repo", `acme/${slug}@v${version}`],
      developer,
    );
    return file;
  };
  return { plan, developer, publish };
}

const lastReport = async (root: string, target: string): Promise<LocalReport> => {
  const folder = join(root, ".sealift", "reports", target);
  const names = (await readdir(folder)).filter((name) => name.endsWith(".json")).toSorted();
  return JSON.parse(await readFile(join(folder, names.at(-1)!), "utf8")) as LocalReport;
};

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
