// Only in test:all: what users install is built and installed.
import { execFileSync, spawnSync } from "node:child_process";
import { globSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { answerUnder } from "../support/host/served-root.ts";
import { World } from "../support/host/world.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MAX_BYTES = 4_000_000;

// Outside of the checkout, so that nothing in its node_modules can be found.
const home = temporaryFolder(t);
execFileSync(process.execPath, ["scripts/build/pack.ts", home], { cwd: ROOT, stdio: "ignore" });
const [tarball = ""] = globSync(join(home, "sealift-*.tgz"));
writeFileSync(join(home, "package.json"), '{ "private": true, "type": "module" }');
const install = ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", tarball];
execFileSync("npm", install, { cwd: home, stdio: "ignore" });
const installed = join(home, "node_modules/sealift");

/** Runs an installed program on this Node, with nothing of the checkout in its environment. */
function run(program: string, args: readonly string[], env: Record<string, string> = {}) {
  return spawnSync(process.execPath, [join(home, "node_modules/.bin", program), ...args], {
    cwd: home,
    encoding: "utf8",
    env: { PATH: "/usr/bin:/bin", HOME: home, ...env },
  });
}

function tsc(folder: string) {
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  return spawnSync(process.execPath, [compiler, "-p", "."], { cwd: folder, encoding: "utf8" });
}

t.test("npm installs one small package without dependencies, with the licences of what it contains", async (t) => {
  t.ok(statSync(tarball).size <= MAX_BYTES, `${statSync(tarball).size} bytes`);
  t.same(
    readdirSync(join(home, "node_modules")).filter((name) => !name.startsWith(".")),
    ["sealift"],
  );
  const { dependencies, bin } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
    dependencies?: object;
    bin: Record<string, string>;
  };
  t.equal(dependencies, undefined);
  t.match(readFileSync(join(installed, "dist/THIRD-PARTY-LICENCES.txt"), "utf8"), /^got \d/m);
  for (const program of Object.keys(bin)) {
    const { status, stdout, stderr } = run(program, ["--help"]);
    t.equal(status, 0, `${program}: ${stderr}`);
    t.match(stdout, program);
  }
});

t.test("the installed package passes its self-check", (t) => {
  const { status, stdout, stderr } = run("sealift", ["self-check"]);
  t.equal(status, 0, stdout + stderr);
  t.end();
});

t.test("the installed package runs an application", async (t) => {
  t.match(await answerUnder(t, [process.execPath, join(home, "node_modules/.bin/sealift")]), /^\d+$/);
});

t.test("installed programs publish a project and deploy it, from compiled code alone", async (t) => {
  await using world = await World.make();
  const root = world.path("host");
  const traced = { NODE_DEBUG_NATIVE: "COMPILE_CACHE" };
  const bring = async (version: string) => {
    await world.setVersion(version);
    const published = run("deploy-publish", world.publishArgs(version), { ...world.admin, ...traced });
    t.equal(published.status, 0, published.stderr);
    const deployed = run("deploy-project", world.deployArgs(root), { ...world.hostSecrets(), ...traced });
    t.equal(deployed.status, 0, deployed.stderr);
    t.match(deployed.stderr + deployed.stdout, `Switched to ${version}`);
    return { published, deployed };
  };
  // The first starts compile; the second version is the first with a delta.
  for (const version of ["1.0.0", "1.1.0"]) await bring(version);
  const { published, deployed } = await bring("1.2.0");
  for (const { stderr } of [published, deployed]) {
    t.match(stderr, /lib\/chunks\/[\w-]+\.js was accepted/);
    // V8 refuses what was made under other flags, and Node would make it anew at each start.
    t.same(stderr.match(/for ESM \S+ was (?:rejected|not initialized)|no such file/g) ?? [], []);
  }
  t.match(deployed.stderr, /artifact-worker\.js was accepted/);
});

for (const mode of ["sandboxed", "trusted"]) {
  t.test(`a ${mode} plugin finds sealift/sdk and zod`, async (t) => {
    const init = run("sealift", ["plugin", "init", mode, "--mode", mode]);
    t.equal(init.status, 0, init.stderr);
    const tested = run("sealift", ["plugin", "test", mode]);
    t.equal(tested.status, 0, tested.stderr + tested.stdout);
    t.match(tested.stdout, `${mode} 0.1.0 (${mode}): healthy`);
  });
}

t.test("a new plugin compiles with nothing but the package installed, and its mistakes are found", async (t) => {
  // The trusted one has all that a sandboxed one has, and routes.
  const compiled = (): ReturnType<typeof tsc> => tsc(join(home, "trusted"));
  t.match(compiled(), { status: 0, stdout: "" });
  const main = join(home, "trusted/src/main.ts");
  const source = readFileSync(main, "utf8");
  writeFileSync(main, source.replace("z.string().min(1)", "z.number()").replace("config.greeting", "config.greting"));
  const { stdout } = compiled();
  t.match(stdout, /Argument of type .number. is not assignable/, "payloads are typed by their schema");
  t.match(stdout, /'greting' does not exist on type 'Config'/);
  writeFileSync(main, source);
});

t.test("a CommonJS plugin finds the same zod", async (t) => {
  const folder = join(home, "trusted");
  writeFileSync(
    join(folder, "plugin.yaml"),
    "name: trusted\nversion: 0.1.0\nentry_point: main.cjs\nexecution_mode: trusted\n",
  );
  writeFileSync(
    join(folder, "main.cjs"),
    `const { z } = require("zod");
     const { definePlugin, defineAction } = require("sealift/sdk");
     module.exports = definePlugin({ actions: { twice: defineAction({ payload: z.number(), handler: (n) => n * 2 }) } });`,
  );
  const call = run("sealift", ["plugin", "test", "trusted", "--call", "twice", "--payload", "21"]);
  t.equal(call.stdout, "42\n", call.stderr);
});

t.test("the types of the SDK are whole, those of Fastify's requests included", async (t) => {
  writeFileSync(
    join(home, "plugin.ts"),
    `import { definePlugin } from "sealift/sdk";
     export default definePlugin({
       actions: {},
       routes: [{ method: "GET", path: "/x", handler: (request, reply) => reply.code(request.method.length).send(request.url) }],
       // @ts-expect-error: a version is a text
       router: async (app) => { const version: number = app.version; },
     });`,
  );
  const compilerOptions = {
    module: "nodenext",
    target: "es2024",
    strict: true,
    noEmit: true,
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules/@types")],
  };
  writeFileSync(join(home, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["plugin.ts"] }));
  const { status, stdout } = tsc(home);
  t.equal(status, 0, stdout);
});
