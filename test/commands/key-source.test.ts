// Holds: a rejected key says where it came from (commands/shell/key-source.ts)
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { startHub } from "../support/hub/harness.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const WRONG = `slk_${"w".repeat(43)}`;

t.test("a rejected key says where it came from, and which hub has rejected it", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const folder = temporaryFolder(t);
  await writeFile(join(folder, "wrong.key"), WRONG);
  const run = (words: string, env: Record<string, string> = {}) =>
    commandLine(words.split(" "), { cwd: folder, env: { PATH: process.env.PATH, XDG_CONFIG_HOME: folder, ...env } });
  const at = { SEALIFT_HUB_URL: hub.url };
  const said = (source: string) =>
    new RegExp(`key_rejected[^]*revoked or expired\\. It came from ${source}; the hub is ${hub.url}\\.`);
  const plain = ({ code, stderr }: { code: number | null; stderr: string }) => ({
    code,
    stderr: stderr.replaceAll(/\s+/g, " "),
  });

  t.match(plain(await run("key list", { ...at, SEALIFT_API_KEY: WRONG })), {
    code: 3,
    stderr: said("SEALIFT_API_KEY"),
  });
  t.match(plain(await run("key list --api-key-file wrong.key", at)), {
    ...{ code: 3, stderr: said("--api-key-file \\(wrong\\.key\\)") },
  });
  await writeFile(join(folder, "host.yaml"), `hub_url: ${hub.url}\napi_key_file: wrong.key\n`);
  t.match(plain(await run("key list --config host.yaml")), {
    code: 3,
    stderr: said("api_key_file in \\S*host\\.yaml \\(.*wrong\\.key\\)"),
  });
  const json = await run("project list --json", { ...at, SEALIFT_API_KEY: WRONG });
  t.match(json, { code: 3, stdout: /"hint":"[^"]*It came from SEALIFT_API_KEY; the hub is http[^"]*","status":401/ });
  t.notMatch(json.stdout, WRONG);
});
