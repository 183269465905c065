import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import t, { type Test } from "tap";
import { open } from "yauzl-promise";
import { packPlugin } from "../../../../lib/runtime/authoring/pack.ts";
import { scaffoldPlugin } from "../../../../lib/runtime/authoring/scaffold.ts";

async function scaffold(t: Test): Promise<{ folder: string; zip: string }> {
  const folder = join(t.testdir({}), "greeter");
  await scaffoldPlugin({ name: "greeter", folder, language: "typescript", mode: "sandboxed" });
  return { folder, zip: join(folder, "..", "greeter.zip") };
}

async function namesIn(zip: string): Promise<string[]> {
  const archive = await open(zip);
  const entries = await Array.fromAsync(archive);
  await archive.close();
  return entries.map(({ filename }) => filename);
}

t.test("a plugin is packed under its name, without its data, secrets and what is installed", async (t) => {
  const { folder, zip } = await scaffold(t);
  for (const path of ["data", "node_modules/x"]) mkdirSync(join(folder, path), { recursive: true });
  for (const path of ["data/state", "node_modules/x/index.js", ".env", "signer.key"])
    writeFileSync(join(folder, path), "x");
  const packed = await packPlugin({ folder, output: zip });
  t.match(packed, {
    name: "greeter",
    version: "0.1.0",
    file: zip,
    leftOut: [
      { path: ".env", pattern: ".env" },
      { path: ".sealift", pattern: ".sealift" },
      { path: "data", pattern: "data of this machine" },
      { path: "node_modules", pattern: "node_modules" },
      { path: "signer.key", pattern: "*.key" },
    ],
  });
  t.ok((await namesIn(zip)).includes("greeter/src/main.ts"));
  t.notOk((await namesIn(zip)).some((name) => /data|node_modules|\.env|\.key/.test(name)));
  await packPlugin({ folder, output: zip, include: ["node_modules"] });
  t.ok((await namesIn(zip)).includes("greeter/node_modules/x/index.js"));
});

/** A plugin that imports a package, which needs another one, and is built with a third. */
async function withPackages(t: Test) {
  const { folder, zip } = await scaffold(t);
  const install = (path: string, content: object, code = "") => {
    mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, path, "package.json"), JSON.stringify(content));
    writeFileSync(join(folder, path, "index.js"), code);
  };
  install("node_modules/tide", { version: "1.2.0", license: "MIT", type: "module" }, 'export { default } from "moon";');
  install("node_modules/tide/node_modules/moon", { version: "2.0.0", license: { type: "ISC" } }, "module.exports = 5;");
  install("node_modules/bare", { version: "1.0.0" });
  install("node_modules/tool", { version: "3.0.0", license: "MIT" });
  mkdirSync(join(folder, "node_modules/.bin"));
  symlinkSync("../tool/index.js", join(folder, "node_modules/.bin/tool"));
  const packages: Record<string, object> = {
    "": { dependencies: { tide: "^1.0.0" }, devDependencies: { tool: "*" } },
    "node_modules/tide": { version: "1.2.0", license: "MIT" },
    "node_modules/tide/node_modules/moon": { version: "2.0.0" },
    "node_modules/bare": { version: "1.0.0" },
    "node_modules/tool": { version: "3.0.0", dev: true },
    "node_modules/for-another-system": { version: "1.0.0", optional: true },
  };
  const writeLock = () =>
    writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ lockfileVersion: 3, packages }));
  writeLock();
  writeFileSync(join(folder, "package.json"), JSON.stringify({ dependencies: { tide: "^1.0.0", zod: "^4.0.0" } }));
  const entry = join(folder, "src/main.ts");
  writeFileSync(entry, `import tide from "tide";\n${readFileSync(entry, "utf8")}`);
  return { folder, zip, packages, writeLock };
}

t.test("packages that the code imports are packed by the lock file, without those for development", async (t) => {
  const { folder, zip } = await withPackages(t);
  t.same((await packPlugin({ folder, output: zip })).missingDependencies, ["tide"]);
  const packed = await packPlugin({ folder, output: zip, withDependencies: true });
  t.same(packed.missingDependencies, []);
  t.notOk(packed.leftOut.some(({ path }) => path === "node_modules"));
  const brought = (await namesIn(zip)).filter((name) => /node_modules|LICENCES/.test(name));
  t.same(brought, [
    "greeter/node_modules/bare/index.js",
    "greeter/node_modules/bare/package.json",
    "greeter/node_modules/tide/index.js",
    "greeter/node_modules/tide/node_modules/moon/index.js",
    "greeter/node_modules/tide/node_modules/moon/package.json",
    "greeter/node_modules/tide/package.json",
    "greeter/THIRD-PARTY-LICENCES.txt",
  ]);
  const archive = await open(zip);
  for await (const entry of archive)
    if (entry.filename.endsWith(".txt"))
      t.match(
        await text(await entry.openReadStream()),
        /bare 1\.0\.0: not named .*\ntide 1\.2\.0: MIT .*\nmoon 2\.0\.0: ISC /,
      );
  await archive.close();
});

t.test("a bundle, which imports no package, is packed without a word beside its sources", async (t) => {
  const { folder, zip } = await withPackages(t);
  mkdirSync(join(folder, "dist"));
  writeFileSync(join(folder, "dist/main.js"), "export default {};");
  const descriptor = join(folder, "plugin.yaml");
  writeFileSync(descriptor, readFileSync(descriptor, "utf8").replace("src/main.ts", "dist/main.js"));
  t.same((await packPlugin({ folder, output: zip })).missingDependencies, []);
  writeFileSync(join(folder, "dist/main.js"), 'export { default } from "../src/main.js";');
  t.same((await packPlugin({ folder, output: zip })).missingDependencies, ["tide"], "of a file that it imports");
});

t.test("no archive of a plugin holds an earlier one, whatever its name; other archives are packed", async (t) => {
  const { folder } = await scaffold(t);
  mkdirSync(join(folder, "out"));
  const inFolder = (name: string): string => join(folder, name);
  for (const output of ["greeter-0.1.0.zip", "out/first.zip"].map(inFolder)) await packPlugin({ folder, output });
  writeFileSync(inFolder("fonts.zip"), "PK\x03\x04 and something else");
  const packed = await packPlugin({ folder, output: inFolder("greeter-0.2.0.zip") });
  t.match(packed.leftOut, [
    { path: ".sealift" },
    { path: "greeter-0.1.0.zip", pattern: "archive of the plugin" },
    { path: "out/first.zip", pattern: "archive of the plugin" },
  ]);
  t.same(
    (await namesIn(packed.file)).filter((name) => name.endsWith(".zip")),
    ["greeter/fonts.zip"],
  );
});

t.test("a folder without a descriptor gets advice by what it holds", async (t) => {
  const hintOf = (files: object) =>
    packPlugin({ folder: t.testdir(files as Record<string, string>) }).then(
      () => t.fail("it was packed"),
      (error: unknown) => (error as { hint?: string }).hint,
    );
  t.match(await hintOf({ "package.json": "{}" }), /npm package.*plugin\.yaml with name/);
  t.match(await hintOf({ plugins: { tide: { "plugin.yaml": "" } } }), /project: name one .*plugins\/tide/);
  t.match(await hintOf({ deployment: { "install.yaml": "" } }), /sealift project publish/);
  t.match(await hintOf({}), /sealift plugin init/);
});

t.test("packages that are not those of the lock file are not packed", async (t) => {
  const { folder, zip, packages, writeLock } = await withPackages(t);
  const pack = () => packPlugin({ folder, output: zip, withDependencies: true });
  Object.assign(packages, {
    "node_modules/tide": { version: "1.3.0" },
    "node_modules/gone": { version: "1.0.0" },
    "node_modules/linked": { link: true },
  });
  writeLock();
  await t.rejects(pack(), { code: "usage", faults: { length: 3 } });
  writeFileSync(join(folder, "package-lock.json"), '{ "packages": 5 }');
  await t.rejects(pack(), { code: "usage", message: /is not what npm writes: lockfileVersion: .*; packages: / });
  rmSync(join(folder, "package-lock.json"));
  await t.rejects(pack(), { code: "usage", hint: /npm install/ });
});

t.test("the same files make the same archive", async (t) => {
  const { folder, zip } = await scaffold(t);
  const { sizeBytes } = await packPlugin({ folder, output: zip });
  const first = readFileSync(zip);
  t.equal(first.length, sizeBytes);
  await packPlugin({ folder, output: zip });
  t.same(readFileSync(zip), first);
});

t.test("a plugin that agents or runtimes would refuse is not packed", async (t) => {
  const { folder, zip } = await scaffold(t);
  const descriptor = readFileSync(join(folder, "plugin.yaml"), "utf8");
  writeFileSync(join(folder, "plugin.yaml"), descriptor.replace("src/main.ts", "src/absent.ts"));
  await t.rejects(packPlugin({ folder, output: zip }), { code: "usage", message: /src\/absent\.ts .* does not exist/ });
  writeFileSync(join(folder, "plugin.yaml"), `${descriptor}permisions: []\n`);
  await t.rejects(packPlugin({ folder, output: zip }), { code: "usage", message: /did you mean permissions/ });
  writeFileSync(join(folder, "plugin.yaml"), descriptor);
  symlinkSync("/etc/passwd", join(folder, "src/link"));
  await t.rejects(packPlugin({ folder, output: zip }), { code: "source_link" });
});
