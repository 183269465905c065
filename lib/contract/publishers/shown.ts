import type { ListFacts } from "../facts/list-facts.ts";
import type { PublisherRecord } from "./publishers.ts";

/** Returns the target of a publisher: one that exists, or one that its first run creates. */
export const publisherTarget = ({ target, creates }: PublisherRecord): string =>
  target ?? `${creates!.kind}:${creates!.slug}`;

/** Returns the claims of a publisher, one text each. */
export const claimTexts = ({ claims }: PublisherRecord): string[] =>
  Object.entries(claims).map(([claim, value]) => `${claim}=${value}`);

/** Facts of a list of publishers. */
export const PUBLISHER_FACTS = {
  name: { title: "Publisher", text: ({ name }) => name },
  target: {
    title: "Target",
    text: (publisher) => `${publisherTarget(publisher)}${publisher.target === null ? " (pending)" : ""}`,
  },
  issuer: { title: "Issuer", text: ({ issuer }) => issuer, only: "command" },
  last_used_at: { title: "Last used", at: ({ last_used_at: at }) => at, none: "never" },
  claims: { title: "Claims", text: (publisher) => claimTexts(publisher).join(" "), column: "why" },
} as const satisfies ListFacts<PublisherRecord>;
