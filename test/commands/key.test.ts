import t from "tap";
import { COMMANDS } from "../../commands/shell/registry.ts";
import { startHub } from "../support/hub/harness.ts";
import { Visitor } from "../support/hub/web.ts";
import { runHere } from "../support/programs/run-here.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const keyCommands = COMMANDS.filter(({ paths }) => paths?.[0]?.[0] === "key");

t.test("a key is replaced by one with its rights, and works on for the grace alone", async (t) => {
  process.env["XDG_CONFIG_HOME"] = temporaryFolder(t);
  let now = Date.now();
  const hub = await startHub(t, { clock: () => now });
  Object.assign(process.env, { SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey });
  const run = (line: string) => runHere(keyCommands, line.split(" "));
  const secretIn = ({ stdout }: { stdout: string }) => /^SEALIFT_API_KEY=(\S+)$/m.exec(stdout)?.[1] ?? "";
  const listed = async (key: string) => (await hub.call("GET", "/devkeys/projects", { key })).status;

  const old = secretIn(await run("key create --name ci --scope projects --scope read"));
  const rotated = await run("key rotate ci --grace 2h");
  t.match(rotated, { code: 0, stderr: /in the place of key_/ });
  const fresh = secretIn(rotated);
  t.not(fresh, old);
  t.strictSame([await listed(old), await listed(fresh)], [200, 200]);
  now += 3 * 3_600_000;
  t.strictSame([await listed(old), await listed(fresh)], [401, 200]);
  t.match(await run("key rotate nobody"), { code: 1, stderr: /no key in use named "nobody"/ });
});

t.test("a key that speaks for one host is made for that host, listed with it, and replaced with it", async (t) => {
  process.env["XDG_CONFIG_HOME"] = temporaryFolder(t);
  const hub = await startHub(t);
  const { body } = await hub.call("POST", "/devkeys/projects", { json: { name: "Harbour", kind: "project" } });
  Object.assign(process.env, { SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey });
  const run = (line: string) => runHere(keyCommands, line.split(" "));
  t.match(await run(`key create --name p7 --project Harbour --host pier-7 --out ${temporaryFolder(t)}`), {
    code: 0,
    stderr: `sealift watch init project:${body.id as string} --host-id pier-7 --out`,
  });
  t.equal((await run("key rotate p7")).code, 0);
  t.match((await run("key list")).stdout, /^p7 .* Harbour +pier-7 [^]+^p7 .* Harbour +pier-7 [^]+ all +any /m);
  const soon = await run("key create --name soon --scope read --expires 30m");
  const end = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`;
  t.match(soon, { code: 0, stderr: new RegExp(`It ends on ${end};`) });
  t.match((await run("key list")).stdout, new RegExp(`^soon .* live .* any +${end} +never +read `, "m"));
  t.match(await run("key create --name p8 --host pier-8 --scope publish"), {
    code: 1,
    stderr: /a key that speaks for a host may deploy, report and read, not publish/,
  });
  t.match(await run("key create --name p8 --host .."), { code: 2, stderr: /--host ".." must be printable/ });
});

t.test("lists show live keys, ended ones when asked, and none that ended 30 days ago", async (t) => {
  process.env["XDG_CONFIG_HOME"] = temporaryFolder(t);
  let now = Date.now();
  const hub = await startHub(t, { clock: () => now });
  Object.assign(process.env, { SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey });
  const run = (line: string) => runHere(keyCommands, line.split(" "));
  const names = async (line: string) => {
    const { stdout } = await run(`${line} --fields name`);
    const lines = stdout
      .trim()
      .split("\n")
      .filter((each) => each !== "");
    return lines.map((each) => (JSON.parse(each) as { name: string }).name).toSorted();
  };
  const page = async (path: string) => (await new Visitor(hub.url).signIn(hub.adminKey)).request(path);
  for (const line of ["stays --expires never", "short --expires 1h", "gone --expires 1h"])
    t.equal((await run(`key create --scope read --name ${line}`)).code, 0);
  t.equal((await run("key revoke gone")).code, 0);
  now += 2 * 3_600_000;
  t.strictSame(await names("key list"), ["administrator", "stays"]);
  t.strictSame(await names("key list --ended"), ["gone", "short"]);
  t.strictSame(await names("key list --all"), ["administrator", "gone", "short", "stays"]);
  t.equal((await run("key create --scope read --name short")).code, 0);
  t.match(await run("key revoke short"), { code: 0 }, "a name means the live key");
  const { html } = await page("/keys");
  t.match(html, /href="\/keys\?state=ended">Keys that have ended/);
  t.notMatch(html, "expired");
  t.match((await page("/keys?state=ended")).html, /gone.*revoked.*short.*expired|short.*expired.*gone.*revoked/s);
  const { body } = await hub.call("GET", "/devkeys/api-keys?limit=1&state=ended");
  t.equal((body.items as object[]).length, 1);
  t.equal((await hub.call("GET", "/devkeys/api-keys?state=dead")).status, 422);

  now += 30 * 24 * 3_600_000;
  t.strictSame(await names("key list --all"), ["administrator", "stays"], "the end of a revoked key is its revocation");
  t.strictSame(await names("key list --ended"), []);
});
