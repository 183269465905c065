/** A trust root as large as whoever writes it likes. */
import t from "tap";
import { parseRoot } from "../../../lib/artifact/trust/root.ts";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { createProject, isErrorBody, startHub } from "../../support/hub/harness.ts";
import { isRefusedRoot } from "../../support/hub/refused-roots.ts";
import { trustAt } from "../../support/hub/trust.ts";

const LIMIT = 64 * 1024;

t.test("a document above 64 KiB is refused before it is parsed, however it is filled", async (t) => {
  const hub = await startHub(t);
  const { id } = await createProject(hub);
  const text = rootChain().version(1, [heldKey()]);
  t.ok(parseRoot(text.padEnd(LIMIT), "root"), "blanks up to the limit are nobody's harm");
  // Fewer characters than the limit, and more bytes.
  await isRefusedRoot(t, hub, id, `${text}${"\u00a0".repeat(LIMIT - text.length)}`, "two bytes for each character");
  for (const size of [LIMIT + 1, 2 * 1024 * 1024]) {
    t.throws(() => parseRoot(text.padEnd(size), "root"), { code: "trust_root_invalid" });
    isErrorBody(t, await trustAt(hub).publish(text.padEnd(size), [id]), 422, "unprocessable");
  }
  isErrorBody(t, await trustAt(hub).publish(text.padEnd(9 * 1024 * 1024), [id]), 413, "too_large");
  t.strictSame((await trustAt(hub).list()).body.items, []);
});
