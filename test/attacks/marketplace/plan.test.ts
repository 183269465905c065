import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import type { Code } from "../../../lib/contract/codes.ts";
import { descriptorEntry, forgedZip } from "../../support/forged/zip.ts";
import { marketplaceHost, pluginZip, SLUG } from "../../support/host/marketplace-host.ts";

const plan = (steps: string, projectId = SLUG): string =>
  `format_version: "1"\nproject_id: ${projectId}\nversion: 1.0.0\nsteps:\n${steps}`;
const install = `  - {id: install, action: install_plugin, plugin: ${SLUG}}\n`;

const PLANS: Record<string, [text: string, code?: Code]> = {
  "of another slug": [plan(install, "another")],
  "of the slug in upper case": [plan(install, SLUG.toUpperCase())],
  "that installs another plugin": [plan("  - {id: install, action: install_plugin, plugin: another}\n")],
  "that also installs another plugin": [plan(`${install}  - {id: two, action: install_plugin, plugin: another}\n`)],
  "that installs an extension": [plan(`  - {id: install, action: install_extension, extension: ${SLUG}}\n`)],
  "that provisions another plugin": [plan(`${install}  - {id: two, action: provision, plugin: another}\n`)],
  "that installs outside": [plan("  - {id: install, action: install_plugin, plugin: ../../planted}\n")],
  "with a shell step": [plan(`${install}  - {id: two, action: shell, command: touch planted}\n`)],
  "with an unknown key": [`${plan(install)}extra: 1\n`],
  "without steps": [plan("  []\n")],
  "with a cycle": [plan(`  - {id: a, action: install_plugin, plugin: ${SLUG}, depends_on: [a]}\n`)],
  "that is not YAML": ["{ not yaml"],
  "that is empty": [""],
  "that starts something without a supervisor": [plan(`${install}  - {id: go, action: start}\n`), "needs_supervisor"],
};

t.test("a bad local plan ends the run before any request but the report", async (t) => {
  const host = await marketplaceHost(t);
  const file = join(host.outside, "bad.yaml");
  await writeFile(file, "");
  for (const [what, [text, code = "config_invalid"]] of Object.entries(PLANS)) {
    await t.test(`a plan ${what}`, async (t) => {
      await writeFile(file, text);
      host.offer(pluginZip([]));
      host.hub.repent();
      const source = { installPlan: file };
      const result = await host.refuses(t, { code, kind: "UsageError", exitCode: 2 }, { source });
      t.strictSame(
        host.hub.requests.map(({ route }) => route),
        ["report"],
        "the hub saw the report only",
      );
      t.match(JSON.parse(host.hub.requests[0]!.body.toString()), {
        slug: SLUG,
        status: "failed",
        version: host.hub.release.version,
        error_message: result.error!.message,
      });
    });
  }
  await t.test("a plan that is not there", async (t) => {
    host.hub.repent();
    const source = { installPlan: join(host.outside, "missing.yaml") };
    await host.refuses(t, { code: "config_invalid", kind: "UsageError", exitCode: 2 }, { source });
    t.strictSame(
      host.hub.requests.map(({ route }) => route),
      ["report"],
    );
  });
});

t.test("a plan inside the archive is a file like others", async (t) => {
  const host = await marketplaceHost(t);
  const evil = plan("  - {id: install, action: install_plugin, plugin: another}\n", "another");
  const names = ["deployment/install.yaml", "install.yaml", "manifest.json", "provisioners.yaml"];
  const files = await host.accepts(t, pluginZip(names.map((name) => ({ name, content: evil }))));
  for (const name of names) t.match(files[name], /^file/, `${name} is installed`);
  t.notOk(existsSync(join(host.root, "plugins/another")));
  t.notOk(existsSync(join(host.root, "deployment")));
});

t.test("a plugin without a proper descriptor is refused", async (t) => {
  const host = await marketplaceHost(t);
  const name = "plugin.yaml";
  const main = { name: "src/main.js", content: "export default 2;\n" };
  const descriptors = {
    "an unknown mode": `name: ${SLUG}\nversion: 1.0.0\nexecution_mode: root\n`,
    "no name": "version: 1.0.0\n",
    "no version": `name: ${SLUG}\n`,
    "nothing in it": "",
    "no YAML": "{ not yaml",
    "a list": "- a\n",
    "an alias bomb": `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n`,
  };
  for (const [what, content] of Object.entries(descriptors)) {
    await t.test(`with ${what}`, (t) =>
      host.refusesZip(t, forgedZip([main, { name, content }]), "descriptor_invalid", "plugin.yaml"),
    );
  }
  await host.refusesZip(t, forgedZip([main]), "descriptor_invalid", "plugin.yaml");
  await host.refusesZip(t, forgedZip([main, { name: "plugin.yaml/" }]), "descriptor_invalid", "plugin.yaml");
  await host.refusesZip(t, forgedZip([main, { name: "Plugin.yaml", content: "name: a\n" }]), "descriptor_invalid");
  await t.test("or only below two top folders", (t) =>
    host.refusesZip(
      t,
      forgedZip([descriptorEntry(SLUG, "1.0.0", "one/"), { name: "two/x", content: "x" }]),
      "descriptor_invalid",
    ),
  );
});

t.test("a service needs no descriptor, and one that is not valid does not matter", async (t) => {
  const host = await marketplaceHost(t, "service");
  t.match(await host.accepts(t, forgedZip([{ name: "index.js", content: "x" }])), { "index.js": /^file/ });
  const odd = forgedZip([
    { name: "index.js", content: "x" },
    { name: "plugin.yaml", content: "execution_mode: root\n" },
  ]);
  t.match(await host.accepts(t, odd, { options: { pluginSecretKey: "key" } }), { "plugin.yaml": /^file/ });
  t.notOk(existsSync(join(host.installed, "plugin.sig")), "--plugin-secret-key has no effect");
});
