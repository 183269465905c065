import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, globSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import t from "tap";

const DIST = fileURLToPath(new URL("../../dist", import.meta.url));

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
  const chunk = globSync(join(DIST, "lib/chunks/key-files-*.js"))[0]!;
  const file = join(t.testdir({}), "program.mjs");
  writeFileSync(
    file,
    `import { launch } from ${JSON.stringify(join(DIST, "bin/launch.js"))};
     launch(async () => (await import(${JSON.stringify(chunk)})).generateSigner(undefined));`,
  );
  const { stderr, status } = spawnSync(process.execPath, [file], { encoding: "utf8", env: { PATH: process.env.PATH } });
  t.equal(status, 1);
  t.match(
    stderr,
    /error \(internal\): [^]*\n +at \S*generateSigner \(.*\/lib\/artifact\/signatures\/key-files\.ts:\d+:\d+\)/,
  );
});

t.test("compiled code is kept where only its user writes", async (t) => {
  t.notOk(existsSync(join(DIST, "cache")), "the package holds none");
  const base = t.testdir({});
  chmodSync(base, 0o700);
  const folder = join(base, "sealift", `${process.version}-${process.arch}`);
  const trace = (name: string, ...args: string[]): string =>
    spawnSync(process.execPath, [join(DIST, "bin", name), ...args], {
      encoding: "utf8",
      env: { PATH: process.env.PATH, XDG_CACHE_HOME: base, NODE_DEBUG_NATIVE: "COMPILE_CACHE" },
    }).stderr;
  const taken = (name: string): string[] =>
    trace(name, "--version").match(/lib\/chunks\/[\w-]+\.js was accepted/g) ?? [];
  // The second is one that loads plugins, whose own code is left out: test/commands/runtime-serve.test.ts.
  for (const program of ["deploy-project.js", "runtime-serve.js"]) {
    t.notOk(existsSync(folder));
    t.same(taken(program), [], "the first start compiles");
    t.equal(statSync(folder).mode & 0o777, 0o700);
    t.ok(taken(program).length > 0, "the second start takes its code");
    chmodSync(join(base, "sealift"), 0o777);
    t.same(taken(program), [], "a folder that others can write may hold code of theirs");
    rmSync(join(base, "sealift"), { recursive: true });
  }
  // Node's own recursive mkdir never ends there.
  const env = { PATH: process.env.PATH, XDG_CACHE_HOME: "/proc/none" };
  const started = spawnSync(process.execPath, [join(DIST, "bin/deploy-project.js"), "--version"], {
    ...{ env, timeout: 20_000 },
  });
  t.equal(started.status, 0, "a folder that cannot be made is done without");
});
