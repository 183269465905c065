// Holds: a version on a stick is deployed without a hub, and its reports come back (lib/agent/sources/kits/source.ts)
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { hostLine } from "../../../lib/contract/settings/host-line.ts";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";
import { until } from "../../support/until.ts";

t.test("three versions on sticks, once back, and every report stands in the fleet", async (t) => {
  const { hub, folder, target, key, root, make, deploy } = await offlineSite(t);
  await target.publish("1.0.0");
  const first = await make("first");
  t.strictSame((await readdir(first)).toSorted(), ["artifact.bin", "kit.json"]);
  const shown = await sealift(folder, ["kit", "show", first, "--host-key-file", "host.key"]);
  t.match(shown.result, {
    ...{ target: target.name, version: "1.0.0", hub: hub.url },
    ...{ hosts: [key.fingerprint], is_for_this_host: true },
  });
  const one = await deploy(first);
  t.match(one.result, { status: "success", outcome: "deployed", version: "1.0.0" }, one.stderr + one.stdout);
  t.equal(await readFile(join(root, target.folder, "version"), "utf8"), "1.0.0");
  t.equal((await readdir(join(first, "reports"))).length, 1, "the report is on the stick already");
  t.match((await deploy(first)).result, { outcome: "unchanged" });

  await target.publish("1.1.0");
  const second = await make("second");
  t.match((await deploy(second)).result, { outcome: "deployed", version: "1.1.0", previous_version: "1.0.0" });
  const back = await sealift(folder, ["rollback", target.name, "--project-root", root]);
  t.match(back.result, { status: "success", version: "1.0.0" }, back.stderr + back.stdout);
  t.match(back.stdout, "waits here for a stick");
  t.match((await deploy(first)).result, { error: { code: "kit_older" } });

  await target.publish("1.2.0");
  const third = await make("third");
  await rm(join(second, "reports"), { recursive: true });
  t.match((await deploy(third)).result, { outcome: "deployed", version: "1.2.0", previous_version: "1.0.0" });
  const collected = await sealift(folder, [
    "kit",
    "collect",
    third,
    "--host-key-file",
    "host.key",
    "--project-root",
    root,
  ]);
  t.equal(collected.code, 0, collected.stderr + collected.stdout);
  t.match(collected.result, { known: 1 }, "that of this run lies there");
  const submit = (stick: string) =>
    sealift(folder, ["kit", "submit", stick, "--hub-url", hub.url, "--api-key-file", target.options["api_key_file"]!]);
  const submitted = await submit(third);
  t.match(submitted.result, { known: 0, refused: 0 }, submitted.stdout);
  t.ok((submitted.result["taken"] as number) >= 5, "also that of the way back, and that of the older kit");
  t.match((await submit(third)).result, { taken: 0, refused: 0 }, "each once");
  const host = (await hub.call("GET", `/app/deploy/v1/projects/${target.slug}/hosts/pier-7`)).body;
  t.match(host, { running_version: "1.2.0", status: "success", by_kit: { kit: /^kit_/ } });
  t.equal(host["seen_at"], undefined);
  const { items } = (await hub.call("GET", `/devkeys/projects/${target.slug}/kits`)).body as { items: object[] };
  t.equal(items.length, 3);
});

t.test("a policy is met by what the kit says of the version", async (t) => {
  const { folder, target, make, deploy, hubKey } = await offlineSite(t);
  await target.publish("1.0.0");
  const published = Date.now();
  const kit = await make("kit");
  await writeFile(join(folder, "policy.yaml"), `min_age: 1d\nhub_keys: [${await hubKey()}]\n`);
  t.match((await deploy(kit, ["--policy", "policy.yaml"])).result, { error: { code: "policy_refused" } });
  await writeFile(join(folder, "policy.yaml"), `min_age: 1s\nhub_keys: [${await hubKey()}]\n`);
  await until(() => Date.now() > published + 1100);
  t.match((await deploy(kit, ["--policy", "policy.yaml"])).result, { outcome: "deployed" });
});

t.test("a dry run looks at a kit, and accepts nothing", async (t) => {
  const { root, target, make, deploy } = await offlineSite(t);
  await target.publish("1.0.0");
  const kit = await make("kit");
  const tried = await deploy(kit, ["--dry-run"]);
  t.equal(tried.code, 0, tried.stderr + tried.stdout);
  await t.rejects(readFile(join(root, ".sealift/state", `project-${target.slug}.kit.json`)), { code: "ENOENT" });
  t.strictSame((await readdir(kit)).toSorted(), ["artifact.bin", "kit.json"]);
});

t.test("a plugin comes on a stick, with its author's HMAC", async (t) => {
  const { hub, folder, target, root, make, deploy, copy, kitText, writeKit } = await offlineSite(t, "plugin");
  await target.publish("1.0.0");
  const kit = await make("first");
  t.notMatch(
    await readFile(join(kit, "artifact.bin")).then((bytes) => bytes.toString("latin1")),
    /plugin\.yaml|PK\x03\x04/,
  );
  const text = await kitText(kit);
  const other = await copy(kit, "other-digest");
  await writeKit(other, { ...text, archive: { ...(text["archive"] as object), sha256: "ab".repeat(32) } });
  t.match((await deploy(other)).result, { error: { code: "kit_changed" } }, "a watch knows the version by it");
  await rm(other, { recursive: true });
  const done = await deploy(kit);
  t.match(done.result, { outcome: "deployed", version: "1.0.0" }, done.stderr + done.stdout);
  t.equal(await readFile(join(root, target.folder, "version"), "utf8"), "1.0.0");
  t.match(await sealift(folder, ["kit", "submit", kit, "--hub-url", hub.url, "--api-key-file", "api.key"]), {
    // Also that of the kit that was changed, which waited for one that the host could open.
    result: { taken: 2, known: 0, refused: 0 },
  });
  t.match((await hub.call("GET", `/app/deployments/deployments/plugin/tides/hosts/pier-7`)).body, {
    running_version: "1.0.0",
  });
  await writeFile(join(folder, target.options["signing_secret_file"]!), "another secret of the developer\n");
  await target.publish("1.1.0");
  t.match((await deploy(await make("second"))).result, {
    error: { code: "kit_changed", message: /\(signature_invalid\)\.$/ },
  });
});

t.test("the kit of a plugin is for hosts of a project, and ends with them", async (t) => {
  const { hub, folder, target, make, made, deploy } = await offlineSite(t, "plugin");
  await target.publish("1.0.0");
  const at = ["--hub-url", hub.url, "--api-key-file", "api.key"];
  await hub.call("POST", "/devkeys/projects", { json: { name: "Shop", kind: "project" } });
  await made("loose");
  const kit = await make("kit", ["--project", "Shop"]);
  t.match((await deploy(kit)).result, { outcome: "deployed" });
  const listed = await sealift(folder, ["kit", "list", "Shop", "--live", "--host", "pier-7", ...at]);
  const [first, ...others] = listed.events.filter(({ event }) => event === "kit");
  t.match(first, { target: "plugin:tides", hosts_project_id: /^prj_/, hosts: [{ host_id: "pier-7" }] });
  t.strictSame(others, [], "not the one without a project");
  const removed = await sealift(folder, ["host", "remove", "Shop", "pier-7", ...at]);
  t.match(removed.result, { kits: [first!["id"]] });
  const submitted = await sealift(folder, ["kit", "submit", kit, ...at]);
  t.match(submitted.result, { taken: 0, refused: 1 });
  t.match(submitted.stdout, "host_removed");
});

t.test("a credential that authorizes nothing is refused before anything is fetched", async (t) => {
  const { hub, folder, target, made } = await offlineSite(t);
  await target.publish("1.0.0");
  await writeFile(join(folder, "wrong"), "sdc_somebody-elses\n");
  const asked: string[] = [];
  hub.hub.app.server.on("request", ({ url = "" }) => asked.push(url));
  const refused = await made("kit", ["--deployment-credential-file", "wrong"]);
  t.match(refused.result, { error: { code: "forbidden" } }, refused.stdout);
  t.notOk(
    asked.some((url) => url.includes("/downloads/")),
    asked.join(" "),
  );
  t.strictSame(await readdir(join(folder, "kit")), []);
});

t.test("what people type wrongly is answered with what they need", async (t) => {
  const { hub, folder, target, other, key, make, deploy } = await offlineSite(t);
  await target.publish("1.0.0");
  const kit = await make("stick/kit");
  t.match((await deploy(join(folder, "stick"))).result, {
    error: { code: "kit_unreadable", hint: new RegExp(`Name the folder of one kit, such as ${kit}\\.`) },
  });
  t.match((await deploy(folder)).result, { error: { code: "kit_unreadable", hint: /Is the stick there/ } });
  const at = ["--hub-url", hub.url, "--api-key", hub.adminKey];
  const words = ["kit", "make", target.name, "--out", "other", "--host", `pier-7=${hostLine(key)}`, ...at];
  const credential = ["--deployment-credential-file", target.options["deployment_credential_file"]!];
  const collect = ["kit", "collect", "stick/kit", "--host-key-file", "host.key", "--project-root", "nowhere"];
  await rename(join(kit, "artifact.bin"), join(kit, "kept.bin"));
  t.match((await deploy(kit)).result, { error: { code: "kit_unreadable", message: /has no artifact\.bin/ } });
  await rename(join(kit, "kept.bin"), join(kit, "artifact.bin"));
  const submit = async (path: string) => (await sealift(folder, ["kit", "submit", path, ...at])).result;
  t.match(await submit("stick"), { error: { code: "kit_unreadable", hint: new RegExp(`such as ${kit}\\.`) } });
  t.match(await submit(kit), { error: { code: "kit_unreadable", message: /no host has reported/ } });
  await mkdir(join(kit, "reports"));
  t.match(await submit(join(kit, "reports")), { error: { hint: new RegExp(`such as ${kit}\\.`) } });
  const noRoll = await sealift(folder, [...words, ...credential, "--roll", "fleet.lokc"]);
  t.match(noRoll.result, {
    error: { code: "config_invalid", message: /fleet\.lokc cannot be read: there is no such/ },
  });
  const twice = await sealift(folder, [...words, ...credential, "--host", `buoy-2=${hostLine(key)}`]);
  t.match(twice.result, { error: { message: /has one key for pier-7 and buoy-2/ } });
  const name = await sealift(folder, [
    ...words,
    ...credential,
    "--host",
    `Pier-7=${hostLine(hostKeyOf(newHostSeed()))}`,
  ]);
  t.match(name.result, { error: { message: /names pier-7 twice \(Pier-7\)/ } });
  const cases: [words: string[], message: RegExp][] = [
    [words, /--deployment-credential-file/],
    [[...words, ...credential, "--project", other.slug], /is for hosts of that project/],
    [[...words, ...credential, "--expires", "10s"], /--expires must be 1m or longer/],
    [[...words, ...credential, "--expires", "400d"], /--expires must be 366d at most, not "400d"/],
    [[...words, ...credential, "--out", "host.key"], /cannot be made: something else stands in its place/],
    [collect, /nowhere is no project root of this host/],
  ];
  for (const [typed, message] of cases)
    t.match((await sealift(folder, typed)).result, { error: { code: "usage", message } });
});
