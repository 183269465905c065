// Only in test:all: ten thousand cards are verified, and as many documents sealed.
// Holds: a roll of ten thousand hosts (lib/fleet/roll.ts, lib/fleet/plan.ts)
import { randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { makeCard } from "../../../lib/artifact/sealed/card.ts";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { openSettings } from "../../../lib/artifact/sealed/settings.ts";
import { MAX_BATCH } from "../../../lib/contract/settings/limits.ts";
import { DOUBLE_PROJECT } from "../../support/hub/settings-double.ts";
import { settingsFleet, termsOf } from "../../support/hub/settings-fleet.ts";

const HOSTS = 10_000;
const nameOf = (index: number): string => `pier-${String(index).padStart(5, "0")}`;

t.test("ten thousand hosts of one invite get their settings by one apply, and one change goes to one", async (t) => {
  const { seed, operator, hub, folder, write, apply } = await settingsFleet(t);
  const terms = termsOf(seed, { uses: HOSTS, labels: { env: "prod" } });
  const keys = Array.from({ length: HOSTS }, () => hostKeyOf(newHostSeed()));
  for (const [index, key] of keys.entries()) {
    const name = nameOf(index);
    const invited = { digest: terms.digest, seed: terms.secret.seed };
    hub.put(name, makeCard({ project: DOUBLE_PROJECT, name }, key, invited), terms.text);
  }
  const secret = randomBytes(12).toString("hex");
  write(`settings:\n  - match: { env: prod }\n    apps: { web: { SECRET: ${secret} } }\n`);
  const began = performance.now();
  const first = await apply("--accept-new --no-wait");
  const seconds = (performance.now() - began) / 1000;
  t.match(first, { code: 0 }, first.stderr.slice(-500));
  t.comment(`${seconds.toFixed(1)} s`);
  t.ok(seconds < 180, `${seconds} s`);
  t.equal(hub.uploads.flat().length, HOSTS);
  t.ok(hub.uploads.every((documents) => documents.length <= MAX_BATCH));
  for (const index of [0, 4_711, HOSTS - 1]) {
    const { sealed } = hub.rows.get(nameOf(index))!;
    const reader = { key: keys[index]!, project: DOUBLE_PROJECT, operators: [operator] };
    t.match(openSettings(Buffer.from(sealed!, "base64"), reader).signed.apps, { web: { SECRET: secret } });
  }
  const lock = join(folder, "fleet.lock");
  t.ok((await stat(lock)).size < HOSTS * 800, "less than 800 bytes a host");
  t.notMatch(await readFile(lock, "utf8"), secret);
  const uploads = hub.uploads.length;
  t.match(await apply("--no-wait"), { code: 0, stderr: "No host needs new settings.\n" });
  t.equal(hub.uploads.length, uploads);
  hub.rows.get(nameOf(7))!.number = null;
  t.match(await apply("--no-wait"), { code: 0 });
  t.equal(hub.uploads.flat().length, HOSTS + 1);
});
