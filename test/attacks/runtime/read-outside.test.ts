import { writeFileSync } from "node:fs";
import { allRefused, inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";

inEachSetting("a sandboxed plugin reads nothing outside of its folder", async (t, setting) => {
  const host = await startAttacker(t, {
    setting,
    files: { secret: "secret", "secret.json": '{"secret":1}', "secret.mjs": "export default 1" },
  });
  const parameters = { secret: host.path("secret"), sibling: host.path("plugins/victim/src/main.mjs") };
  await allRefused(
    t,
    host,
    {
      readFile: `return (await load("node:fs")).readFileSync(parameters.secret, "utf8")`,
      promises: `return (await load("node:fs/promises")).readFile(parameters.secret, "utf8")`,
      sibling: `return (await load("node:fs")).readFileSync(parameters.sibling, "utf8")`,
      "with dots": `return (await load("node:fs")).readFileSync(context.dataDir + "/../../../secret", "utf8")`,
      "as a Buffer": `return (await load("node:fs")).readFileSync(Buffer.from(parameters.secret), "utf8")`,
      "as a URL": `return (await load("node:fs")).readFileSync(new URL("file://" + parameters.secret), "utf8")`,
      stream: `const { createReadStream } = await load("node:fs"); let text = ""; for await (const part of createReadStream(parameters.secret)) text += part; return text`,
      open: `return (await load("node:fs")).openSync(parameters.secret)`,
      list: `return (await load("node:fs")).readdirSync("/")`,
      stat: `return (await load("node:fs")).statSync(parameters.secret).size`,
      copy: `return (await load("node:fs")).copyFileSync(parameters.secret, context.dataDir + "/copy")`,
      blob: `return (await (await load("node:fs")).openAsBlob(parameters.secret)).text()`,
      watch: `return (await load("node:fs")).watch(parameters.secret) && 1`,
      import: `return (await load(parameters.secret + ".mjs")).default`,
      require: `return (await load("node:module")).createRequire(parameters.secret)("./secret.json")`,
      loadEnvFile: `return process.loadEnvFile(parameters.secret)`,
      sqlite: `const { DatabaseSync } = await load("node:sqlite"); return new DatabaseSync(parameters.secret).prepare("select 1").get()`,
      "process.binding": `return Object.keys(process.binding("fs")).length`,
      passwd: `return (await load("node:fs")).readFileSync("/etc/passwd", "utf8")`,
      memory: `return (await load("node:fs")).readFileSync("/proc/self/maps", "utf8")`,
    },
    parameters,
    // The root is the sandbox's own, and so are its bindings and its memory.
    setting === "wall" ? ["list", "process.binding", "memory"] : [],
  );
  writeFileSync(host.path("plugins/evil/own"), "own");
  t.match(
    await host.attack(`return (await load("node:fs")).readFileSync(parameters.own, "utf8")`, {
      own: host.path("plugins/evil/own"),
    }),
    { done: "own" },
  );
});
