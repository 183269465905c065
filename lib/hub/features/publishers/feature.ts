import { Destinations } from "../../base/destinations.ts";
import { inTransaction } from "../../records/port.ts";
import { projectOfSubject } from "../../records/projects.ts";
import type { HubFeature } from "../feature.ts";
import { Issuers } from "./issuers.ts";
import { forgetEnded, givePublishers, removePublishersOf } from "./records.ts";
import { publishers as routes } from "./routes.ts";
import { publisherKeys, publishers as table, usedTokens } from "./tables.ts";

export interface PublisherOptions {
  /** Names, addresses and ranges (CIDR) outside the public internet at which issuers are allowed. Default: none. */
  issuerAllow?: readonly string[];
}

/** CI workflows that publish with the identity token of their CI system, without a stored key. */
export const publishers: HubFeature<PublisherOptions> = {
  name: "publishers",
  tables: [table, publisherKeys, usedTokens],
  async onAudit(db, { action, subject, facts }, now) {
    // The former owner of a target must not keep a workflow that publishes to it.
    if (action !== "project.transfer") return;
    const id = await projectOfSubject(db, subject);
    if (facts["keep_keys"] === true) await givePublishers(db, id, String(facts["to"]));
    else await inTransaction(db, (transaction) => removePublishersOf(transaction, id, new Date(now).toISOString()));
  },
  async onDelete(transaction, { id }) {
    await removePublishersOf(transaction, id, new Date().toISOString());
  },
  async start({ database, clock }, { issuerAllow }) {
    const issuers = new Issuers(new Destinations(issuerAllow), clock);
    return {
      routes: (options) => routes(options, issuers),
      chores: { "used identity tokens": () => forgetEnded(database.kysely, new Date(clock()).toISOString()) },
    };
  },
};
