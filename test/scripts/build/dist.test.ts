import { spawnSync } from "node:child_process";
import { globSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import t from "tap";

const DIST = fileURLToPath(new URL("../../../dist", import.meta.url));

t.test("an old Node can parse what is before the check of its version", async (t) => {
  for (const file of readdirSync(join(DIST, "bin")).filter((name) => name.endsWith(".js"))) {
    const text = readFileSync(join(DIST, "bin", file), "utf8");
    const old = transformSync(text, { target: "es2020", format: "esm" }).code;
    t.equal(transformSync(text, { target: "esnext", format: "esm" }).code, old, `${file} has no newer syntax`);
    const before = [...text.matchAll(/\b(?:import|export)\b[^"();]*?\bfrom\s*"([^"]+)"/g)].map(([, from]) => from!);
    t.match(
      before.filter((from) => !from.startsWith("node:")),
      file === "launch.js" ? [] : ["./launch.js"],
    );
  }
});

t.test("a stack speaks of the sources", async (t) => {
  // In a chunk that was merged with others.
  const exported = /\bgenerateSigner as (c\d+_generateSigner)\b/;
  const chunks = globSync(join(DIST, "lib/chunks/group-*.js"));
  const chunk = chunks.find((path) => exported.test(readFileSync(path, "utf8")))!;
  const name = exported.exec(readFileSync(chunk, "utf8"))![1]!;
  const file = join(t.testdir({}), "program.mjs");
  writeFileSync(
    file,
    `import { launch } from ${JSON.stringify(join(DIST, "bin/launch.js"))};
     launch(async () => (await import(${JSON.stringify(chunk)})).${name}(undefined));`,
  );
  const { stderr, status } = spawnSync(process.execPath, [file], { encoding: "utf8", env: { PATH: process.env.PATH } });
  t.equal(status, 1);
  t.match(
    stderr,
    /error \(internal\): [^]*\n +at \S*generateSigner \(.*\/lib\/artifact\/signatures\/key-files\.ts:\d+:\d+\)/,
  );
});

t.test(
  "programs take the compiled code of the build; those that load plugins neither take nor leave any",
  async (t) => {
    const folder = join(DIST, "cache", `${process.version}-${process.arch}`);
    const before = readdirSync(folder, { recursive: true });
    const trace = (name: string, ...args: string[]) =>
      spawnSync(process.execPath, [join(DIST, "bin", name), ...args], {
        encoding: "utf8",
        env: { PATH: process.env.PATH, NODE_DEBUG_NATIVE: "COMPILE_CACHE" },
      });
    const taken = trace("deploy-project.js", "--version").stderr.match(/lib\/chunks\/[\w-]+\.js was accepted/g) ?? [];
    // Some 20 chunks, half of them merged: a file takes longer to find and link than most of them to run.
    t.ok(taken.length > 0 && taken.length < 13, taken.join("\n"));
    t.equal(trace("runtime-serve.js", "--version").stderr, "");
    t.equal(trace("sealift.js", "plugin", "test", "/nowhere").stderr.match(/compile cache/), null);
    t.same(readdirSync(folder, { recursive: true }), before);
  },
);
