// Holds: two names of one person have one end (lib/contract/person-names.ts)
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t from "tap";
import { isErrorBody } from "../../support/hub/harness.ts";
import { startStaging } from "../../support/hub/staging.ts";

const ANNA = "Änna by https://id.example.org";
const ALIKE = {
  "another case": "änna by HTTPS://id.example.org",
  "decomposed letters": ANNA.normalize("NFD"),
  "blanks around it": ` ${ANNA}\u00a0`,
  "two blanks within": ANNA.replace(" by", "  by"),
  "letters of another width": ANNA.replace("nna", "\uff4e\uff4e\uff41"),
};

t.test("nobody approves what they have staged under a name that reads alike", async (t) => {
  const { hub, newKey, upload, approve } = await startStaging(t);
  const stager = await newKey(["publish"], { acts_for: ANNA });
  await upload(stager.key, "1.0.0", "true");
  for (const [how, acts_for] of Object.entries(ALIKE)) {
    const { key } = await newKey(["publish"], { acts_for });
    isErrorBody(t, await approve(key, "1.0.0"), 403, "own_approval");
    t.pass(how);
  }
  // A key of 0.2.0 may have a name that is refused today.
  const old = await newKey(["publish"], { acts_for: "somebody" });
  const database = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { timeout: 10_000 });
  t.teardown(() => database.close());
  const ends = JSON.stringify([`person:${ANNA.replace("nna", "n\u200bna")}`]);
  database.prepare("update api_keys set ends = ? where id = ?").run(ends, old.id);
  isErrorBody(t, await approve(old.key, "1.0.0"), 403, "own_approval");
  const other = await newKey(["publish"], { acts_for: "Anna by https://id.example.org" });
  t.equal((await approve(other.key, "1.0.0")).status, 200, "another letter is another person");
});

t.test("a name with characters that nobody sees is refused", async (t) => {
  const { hub } = await startStaging(t);
  for (const acts_for of ["an\u200bna", "anna\u202e", "a\u0000", "\ufeffanna", "  ", ""]) {
    const json = { name: "k", scopes: ["publish"], acts_for };
    isErrorBody(t, await hub.call("POST", "/devkeys/api-keys", { json }), 422, "unprocessable");
  }
});
