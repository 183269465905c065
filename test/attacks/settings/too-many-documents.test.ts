// Holds: how much an upload may have (lib/contract/settings/records.ts)
import t from "tap";
import { MAX_BATCH, MAX_SEALED_TEXT, MAX_UPLOAD_BYTES } from "../../../lib/contract/settings/limits.ts";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { until } from "../../support/hub/project-fleet.ts";
import { withSettings } from "../../support/hub/settings.ts";

t.test("an upload has 1,000 documents at most", async (t) => {
  const hub = await startHub(t);
  const { host, upload, own } = await withSettings(hub);
  const pier = await host("pier-7");
  const one = pier.document(1, null);
  const many = Array.from({ length: MAX_BATCH + 1 }, (_, index) => ({ ...one, host_id: `pier-${index}` }));
  isErrorBody(t, await upload(many), 422, "unprocessable");
  isErrorBody(t, await own(pier.api), 404, "not_found");
});

t.test("documents that are larger than any host takes are refused, and a larger body before it is read", async (t) => {
  const hub = await startHub(t);
  const { host, upload, own } = await withSettings(hub);
  const pier = await host("pier-7");
  // A hub that shares its thread with this test may find itself overloaded.
  const answered = (documents: readonly object[]) =>
    until(
      () => upload(documents),
      (answer) => answer.status !== 503,
    );
  const refused = async (sealed: string, status: number, code: string): Promise<void> => {
    isErrorBody(t, await answered([pier.document(1, null, { sealed })]), status, code);
  };
  await refused("A".repeat(MAX_SEALED_TEXT + 4), 422, "unprocessable");
  await refused("A".repeat(MAX_UPLOAD_BYTES - 1024), 422, "unprocessable");
  await refused(`${"A".repeat(MAX_UPLOAD_BYTES - 1024)}!`, 422, "unprocessable");
  await refused("A".repeat(MAX_UPLOAD_BYTES), 413, "too_large");
  isErrorBody(t, await own(pier.api), 404, "not_found");
  const largest = "A".repeat(MAX_SEALED_TEXT);
  t.equal((await answered([pier.document(1, null, { sealed: largest })])).status, 200, "the largest that is allowed");
});
