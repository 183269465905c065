import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { startHub } from "../support/hub/harness.ts";
import { publishedArchive, publishedProject } from "../support/hub/published.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

for (const kind of ["project", "plugin"] as const) {
  t.test(`the hub is told that a host went back, or a line says that it is not: a ${kind}`, async (t) => {
    const folder = temporaryFolder(t);
    const hub = await startHub(t, { dataDir: join(folder, "hub"), rateLimits: false });
    const target = await (kind === "project"
      ? publishedProject(hub, "tides", folder)
      : publishedArchive(hub, "plugin", "tides", folder));
    for (const version of ["1.0.0", "1.1.0"]) await target.publish(version);
    const root = join(folder, "root");
    const run = (words: readonly string[], env: Record<string, string> = {}) =>
      commandLine([...words, "--project-root", root], {
        cwd: folder,
        env: { PATH: process.env.PATH, XDG_CONFIG_HOME: folder, ...env },
      });
    const flags = Object.entries(target.options).flatMap(([key, value]) => [`--${key.replaceAll("_", "-")}`, value]);
    const subject = kind === "project" ? ["--project-id", target.slug] : [target.slug];
    const deployed = async (env: Record<string, string> = {}) => {
      for (const version of ["1.0.0", "1.1.0"]) {
        const given = env["SEALIFT_API_KEY"] === undefined ? flags : flags.filter((_, index) => !isOfKey(flags, index));
        const words = [
          kind === "project" ? "project" : "marketplace",
          "deploy",
          ...subject,
          "--version",
          version,
          "--allow-downgrade",
          ...given,
        ];
        const ended = await run([...words, "--host-id", "pier-7"], { SEALIFT_HUB_URL: hub.url, ...env });
        t.equal(ended.code, 0, ended.stderr);
      }
    };
    const fleet = async (): Promise<unknown> => {
      const env = { PATH: process.env.PATH, SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey };
      return (await commandLine(["fleet", target.name, "--fields", "version"], { env })).stdout;
    };

    await deployed();
    t.equal(await fleet(), '{"version":"1.1.0"}\n');
    const back = await run(["rollback", target.name]);
    t.match(back, { code: 0, stdout: "went back to 1.0.0 from 1.1.0\n" });
    t.notMatch(back.stderr, "warning: The hub");
    t.equal(await fleet(), '{"version":"1.0.0"}\n', "hub and key are those of the last deployment");

    const otherwise = await run(["rollback", target.name, "--to", "1.1.0"], {
      SEALIFT_API_KEY: "a key for other work",
    });
    t.equal(otherwise.code, 0, otherwise.stderr);
    t.notMatch(otherwise.stderr, "warning: The hub", "no key of the shell stands in for the host's own");
    t.equal(await fleet(), '{"version":"1.1.0"}\n');

    const apiKey = await readKey(folder, target.options["api_key_file"]!);
    await deployed({ SEALIFT_API_KEY: apiKey });
    const silent = /warning: The hub is not told.*The next deployment.*--hub-url and --api-key-file/;
    t.match(await run(["rollback", target.name]), { code: 0, stderr: silent }, "a key of the environment is not kept");
    t.equal(await fleet(), '{"version":"1.1.0"}\n');
    t.match(await run(["rollback", target.name, "--to", "1.1.0"], { SEALIFT_API_KEY: apiKey }), { code: 0 });
    t.match(await run(["rollback", target.name, "--to", "1.0.0"], { SEALIFT_API_KEY: apiKey }), { code: 0 });
    t.equal(await fleet(), '{"version":"1.0.0"}\n', "the hub is that of the last deployment");

    await deployed();
    await rm(join(folder, target.options["api_key_file"]!));
    t.match(await run(["rollback", target.name]), { code: 0, stderr: silent }, "a file that is gone stops nothing");
    t.equal((await run(["rollback", target.name, "--to", "1.1.0", "--hub-url", "http://127.0.0.1:9"])).code, 0);
  });
}

const isOfKey = (flags: readonly string[], index: number): boolean =>
  flags[index] === "--api-key-file" || flags[index - 1] === "--api-key-file";

async function readKey(folder: string, name: string): Promise<string> {
  return (await readFile(join(folder, name), "utf8")).trim();
}
