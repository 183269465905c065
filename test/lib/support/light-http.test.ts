import { execFile } from "node:child_process";
import { promisify } from "node:util";
import t from "tap";

const MODULE = new URL("../../../lib/support/light-http.ts", import.meta.url).href;

/** Whether undici is loaded after a script, in a process of its own. */
async function loads(script: string): Promise<boolean> {
  const tell = `console.log(process.moduleLoadList.some((name) => /deps\\/undici/.test(name)));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script + tell], {
    env: {},
  });
  return stdout.trim() === "true";
}

t.test("an import of node:http does not load the WebSocket client, which stays where it is", async (t) => {
  const lighten = `import { lightenHttp } from ${JSON.stringify(MODULE)}; lightenHttp();`;
  t.equal(await loads(`await import("node:http");`), true, "Node's own way; when this changes, lightenHttp can go");
  t.equal(await loads(`${lighten} const http = await import("node:http"); http.request.name;`), false);
  t.equal(
    await loads(`${lighten} const { default: http } = await import("node:http"); new http.CloseEvent("x");`),
    true,
  );
});

t.test("commands that talk to a hub do without it", async (t) => {
  const command = new URL("../../../commands/deploying/fleet.ts", import.meta.url).href;
  const client = new URL("../../../lib/client/http.ts", import.meta.url).href;
  const run = `
    import { Fleet } from ${JSON.stringify(command)};
    const fleet = new Fleet();
    fleet.context = { stdout: process.stderr, stderr: process.stderr };
    await fleet.execute();
    await import(${JSON.stringify(client)});`;
  t.equal(await loads(run), false);
});
