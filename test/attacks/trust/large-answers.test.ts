// Holds: which version of a trust root a host takes (lib/agent/sources/trust-root.ts, lib/artifact/trust/root.ts)
/** Megabytes, pages and nonsense in the place of a root. */
import t from "tap";
import { heldKey } from "../../support/forged/roots.ts";
import { followingHost, rootedProject } from "../../support/host/root-host.ts";

t.test("what is not a root is refused, however long it is", async (t) => {
  const signer = heldKey();
  const project = await rootedProject(t, signer);
  const { chain } = project;
  const one = await followingHost(project, signer);
  const next = chain.version(2, [signer]);
  await one.refuses(t, "<!doctype html><title>Sign in</title>", "trust_root_invalid", "a page");
  await one.refuses(t, "", "trust_root_invalid", "nothing");
  await one.refuses(t, Buffer.from([0xff, 0xfe, 0x00]), "trust_root_invalid", "bytes that are no text");
  await one.refuses(t, `${next}${next}`, "trust_root_invalid", "two documents");
  await one.refuses(t, next.slice(0, -2), "trust_root_invalid", "a document that is cut off");
  const large = 8 * 1024 * 1024;
  for (const [what, text] of [
    ["spaces", next.padEnd(large)],
    ["digits", "1".repeat(large)],
    ["brackets", "[".repeat(large)],
  ] as const)
    await one.refuses(t, text, "trust_root_invalid", `megabytes of ${what}`);
  let sent = 0;
  await one.refuses(
    t,
    (response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const more = (): void => {
        if (response.destroyed) return;
        response.write(Buffer.alloc(64 * 1024, 0x20), () => setImmediate(more));
        sent += 64 * 1024;
      };
      more();
    },
    "trust_root_invalid",
    "an answer without end",
  );
  t.ok(sent < 64 * 1024 * 1024, `${sent} bytes were read`);
});
