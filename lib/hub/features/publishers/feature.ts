import { Destinations } from "../../base/destinations.ts";
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
  // The former owner of a target must not keep a workflow that publishes to it.
  async onTransfer(transaction, project, { owner, keepKeys, now }) {
    if (keepKeys) await givePublishers(transaction, project.id, owner);
    else await removePublishersOf(transaction, project, now);
  },
  onDelete: removePublishersOf,
  async start({ database, clock }, { issuerAllow }) {
    const issuers = new Issuers(new Destinations(issuerAllow), clock);
    return {
      routes: (options) => routes(options, issuers),
      chores: { "used identity tokens": () => forgetEnded(database.kysely, new Date(clock()).toISOString()) },
    };
  },
};
