import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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
    leftOut: [".env", ".sealift", "node_modules", "signer.key"],
  });
  t.ok((await namesIn(zip)).includes("greeter/src/main.ts"));
  t.notOk((await namesIn(zip)).some((name) => /data|node_modules|\.env|\.key/.test(name)));
  await packPlugin({ folder, output: zip, include: ["node_modules"] });
  t.ok((await namesIn(zip)).includes("greeter/node_modules/x/index.js"));
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
