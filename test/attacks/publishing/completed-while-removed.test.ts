// Only in test:all: many requests for one rule, 6 s of a processor.
/** A delta or an index arrives while its version, or the base of the delta, is removed or approved. */
import t from "tap";
import { newSigner, publication, publishForm, sha256, storedFiles } from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { sendSlowly } from "../../support/hub/slow-upload.ts";
import { startStaging } from "../../support/hub/staging.ts";

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

for (const database of ["SQLite", "PostgreSQL"]) {
  t.test(`what completes a version that is gone or approved meanwhile is refused, on ${database}`, async (t) => {
    const databaseUrl = database === "SQLite" ? undefined : await startPostgres(t);
    if (database !== "SQLite" && databaseUrl === undefined) return t.plan(0, "PostgreSQL is not installed");
    const { hub, project, stager, approver, approve } = await startStaging(t, {
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
    const signer = newSigner();
    const publish = async (version: string, stage?: string, key = approver.key) => {
      const form = publishForm(publication(version, { signer }), { changes: { stage } });
      const path = `/app/deploy/v1/projects/${project}/publish`;
      t.equal((await hub.call("POST", path, { key, form })).status, 201, version);
    };
    const deltaFrom = (base: string): FormData => {
      const { dek, signature, publicKey, bytes } = publication("delta", { signer, size: 300 });
      const form = new FormData();
      form.set("base_version", base);
      form.set("base_content_sha256", sha256(`tree of ${base}`));
      form.set("dek", base64(dek));
      form.set("signature", base64(signature));
      form.set("signer_public_key", base64(publicKey));
      form.set("artifact", new Blob([new Uint8Array(bytes)]), "artifact.xdeploy");
      return form;
    };
    const index = (): FormData => {
      const form = new FormData();
      form.set("index", new Blob(["x".repeat(500)]), "index");
      return form;
    };
    const path = (version: string, what: string) => `/app/deploy/v1/projects/${project}/artifacts/${version}/${what}`;
    const remove = (version: string) => hub.call("DELETE", `/devkeys/projects/${project}/versions/${version}?reason=x`);
    const reject = (version: string) =>
      hub.call("POST", `/devkeys/staging/${project}/${version}/reject`, { json: { reason: "x" } });
    const send = (version: string, body: FormData, meanwhile: () => Promise<unknown>, key = approver.key) =>
      sendSlowly(hub, { path: path(version, body.has("index") ? "index" : "deltas"), key, body }, meanwhile);

    for (const version of ["1.0.0", "1.1.0", "2.0.0", "2.1.0", "2.2.0"]) await publish(version);
    t.equal(await send("2.1.0", deltaFrom("1.0.0"), () => remove("2.1.0")), 404, "the delta's version");
    t.equal(await send("2.2.0", index(), () => remove("2.2.0")), 404, "the index's version");
    t.equal(await send("2.0.0", deltaFrom("1.1.0"), () => remove("1.1.0")), 404, "the delta's base");
    await publish("3.0.0", "true", stager.key);
    t.equal(await send("3.0.0", deltaFrom("1.0.0"), () => reject("3.0.0"), stager.key), 404, "rejected");
    await publish("3.1.0", "true", stager.key);
    t.equal(await send("3.1.0", index(), () => reject("3.1.0"), stager.key), 404, "rejected");
    await publish("4.0.0", "true", stager.key);
    const approved = () => approve(approver.key, "4.0.0");
    t.equal(await send("4.0.0", deltaFrom("1.0.0"), approved, stager.key), 403, "approved without this delta");
    await publish("4.1.0", "true", stager.key);
    t.equal(await send("4.1.0", index(), () => approve(approver.key, "4.1.0"), stager.key), 403, "without this index");
    t.equal((await storedFiles(hub)).length, 4 + 3 + 2, "what is left: versions, and the trash");
    t.equal(await send("4.0.0", deltaFrom("1.0.0"), async () => {}), 201, "those who may publish still complete it");
    t.equal(await send("4.1.0", index(), async () => {}), 201);
  });
}
