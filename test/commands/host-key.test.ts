import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { parse } from "yaml";
import { COMMANDS } from "../../commands/shell/registry.ts";
import { readCard } from "../../lib/artifact/sealed/card.ts";
import { hostLineIn } from "../../lib/contract/settings/host-line.ts";
import { readWatchFile } from "../../lib/options/watch-file.ts";
import { signerHex } from "../support/hub/joining.ts";
import { runHere } from "../support/programs/run-here.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const commands = COMMANDS.filter(({ paths }) => ["host"].includes(paths?.[0]?.[0] ?? ""));
const PROJECT = "prj_0123456789abcdef";
const WATCH = `# Of this host
project_root: /srv/harbour
targets:
  # The shop
  - target: project:${PROJECT}
    host_id: pier-7 # its name
  - target: plugin:tides
`;

async function hostOf(t: Test, text = WATCH, name = "watch.yaml") {
  const folder = temporaryFolder(t);
  const file = join(folder, name);
  await writeFile(file, text);
  const run = (line: string) => runHere(commands, line.split(" "));
  return { folder, file, run };
}

const cardIn = async (file: string) =>
  readCard((JSON.parse(await readFile(file, "utf8")) as { card: string }).card).signed;

t.test("a host without anything gets its key in a folder that is made", async (t) => {
  const { folder, file, run } = await hostOf(t);
  const first = await run(`host key --out ${folder}/ship`);
  t.equal(first.code, 0, first.stderr);
  t.ok(hostLineIn(first.stdout));
  t.equal((await stat(join(folder, "ship"))).mode & 0o777, 0o700);
  t.equal((await run(`host key --out ${folder}/ship`)).stdout, first.stdout);
  t.match(await run(`host key --out ${file}`), { code: 2, stderr: /^error \(usage\): --out .* cannot be made/m });
  t.match(await run("host key --out /proc/nowhere"), { code: 2, stderr: /^error \(usage\): --out .* cannot be made/m });
});

t.test("a host of before gets a key and a card, and its line stays the same", async (t) => {
  const { folder, file, run } = await hostOf(t);
  const first = await run(`host key --out ${folder}`);
  t.equal(first.code, 0, first.stderr);
  const keys = hostLineIn(first.stdout);
  t.ok(keys, "the line, and nothing else");
  t.match(
    first.stderr,
    /Write into .*watch\.yaml, at the target project:prj_0123456789abcdef:\n {4}host_key_file: host\.key\n {4}host_card: host\.card\n/,
  );
  t.match(first.stderr, /sealift host operator set KEY/);
  t.equal((await stat(join(folder, "host.key"))).mode & 0o777, 0o600);
  const seed = await readFile(join(folder, "host.key"), "utf8");
  t.notMatch(first.stdout + first.stderr, seed.trim());
  t.match(await cardIn(join(folder, "host.card")), { ...keys, project: PROJECT, name: "pier-7", terms: null });

  const card = await readFile(join(folder, "host.card"), "utf8");
  const again = await run(`host key --out ${folder}`);
  t.equal(again.stdout, first.stdout);
  t.notMatch(again.stderr, /Written/);
  t.equal(await readFile(join(folder, "host.card"), "utf8"), card);
  t.equal(await readFile(file, "utf8"), WATCH, "the file is the operator's");

  await writeFile(join(folder, "host.card"), "cut sh");
  t.equal((await run(`host key --out ${folder}`)).stdout, first.stdout);
  t.match(await cardIn(join(folder, "host.card")), keys!, "a card that is none is made anew");
});

t.test("a host that watches no project gets its key and line alone", async (t) => {
  for (const name of ["watch.yaml", "other.yaml"]) {
    const { folder, run } = await hostOf(t, "targets:\n  - target: plugin:tides\n", name);
    const made = await run(`host key --out ${folder}`);
    t.equal(made.code, 0, made.stderr);
    t.ok(hostLineIn(made.stdout));
    t.match(made.stderr, /kit make TARGET --host HOST=LINE/);
    t.notMatch(made.stderr, /Write into|host operator/);
    t.equal((await stat(join(folder, "host.key"))).mode & 0o777, 0o600);
    await t.rejects(stat(join(folder, "host.card")));
    t.equal((await run(`host key --out ${folder}`)).stdout, made.stdout);
  }
});

t.test("no key is made where several projects are watched", async (t) => {
  const several = "  - target: project:prj_0123456789a\n  - target: project:prj_0123456789b\n";
  const two = await hostOf(t, `targets:\n${several}`);
  t.match(await two.run(`host key --out ${two.folder}`), { code: 2, stderr: /as its targets/ });
  await t.rejects(stat(join(two.folder, "host.key")));
  const { folder, run } = await hostOf(t, "targets:\n  - target: project:Shop\n");
  t.match(await run(`host key --out ${folder}`), { code: 2, stderr: /no id of one/ });
  await t.rejects(stat(join(folder, "host.key")));
});

t.test("under systemd the key is a credential of the watch", async (t) => {
  const image = temporaryFolder(t);
  const [own, units] = [join(image, "etc/sealift/watch"), join(image, "etc/systemd/system")];
  await mkdir(own, { recursive: true });
  await writeFile(join(own, "blue.yaml"), WATCH);
  const run = (line: string) => runHere(commands, line.split(" "));
  const made = await run(`host key --systemd blue --root ${image}`);
  t.equal(made.code, 0, made.stderr);
  t.ok(hostLineIn(made.stdout));
  t.match(
    made.stderr,
    /\n {4}host_card: blue\.card\n[^]*systemctl daemon-reload && systemctl restart sealift-watch@blue/,
  );
  t.notMatch(made.stderr, "host_key_file");
  const folder = join(units, "sealift-watch@blue.service.d");
  const line = "LoadCredential=host-key:/etc/sealift/watch/blue.key\n";
  t.match(await readFile(join(folder, "51-host-key.conf"), "utf8"), `[Service]\n${line}`);
  t.equal((await stat(join(own, "blue.key"))).mode & 0o777, 0o600);
  t.equal((await stat(join(own, "blue.card"))).mode & 0o777, 0o644);
  const again = await run(`host key --systemd blue --root ${image}`);
  t.equal(again.stdout, made.stdout);
  t.notMatch(again.stderr, /Written|daemon-reload/);
  t.match(await run(`host key --systemd ../x --root ${image}`), { code: 2, stderr: /not a name of a unit/ });
});

t.test("operators are pinned, shown and taken out, and the rest of the file stays", async (t) => {
  const { folder, file, run } = await hostOf(t);
  await chmod(file, 0o640);
  t.match(await run(`host operator --config ${file}`), { code: 0, stdout: "", stderr: /No operator is pinned/ });
  await run(`host key --out ${folder}`);
  const keys = [signerHex(), signerHex()];
  t.match(await run(`host operator set ${keys.join(" ")} --config ${file}`), { code: 0, stderr: /Pinned: / });
  const text = await readFile(file, "utf8");
  for (const comment of ["# Of this host\n", "  # The shop\n", "host_id: pier-7 # its name\n"]) t.match(text, comment);
  const { targets } = parse(text) as { targets: object[] };
  const added = { host_key_file: "host.key", host_card: "host.card", operator: keys };
  t.strictSame(targets, [{ target: `project:${PROJECT}`, host_id: "pier-7", ...added }, { target: "plugin:tides" }]);
  t.strictSame((await readWatchFile(file)).unknownKeys, []);
  t.equal((await stat(file)).mode & 0o777, 0o640);
  t.equal((await run(`host operator --config ${file}`)).stdout, `${keys.join("\n")}\n`);

  const next = join(folder, "new.pub");
  await writeFile(next, `${signerHex()}\n`);
  t.match(await run(`host operator set ${next} --config ${file}`), { code: 0 });
  const now = await run(`host operator --config ${file}`);
  t.equal(now.stdout, await readFile(next, "utf8"), "one in place of both, and the file needs no other");
  t.match(await run(`host operator none --config ${file}`), { code: 0, stderr: /keeps those that it has/ });
  t.match(await run(`host operator --config ${file}`), { stdout: "" });
  t.notMatch(await readFile(file, "utf8"), "operator");

  const five = Array.from({ length: 5 }, signerHex).join(" ");
  t.match(await run(`host operator set ${five} --config ${file}`), { code: 2, stderr: /at most 4/ });
  for (const words of ["set", "none now", "take x"])
    t.match(await run(`host operator ${words} --config ${file}`), { code: 2, stderr: /Give `set KEY…`/ });
});

t.test("an operator whom all targets share is replaced, too", async (t) => {
  const { file, run } = await hostOf(t, `operator: [${signerHex()}]\n${WATCH}`);
  t.match(await run(`host operator none --config ${file}`), { code: 0 });
  t.equal((await run(`host operator --config ${file}`)).stdout, "");
});
