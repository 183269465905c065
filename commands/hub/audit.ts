import { Command } from "clipanion";
import { shownFacts } from "../../lib/contract/audit/facts.ts";
import { auditList } from "../../lib/options/devkeys.ts";
import { withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";

export class AuditList extends withOptions(auditList) {
  static override paths = [["audit", "list"]];
  static override listed = async () =>
    Object.keys((await import("../../lib/contract/surfaces/keys.ts")).auditRecord.shape);
  static override usage = Command.Usage({
    category: "Hub",
    description: "Show who did what on a hub, newest first",
    details: `
      Needs an administrator's key. Each entry names the action, the owner and key that did it, what it was done to, the
      address and the request id that the hub's log has too.
    `,
    examples: [
      ["The last week", "$0 audit list --since 7d"],
      ["For a program", "$0 audit list --since 2026-01-01 --json"],
    ],
  });

  override async run(): Promise<number> {
    const [{ askPages }, { listAudit }] = await Promise.all([
      import("../../lib/client/ask.ts"),
      import("../../lib/contract/audit/routes.ts"),
    ]);
    const { from, until, action, actor } = this.options;
    const query = { since: from?.toISOString(), until: until?.toISOString(), action, actor };
    const hub = hubConnection(this.options, DEPLOY_TIMEOUT_MS);
    const entries = askPages(listAudit, { query }, { operation: "keys", hub });
    let count = 0;
    for await (const entry of entries) {
      // Entries are printed as they arrive: the widths of the columns are fixed.
      if (count++ === 0 && this.isForPeople) this.print.line(lineOf("TIME", "ACTION", "ACTOR", "SUBJECT", "FACTS"));
      if (this.json) {
        this.print.event({ event: "audit", ...entry });
        continue;
      }
      const facts = shownFacts(entry.facts).map(([name, text]) => `${name}=${text}`);
      this.print.line(lineOf(entry.created_at, entry.action, entry.actor, entry.subject, ...facts));
    }
    if (count === 0) this.note("No entries.");
    return this.done({ count });
  }
}

const lineOf = (time: string, action: string, actor: string, subject: string, ...facts: string[]): string =>
  [time.padEnd(24), `${action.padEnd(20)} ${actor.padEnd(16)} ${subject}`, ...facts].join("  ");
