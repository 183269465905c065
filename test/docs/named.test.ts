import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { ACTIONS } from "../../lib/contract/audit-actions.ts";
import { CODES } from "../../lib/contract/codes.ts";
import { WEBHOOK_EVENTS } from "../../lib/contract/webhook-events.ts";
import { golden } from "../support/golden.ts";

const page = (name: string): string => readFileSync(join(import.meta.dirname, "../../docs", name), "utf8");

/** The pages that have to name each word of a list; routes and events of `--json` have pages made from the sources. */
const LISTS: [string, readonly string[]][] = [
  ["contract/keys.md", Object.keys(ACTIONS)],
  ["webhooks.md", WEBHOOK_EVENTS],
];

for (const [name, words] of LISTS)
  t.test(`docs/${name} names each of ${words.length} actions or events`, (t) => {
    const text = page(name);
    t.strictSame(
      words.filter((word) => !text.includes(`\`${word}\``)),
      [],
    );
    t.end();
  });

t.test("codes and exit codes are what they were", (t) => {
  golden(
    t,
    "codes.txt",
    Object.entries(CODES)
      .map(([code, { exit }]) => `${code} ${exit}`)
      .join("\n"),
  );
  t.end();
});
