// Holds: which keys count in trusted folders only (lib/options/options-file.ts)
import { execFileSync } from "node:child_process";
import { rmSync, symlinkSync } from "node:fs";
import { appendFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { finished } from "node:stream/promises";
import { Cli } from "clipanion";
import t, { type Test } from "tap";
import { Login } from "../../../commands/context/login.ts";
import { TrustFolder } from "../../../commands/context/trust-folder.ts";
import { KeysList } from "../../../commands/hub/keys.ts";
import { commandLine } from "../../support/programs/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A pull request adds a sealift.yaml that sends the key of the environment, or a file of the host, elsewhere. */

const cli = Cli.from([KeysList, Login, TrustFolder]);
const KEY = "key-of-the-environment";

interface Result {
  exit_code: number;
  error?: { code: string; hint?: string };
  digest?: string;
}

/** A folder that others may change, a hub of theirs that remembers the keys it gets, and a person with a key. */
async function attacked(t: Test) {
  const folder = temporaryFolder(t);
  const seen: (string | undefined)[] = [];
  const thief = createServer((request, response) => {
    seen.push(request.headers["x-api-key"] as string | undefined);
    response.setHeader("content-type", "application/json").end('{"items":[],"next":null}');
  });
  await new Promise<void>((resolve) => thief.listen(0, "127.0.0.1", resolve));
  t.teardown(() => thief.close());
  const url = `http://127.0.0.1:${(thief.address() as AddressInfo).port}`;
  const file = join(folder, "sealift.yaml");
  await writeFile(file, `hub_url: ${url}\n`);
  const config = join(folder, "config");
  const cwd = process.cwd();
  process.chdir(folder);
  t.teardown(() => process.chdir(cwd));
  const run = async (line: string, more: Record<string, string> = {}) => {
    const before = process.env;
    process.env = { PATH: before.PATH, XDG_CONFIG_HOME: config, SEALIFT_API_KEY: KEY, ...more };
    let printed = "";
    const stdout = new PassThrough().setEncoding("utf8").on("data", (text: string) => (printed += text));
    try {
      await cli.run([...line.split(" "), "--json"], { ...Cli.defaultContext, stdout });
    } finally {
      process.env = before;
    }
    await finished(stdout.end());
    const events = printed
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text) as Record<string, unknown>);
    return { events, result: events.at(-1) as unknown as Result };
  };
  return { file, config, seen, url, run };
}

t.test("a folder's sealift.yaml names no hub for a key of the environment before it is trusted", async (t) => {
  const { file, config, seen, run } = await attacked(t);
  t.match((await run("key list")).result, { exit_code: 2, error: { code: "usage", hint: /trust-folder/ } });
  t.same(seen, []);
  const { digest = "" } = (await run("trust-folder")).result;
  t.equal((await stat(join(config, "sealift", "trusted-folders.json"))).mode & 0o777, 0o600);
  t.equal((await run("key list")).result.exit_code, 0);
  t.same(seen.splice(0), [KEY]);

  await t.test("nor after a change", async (t) => {
    await appendFile(file, "timeout: 5\n");
    t.equal((await run("key list")).result.exit_code, 2);
    t.equal((await run("key list", { SEALIFT_TRUST_FOLDER: digest })).result.exit_code, 2);
    t.same(seen, []);
  });
  await t.test("nor when it is trusted no longer", async (t) => {
    await run("trust-folder");
    t.match((await run("trust-folder --list")).events, [{ path: file }, { count: 1 }]);
    await run("trust-folder --remove");
    t.equal((await run("key list")).result.exit_code, 2);
    t.same(seen, []);
  });
});

t.test("a variable trusts one content, or any; --config names a file whatever its folder", async (t) => {
  const { file, seen, run } = await attacked(t);
  const { digest = "" } = (await run("trust-folder")).result;
  await run("trust-folder --remove");
  t.equal((await run("key list", { SEALIFT_TRUST_FOLDER: digest })).result.exit_code, 0);
  t.equal((await run("key list", { SEALIFT_TRUST_FOLDER: "yes" })).result.exit_code, 0);
  t.equal((await run(`key list --config ${file}`)).result.exit_code, 0);
  t.equal(seen.splice(0).length, 3);
  t.equal((await run("key list", { SEALIFT_TRUST_FOLDER: "perhaps" })).result.exit_code, 2);
  t.same(seen, []);
});

t.test("a folder's sealift.yaml names no file to send as a secret, and what it would have done is said", async (t) => {
  const { file, seen, url, run } = await attacked(t);
  await writeFile(file, `api_key_file: ${file}\nca_file: ${file}\ntimeout: 5\n`);
  t.equal((await run("key list", { SEALIFT_API_KEY: "", SEALIFT_HUB_URL: url })).result.exit_code, 2);
  t.same(seen, []);
  const { events, result } = await run("key list", { SEALIFT_HUB_URL: url });
  t.equal(result.exit_code, 0);
  t.match(events[0], { event: "warning", message: `ca_file: ${file}` });
  t.same(seen, [KEY]);
});

t.test("a key of the environment that is bound to a hub goes to no other one", async (t) => {
  const { seen, url, run } = await attacked(t);
  const bound = { SEALIFT_API_KEY_HUB: "https://hub.example.org", SEALIFT_TRUST_FOLDER: "yes" };
  t.match((await run("key list", bound)).result, { exit_code: 2, error: { code: "usage" } });
  t.match((await run(`login ${url}`, bound)).result, { exit_code: 2, error: { code: "usage" } });
  t.same(seen, []);
  t.equal((await run("key list", { ...bound, SEALIFT_API_KEY_HUB: `${url}/` })).result.exit_code, 0);
  t.same(seen, [KEY]);
});

t.test("a sealift.yaml that is a pipe or a device is refused, and nobody waits for it", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "sealift.yaml");
  for (const make of [() => execFileSync("mkfifo", [file]), () => symlinkSync("/dev/zero", file)]) {
    make();
    for (const words of [["key", "list"], ["trust-folder"]]) {
      const env = { PATH: process.env.PATH, XDG_CONFIG_HOME: folder };
      const ended = await commandLine(words, { cwd: folder, env });
      t.match(ended, { code: 2, stderr: /config_invalid.*sealift\.yaml is not a regular file/ }, words.join(" "));
    }
    rmSync(file);
  }
});
