// Only in test:all: each of its archives is published, and refused by a host, 10 s of a processor.
/**
 * YAML and JSON of a signed archive that ended the agent: 4 GiB of memory, or 40 s without a turn of the event loop.
 */
import t from "tap";
import { planText, projectTar } from "../../support/forged/artifact.ts";
import { forgedZip } from "../../support/forged/zip.ts";
import { attackedHost } from "../../support/host/attacked-host.ts";
import { marketplaceHost } from "../../support/host/marketplace-host.ts";

/** One for all tests: each refusal is checked to leave it as it was. */
const host = await attackedHost(t);

const keys = (count: number): string => Array.from({ length: count }, (_, index) => `k${index}: 1`).join("\n");

const PLANS: Record<string, (projectId: string) => string> = {
  "five megabytes of brackets": () => "[".repeat(5_000_000),
  "ten thousand brackets": () => "[".repeat(10_000),
  "eighty thousand keys": () => keys(80_000),
  "sixty thousand unknown tags": () => Array.from({ length: 60_000 }, (_, index) => `- !t${index} 1`).join("\n"),
  "lists that begin behind each other": () => "- ".repeat(5_000),
  "keys that are keys": () => "? ".repeat(40),
  "a list that holds itself": () => "a: &a [*a]",
  "aliases that grow": () =>
    [
      "a: &a [x, x, x, x, x, x, x, x]",
      ...["b", "c", "d", "e", "f", "g"].map((name, index) => {
        const before = String.fromCharCode(97 + index);
        return `${name}: &${name} [${`*${before}, `.repeat(7)}*${before}]`;
      }),
    ].join("\n"),
  "a key that stands there twice": (id) => `${planText(id, "  - { id: a, action: prepare }\n")}version: 2.0.0\n`,
};

t.test("a plan that is too much for a parser is refused in a moment", async (t) => {
  for (const [what, text] of Object.entries(PLANS)) {
    await t.test(what, async (t) => {
      const files = { "deployment/install.yaml": text(host.describe("1.0.0").projectId) };
      await host.refusesProject(t, { files }, { code: "plan_invalid" });
    });
  }
});

t.test("a manifest that is too much for a parser is refused in a moment", async (t) => {
  for (const text of ["[".repeat(20_000_000), "[".repeat(1_000_000), `[${"[],".repeat(300_000)}[]]`])
    await host.refusesProject(t, { manifest: () => text }, { code: "manifest_invalid" });
});

t.test("a descriptor that is too much for a parser is refused in a moment", async (t) => {
  const host = await marketplaceHost(t);
  for (const content of ["[".repeat(5_000_000), keys(80_000), "? ".repeat(40), "a: &a [*a]"]) {
    const bytes = forgedZip([{ name: "plugin.yaml", content, method: 8 }]);
    await host.refusesZip(t, bytes, "descriptor_invalid");
  }
});

t.test("an error text is short, however many faults there are", async (t) => {
  const version = host.nextVersion();
  const files = { "deployment/install.yaml": "x: [}\n".repeat(5_000) };
  await host.publish(version, host.seal(projectTar(host.describe(version, { files }))));
  const { error } = await host.deploy(version);
  t.equal(error?.code, "plan_invalid");
  t.ok(error!.message.length < 8_000, `${error!.message.length} characters`);
  t.match(error!.message, /and \d+ more/);
});
