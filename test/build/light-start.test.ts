import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { SMALL_HEAP } from "../../bin/launch.ts";
import { ApplicationRoot } from "../support/host/application-root.ts";

/** Most modules that `app run` may load before what it runs. */
const RUN_MODULES = 48;

/** Most modules of some starts, each of which costs a third of a millisecond. */
const MOST_MODULES = { "sealift --help": 280, "deploy-project": 375, "watch --once": 546 };

/** Most files that the same starts load once they are built (scripts/build/fewer-chunks.ts). */
const MOST_FILES = { "sealift --help": 68, "deploy-project": 125, "watch --once": 170 };

/** Most schemas that some starts build, at four kilobytes each. */
const MOST_SCHEMAS = { "sealift --help": 0, "deploy-project": 300, "watch --once": 230 };

const LAUNCH = new URL("../../bin/launch.ts", import.meta.url).href;
const DIST = fileURLToPath(new URL("../../dist", import.meta.url));

/** Tells, at the end of a process, whether undici is loaded. */
const TELL = `console.log(process.moduleLoadList.some((name) => /deps\\/undici/.test(name)));`;

/** Costs of a start: URLs of the modules that it loads, and how many schemas it builds. */
interface Start {
  modules: string[];
  schemas: number;
}

/** Writes a program's start down in the file that `TRACED_START` names. zod tells of each schema that it builds. */
const TRACE = `data:text/javascript,${encodeURIComponent(`
  import { writeFileSync } from "node:fs";
  import { registerHooks } from "node:module";
  const start = { modules: [], schemas: 0 };
  globalThis.__zod_globalConfig = { postProcessor: () => void start.schemas++ };
  registerHooks({ load: (url, context, next) => (start.modules.push(url), next(url, context)) });
  process.once("exit", () => writeFileSync(process.env.TRACED_START, JSON.stringify(start)));
`)}`;

/** Whether undici is loaded after a script, in a process of its own. */
async function loads(script: string): Promise<boolean> {
  const args = ["--input-type=module", "-e", script + TELL];
  return (await promisify(execFile)(process.execPath, args, { env: {} })).stdout.trim() === "true";
}

t.test("an import of node:http does not load the WebSocket client, which stays where it is", async (t) => {
  const lighten = `import { lightenHttp } from ${JSON.stringify(LAUNCH)}; lightenHttp();`;
  t.equal(await loads(`await import("node:http");`), true, "Node's own way; when this changes, lightenHttp can go");
  t.equal(await loads(`${lighten} const http = await import("node:http"); http.request.name;`), false);
  t.equal(
    await loads(`${lighten} const { default: http } = await import("node:http"); new http.CloseEvent("x");`),
    true,
  );
});

const key = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
/** Arguments of `deploy-project`, whose hub does not answer. */
const fromNowhere = (root: string): string[] => [
  ...["--project-id", "prj_0123456789abcdef", "--deployment-credential", "none", "--project-root", root],
  ...["--hub-url", "http://127.0.0.1:1", "--api-key", "none", "--signer-public-key", key],
];

t.test("programs that send requests or answer them do without it", async (t) => {
  const tell = `data:text/javascript,process.once("exit", () => { ${TELL} })`;
  for (const [program, ...args] of [
    ["deploy-project", ...fromNowhere(t.testdir({}))],
    // It has loaded everything when it finds that the address is of no interface.
    ["hub-serve", "--data-dir", t.testdir({}), "--listen", "192.0.2.1:1"],
  ]) {
    const run = promisify(execFile)(process.execPath, ["--import", tell, `${DIST}/bin/${program}.js`, ...args], {
      env: { PATH: process.env.PATH },
    });
    const { stdout, stderr, code } = (await run.catch((error: unknown) => error)) as Record<string, string | number>;
    t.match(String(stdout), /false\n$/, `${program}: ${stderr}`);
    t.not(code, undefined, `${program} ended with an error`);
  }
});

/** Runs a program to its end, however that is. */
async function traced(t: Test, program: string, words: readonly string[]): Promise<Start> {
  const file = `${t.testdir({})}/start.json`;
  const env = { PATH: process.env.PATH, TRACED_START: file };
  await promisify(execFile)(process.execPath, ["--import", TRACE, program, ...words], { env }).catch(() => undefined);
  return JSON.parse(readFileSync(file, "utf8")) as Start;
}

const startOf = (t: Test, program: string, ...words: string[]): Promise<Start> =>
  traced(t, fileURLToPath(new URL(`../../bin/${program}.ts`, import.meta.url)), words);

const modulesOf = async (t: Test, program: string, ...words: string[]): Promise<string[]> =>
  (await startOf(t, program, ...words)).modules;

t.test("the registry of all commands loads no schema, client or dashboard, a person's `--help` neither", async (t) => {
  const modules = await modulesOf(t, "sealift", "--help");
  t.ok(modules.some((url) => url.endsWith("/commands/shell/registry.ts")));
  t.same(
    modules.filter((url) => /\/node_modules\/(?:zod|string-width)\/|\/lib\/client\/http\.ts/.test(url)),
    [],
  );
});

t.test("a deployment without applications loads neither their schemas nor a reader of YAML", async (t) => {
  const modules = await modulesOf(t, "deploy-project", ...fromNowhere(t.testdir({})));
  t.ok(modules.some((url) => url.endsWith("/lib/agent/deployment/deploy.ts")));
  t.same(
    modules.filter((url) => /\/node_modules\/yaml\/|\/semver\/ranges\/|\/contract\/files\/applications?\.ts/.test(url)),
    [],
  );
});

t.test(
  "each start loads no more modules and builds no more schemas than it did, a watch no dashboard or other client",
  async (t) => {
    const words = fromNowhere(t.testdir({}));
    const watched = [`project:${words[1]}`, ...words.slice(2), "--once"];
    const starts: Record<keyof typeof MOST_MODULES, Start> = {
      "sealift --help": await startOf(t, "sealift", "--help"),
      "deploy-project": await startOf(t, "deploy-project", ...words),
      "watch --once": await startOf(t, "watch", ...watched),
    };
    for (const [start, { modules, schemas }] of Object.entries(starts)) {
      const name = start as keyof typeof MOST_MODULES;
      for (const [what, count, most] of [
        ["modules", modules.filter((url) => url.startsWith("file:")).length, MOST_MODULES[name]],
        ["schemas", schemas, MOST_SCHEMAS[name]],
      ] as const) {
        t.ok(count <= most, `${start}: ${count} ${what}, at most ${most}`);
        t.ok(count >= 0.8 * most, `${start}: ${count} ${what}; write the lower limit here`);
      }
    }
    const { modules } = starts["watch --once"];
    t.ok(modules.some((url) => url.endsWith("/lib/agent/watch/target-loop.ts")));
    t.same(
      modules.filter((url) =>
        /\/node_modules\/(?:ink|react|got|stream-json|fastify)\/|\/lib\/(?:tui|artifact\/delta)\//.test(url),
      ),
      [],
    );
  },
);

t.test("what is built loads few files, and nothing for the sake of that", async (t) => {
  const words = fromNowhere(t.testdir({}));
  const watched = [`project:${words[1]}`, ...words.slice(2), "--once"];
  for (const [start, program, args] of [
    ["sealift --help", "sealift", ["--help"]],
    ["deploy-project", "deploy-project", words],
    ["watch --once", "watch", watched],
  ] as const) {
    const files = async (file: string) => (await traced(t, file, args)).modules;
    const [built, sources] = await Promise.all([
      files(join(DIST, `bin/${program}.js`)),
      files(fileURLToPath(new URL(`../../bin/${program}.ts`, import.meta.url))),
    ]);
    const count = built.filter((url) => url.startsWith("file:")).length;
    t.ok(count <= MOST_FILES[start], `${start}: ${count} files, at most ${MOST_FILES[start]}`);
    const ofNode = (urls: readonly string[]): Set<string> => new Set(urls.filter((url) => url.startsWith("node:")));
    t.same([...ofNode(built).difference(ofNode(sources))], [], `${start}: modules of Node`);
  }
});

t.test("`app run` loads little before the program that it runs, and says the same in every form", async (t) => {
  const root = await ApplicationRoot.make(t);
  await root.install("web", { app: { environment: { values: { LEVEL: "low" } } }, files: { "server.js": "" } });
  await root.grant({ web: {} });
  mkdirSync(join(root.layout.sealift, "apps"), { mode: 0o700, recursive: true });
  const words = ["app", "run", "web", "--project-root", root.layout.root, "--", "sh", "-c", "echo $LEVEL; exit 3"];
  await modulesOf(t, "sealift", ...words);
  const modules = (await modulesOf(t, "sealift", ...words)).filter((url) => url.startsWith("file:"));
  t.ok(modules.some((url) => url.endsWith("/lib/apps/run.ts")));
  t.same(
    modules.filter((url) => /\/node_modules\/|\/commands\/shell\/|\/lib\/options\/|application\.ts/.test(url)),
    [],
    "no schema, reader of YAML or other command",
  );
  t.ok(modules.length <= RUN_MODULES, `${modules.length} modules: each costs a third of a millisecond`);
  const source = fileURLToPath(new URL("../../bin/sealift.ts", import.meta.url));
  const forms: [string[], object][] = [
    [words, {}],
    [words, { SEALIFT_VERBOSE: "1" }],
    [words.with(3, `--project-root=${root.layout.root}`).toSpliced(4, 1), {}],
    [words.toSpliced(3, 2), { SEALIFT_PROJECT_ROOT: root.layout.root }],
  ];
  for (const [line, env] of forms) {
    const run = promisify(execFile)(process.execPath, [source, ...line], { env: { PATH: process.env.PATH, ...env } });
    t.match(await run.catch((error: unknown) => error), { code: 3, stdout: "low\n" }, line.join(" "));
  }
});

t.test("a program starts with its flags of Node, and tells its help without starting twice", async (t) => {
  const folder = t.testdir({
    "program.mjs": `
      import { launch, SMALL_HEAP } from ${JSON.stringify(LAUNCH)};
      launch(async () => { console.log(process.execArgv.join(), process.env.MALLOC_ARENA_MAX); return 0; }, SMALL_HEAP);`,
  });
  const toldBy = async (words: string[], env = {}): Promise<string> =>
    (await promisify(execFile)(process.execPath, [`${folder}/program.mjs`, ...words], { env })).stdout.trim();
  const flags = SMALL_HEAP.nodeFlags.join();
  t.equal(await toldBy(["--port", "1"]), `${flags} 1`);
  t.equal(await toldBy(["--port", "1"], { MALLOC_ARENA_MAX: "4" }), `${flags} 4`);
  t.equal(await toldBy(["--help"]), "undefined");
  const [first, ...others] = SMALL_HEAP.nodeFlags;
  t.equal(await toldBy([], { NODE_OPTIONS: first }), `${others.join()} 1`, "it adds what the environment lacks");
});

t.test("a program whose start nobody waits for keeps no compiled code", async (t) => {
  const program = (options: string): string =>
    `import { launch } from ${JSON.stringify(LAUNCH)}; launch(async () => 0, ${options});`;
  const folder = t.testdir({ "patient.mjs": program("{ isPatient: true }"), "other.mjs": program("{}") });
  for (const [name, kept] of [
    ["patient", []],
    ["other", ["sealift"]],
  ] as const) {
    const env = { XDG_CACHE_HOME: join(folder, `${name}-cache`) };
    mkdirSync(env.XDG_CACHE_HOME, { mode: 0o700 });
    await promisify(execFile)(process.execPath, [join(folder, `${name}.mjs`)], { env });
    t.same(readdirSync(env.XDG_CACHE_HOME), kept, name);
  }
});
