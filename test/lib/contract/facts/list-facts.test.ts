// Holds: what lists show in a terminal and on pages (lib/contract/facts/list-facts.ts, lib/web/page/fact-rows.tsx)
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import t from "tap";
import { columnsOf } from "../../../../commands/shell/output/listing.ts";
import { tableLines } from "../../../../commands/shell/output/table.ts";
import type { ListFacts } from "../../../../lib/contract/facts/list-facts.ts";
import type { InviteRecord, JoinedHost } from "../../../../lib/contract/joining/records.ts";
import { INVITE_FACTS, JOINED_FACTS } from "../../../../lib/contract/joining/shown.ts";
import { keyFacts } from "../../../../lib/contract/keys/shown.ts";
import type { PublisherRecord } from "../../../../lib/contract/publishers/publishers.ts";
import { PUBLISHER_FACTS } from "../../../../lib/contract/publishers/shown.ts";
import type { ApiKeyRecord } from "../../../../lib/contract/surfaces/keys.ts";
import type { DeliveryRecord, WebhookRecord } from "../../../../lib/contract/surfaces/webhooks.ts";
import { DELIVERY_FACTS, WEBHOOK_FACTS } from "../../../../lib/contract/webhooks/shown.ts";
import { factRows } from "../../../../lib/web/page/fact-rows.tsx";
import { Table } from "../../../../lib/web/page/parts.tsx";

const AT = "2026-01-02T03:04:05.000Z";
const SHOWN_AT = "2026-01-02 03:04:05Z";
const NOW = Date.parse("2026-06-01T00:00:00Z");

/** Returns what a terminal and a page show of records: the titles, and the cells of each row as texts. */
function shown<T>(facts: ListFacts<T>, records: T[]) {
  const [titles = "", ...lines] = tableLines(columnsOf(facts), records, true);
  const list = factRows(facts, records, { keyOf: String, formed: {} });
  const html = renderToStaticMarkup(createElement(Table, { label: "List", ...list }));
  const texts = (tag: string): string[] =>
    [...html.matchAll(new RegExp(`<${tag}[ >][^]*?</${tag}>`, "g"))].map(([cell]) => cell.replaceAll(/<[^>]+>/g, ""));
  const cellsOf = (line: string): string[] => line.split(/ {2,}/);
  return { terminal: [titles, ...lines].map(cellsOf), page: { titles: texts("th"), cells: texts("td") } };
}

const key: ApiKeyRecord = {
  ...{ id: "key_1", name: "ci", owner: "acme", scopes: ["publish", "read"], project_id: "prj_1", prefix: "slk_abc" },
  ...{ expires_at: null, revoked_at: null, created_at: AT, last_used_at: null, host: null },
};

t.test("keys have one state and one end in both places", (t) => {
  const facts = keyFacts((id) => (id === "prj_1" ? "Harbour" : undefined), NOW);
  const others: ApiKeyRecord[] = [
    { ...key, expires_at: AT, last_used_at: AT, project_id: "prj_2", host: "pier-7" },
    { ...key, revoked_at: AT, expires_at: "2027-01-01T00:00:00Z", project_id: null },
  ];
  const { terminal, page } = shown(facts, [key, ...others]);
  t.strictSame(terminal, [
    ["NAME", "KEY", "STATE", "OWNER", "PROJECT", "HOST", "EXPIRES", "LAST USED", "SCOPES", "ID"],
    ["ci", "slk_abc…", "live", "acme", "Harbour", "any", "never", "never", "publish, read", "key_1"],
    ["ci", "slk_abc…", "expired", "acme", "prj_2", "pier-7", SHOWN_AT, SHOWN_AT, "publish, read", "key_1"],
    ["ci", "slk_abc…", "revoked", "acme", "all", "any", "2027-01-01 00:00:00Z", "never", "publish, read", "key_1"],
  ]);
  t.strictSame(page.titles.slice(0, 7), ["Name", "State", "Project", "Created", "Expires", "Last used", "Scopes"]);
  t.match(page.cells.slice(0, 6), ["live", "Harbour", /2026/, "never", "never", "publish, read"]);
  t.strictSame([page.cells[6], page.cells[12]], ["expired", "revoked"]);
  t.end();
});

const webhook: WebhookRecord = {
  ...{ id: "whk_1", name: "", origin: "https://ops.example.org", target: null, events: [], format: "json" },
  ...{ state: "enabled", created_at: AT, pending: 3, dead: 2, dropped: 5, last_delivered_at: null },
  ...{ failing_since: null, last_error: "500" },
};

t.test("messages of a webhook that were dropped count as dead, on its page, too", (t) => {
  const { terminal, page } = shown(WEBHOOK_FACTS, [webhook]);
  t.strictSame(terminal, [
    ["WEBHOOK", "TO", "STATE", "TARGET", "WAITING", "DEAD", "LAST DELIVERED"],
    ["whk_1", "https://ops.example.org", "fails: 500", "all", "3", "7", "never"],
  ]);
  t.strictSame(page.titles.slice(0, 7), [
    ...["Webhook", "State", "Hears of", "Target", "Waiting", "Dead", "Last delivered"],
  ]);
  t.strictSame(page.cells, ["fails: 500", "all events", "all", "3", "7", "never"]);
  t.match(shown(WEBHOOK_FACTS, [{ ...webhook, state: "disabled", name: "ops" }]).terminal[1], ["ops", /^/, "disabled"]);
  t.end();
});

t.test("messages, publishers, invites and hosts say the same in both places", (t) => {
  const delivery: DeliveryRecord = {
    ...{ id: "msg_1", type: "host.failed", state: "pending", attempts: 2, last_error: null },
    ...{ next_attempt_at: AT, created_at: AT },
  };
  t.strictSame(shown(DELIVERY_FACTS, [delivery]).terminal, [
    ["MESSAGE", "EVENT", "STATE", "ATTEMPTS", "MADE", "NEXT ATTEMPT", "LAST ERROR"],
    ["msg_1", "host.failed", "waiting", "2", SHOWN_AT, SHOWN_AT],
  ]);
  t.match(shown(DELIVERY_FACTS, [{ ...delivery, state: "dead", last_error: "410" }]).page, {
    titles: ["Event", "State", "Attempts", "Made", "Next attempt", "Last error"],
    cells: ["dead", "2", /2026/, /2026/, "410"],
  });
  const publisher = {
    ...{ id: "pub_1", name: "release", target: null, creates: { kind: "plugin", slug: "tide", name: "tide" } },
    ...{ issuer: "https://ci.example.org", claims: { a: "1", b: "2" }, last_used_at: null },
  } as unknown as PublisherRecord;
  t.strictSame(shown(PUBLISHER_FACTS, [publisher]).terminal, [
    ["PUBLISHER", "TARGET", "ISSUER", "LAST USED", "CLAIMS"],
    ["release", "plugin:tide (pending)", "https://ci.example.org", "never", "a=1 b=2"],
  ]);
  t.match(shown(PUBLISHER_FACTS, [{ ...publisher, target: "plugin:tide" }]).page.cells, [
    "plugin:tide",
    "never",
    "a=1 b=2",
  ]);
  const invite = {
    ...{ id: "inv_1", state: "open", used: 1, uses: 50, expires_at: AT, approve: true, labels: { env: "prod" } },
  } as unknown as InviteRecord;
  t.strictSame(shown(INVITE_FACTS, [invite]).terminal, [
    ["INVITE", "STATE", "HOSTS", "UNTIL", "APPROVAL", "LABELS"],
    ["inv_1", "open", "1 of 50", SHOWN_AT, "needed", "env=prod"],
  ]);
  t.match(shown(INVITE_FACTS, [invite]).page.cells, ["open", "1 of 50", /2026/, "needed", "env=prod"]);
  const host = {
    ...{ host_id: "pier-7", state: "ended", version: "1.0.0", heard_at: null, created_at: AT },
    ...{ address: "10.0.0.7", labels: { env: "prod" }, invite_id: "inv_1", clones: [] },
  } as unknown as JoinedHost;
  t.strictSame(shown(JOINED_FACTS, [host]).terminal, [
    ["HOST", "STATE", "VERSION", "LAST HEARD", "JOINED", "FROM", "LABELS", "INVITE"],
    ["pier-7", "its key has ended", "1.0.0", "never", SHOWN_AT, "10.0.0.7", "env=prod", "inv_1"],
  ]);
  t.match(shown(JOINED_FACTS, [host]).page.cells, ["its key has ended", "1.0.0", "never", /2026/, "env=prod"]);
  t.end();
});

t.test("a cell that a page forms stands in the place of the text, and forms end the row", (t) => {
  const facts = { a: { title: "A", text: () => "x" }, b: { title: "B", text: () => "y", column: "num" } } as const;
  const formed = { a: (record: string) => `<${record}>`, b: () => undefined };
  const list = factRows<string, "a" | "b">(facts, ["one"], { keyOf: (record) => record, formed, acts: () => "go" });
  t.strictSame(list, { columns: ["A", ["B", "num"], ["", "acts"]], rows: [["one", "<one>", "y", "go"]] });
  t.end();
});
