import { writeFile } from "node:fs/promises";
import t from "tap";
import { writePluginSignature } from "../../../../lib/artifact/signatures/plugin-signature.ts";
import { actions, sandboxed, startHost, trusted } from "../../../support/runtime/host.ts";

const ECHO = actions(`echo: (payload) => payload`);

t.test(
  "strict_trusted refuses a missing, foreign or outdated plugin.sig, and files that were not signed",
  async (t) => {
    const secret = "signing-secret";
    const host = await startHost(t, {
      plugins: Object.fromEntries(
        ["good", "missing", "foreign", "outdated", "altered"]
          .map((name) => [name, trusted(name, ECHO)])
          .concat([["boxed", sandboxed("boxed", ECHO)]]),
      ) as Record<string, ReturnType<typeof trusted>>,
      configuration: { plugins: { strict_trusted: true, secret_key: secret } },
      listen: false,
    });
    const sign = (id: string, name: string, version: string, key: string) =>
      writePluginSignature(host.path("plugins", id), { name, version, entryPoint: "src/main.mjs" }, key);
    await sign("good", "good", "1.0.0", secret);
    await sign("foreign", "foreign", "1.0.0", "another secret");
    await sign("outdated", "outdated", "0.9.0", secret);
    await sign("altered", "altered", "1.0.0", secret);
    await writeFile(host.path("plugins/altered/src/added.mjs"), "1");
    host.url = await host.runtime.listen();
    t.equal((await host.call("good", "echo")).status, 200);
    t.equal((await host.call("boxed", "echo")).status, 200, "a sandboxed plugin needs none");
    const codes = {
      missing: "signature_missing",
      foreign: "signature_invalid",
      outdated: "signature_invalid",
      altered: "signature_invalid",
    };
    for (const [name, code] of Object.entries(codes)) {
      t.match(await host.status(name), { state: "error", error_code: code }, name);
    }
  },
);

t.test("strict_trusted is the default, and without a key every trusted plugin is refused", async (t) => {
  const host = await startHost(t, {
    plugins: { plug: trusted("plug", ECHO) },
    configuration: { plugins: { strict_trusted: undefined } },
  });
  t.match(await host.status("plug"), { state: "error", error_code: "signature_missing", error: /plugins\.secret_key/ });
});
