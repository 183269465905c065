import { fingerprintIn, invitedCard } from "../artifact/sealed/card.ts";
import { readTerms, type SignedTerms } from "../artifact/sealed/terms.ts";
import { artifactError, asSealiftError, type SealiftError } from "../contract/errors.ts";
import type { HostSettings } from "../contract/settings/records.ts";
import { disbelief, outcomeOf } from "./numbers.ts";
import type { Enrolled, Roll } from "./roll.ts";

/** Host whose card is at the hub and whose key is not in the roll. */
export interface Arrival {
  host: Enrolled;
  /** Whether its invite was for this host alone, and still lets it in: then nobody has to confirm it. */
  isExpected: boolean;
}

/** State of a host at the hub, seen from the roll. */
export type HubState =
  /** Its key and its name are those of the roll. */
  | { state: "known"; host: Enrolled }
  | { state: "arrived"; arrival: Arrival }
  /** It has sent no card. */
  | { state: "cardless" }
  /** It came without an invite of an operator: a person may accept its line. */
  | { state: "unaccepted" }
  /** Its key was removed for good. */
  | { state: "removed" }
  /** Somebody may stand in its place. @property host its entry in the roll, where card and name are those of it */
  | { state: "refused"; error: SealiftError; host?: Enrolled };

/** Row of the hub with what it means. */
export type Judged = HubState & { row: HostSettings };

/** Operator by whom a roll is judged. */
interface Judge {
  /** Public key, hexadecimal. */
  operator: string;
  project: string;
  /** Whether settings are replaced that another program has uploaded. */
  replaces?: boolean;
}

/** Returns a reader of terms that verifies each text once: all hosts of an invite bring the same. */
function termsReader(): (text: string) => SignedTerms {
  const read = new Map<string, SignedTerms>();
  return (text) => {
    const known = read.get(text) ?? readTerms(text);
    read.set(text, known);
    return known;
  };
}

/** Judges the rows of a hub by the roll. New cards count with terms of the operator, whatever the hub says. */
export function judged(rows: readonly HostSettings[], roll: Roll, judge: Judge): Judged[] {
  const hosts = roll.hosts();
  const facts: Facts = {
    ...{ ...judge, read: termsReader(), removed: roll.removed() },
    byKey: new Map(hosts.map((host) => [host.fingerprint, host])),
    byName: new Map(hosts.map((host) => [host.name, host])),
  };
  const all = rows.map((row): Judged => {
    try {
      return { row, ...stateOf(row, facts) };
    } catch (error) {
      return { row, state: "refused", error: asSealiftError(error) };
    }
  });
  return withinUses(onceEach(all), roll, facts.read).map((one) => believed(one, judge));
}

/** Refuses a host whose word about its settings cannot be true: it stops none of the others. */
function believed(one: Judged, { project, replaces = false }: Judge): Judged {
  const host = one.state === "known" ? one.host : one.state === "arrived" ? one.arrival.host : undefined;
  if (host === undefined) return one;
  const { row } = one;
  const error = disbelief({ host, row, outcome: outcomeOf(row, host, project) }, replaces);
  if (error === undefined) return one;
  return { row, state: "refused", error, ...(one.state === "known" && { host }) };
}

/** Refuses new cards that share a name or a key: a roll has each once, and nobody can tell which card is right. */
function onceEach(all: Judged[]): Judged[] {
  const names = new Map<string, number>();
  const keys = new Map<string, number>();
  const count = (counts: Map<string, number>, key: string): unknown => counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const one of all) {
    count(names, one.row.host_id);
    if (one.state === "arrived") count(keys, one.arrival.host.fingerprint);
  }
  return all.map((one) => {
    if (one.state !== "arrived") return one;
    const { name, fingerprint } = one.arrival.host;
    const what =
      names.get(name)! > 1 ? `the name ${name}` : keys.get(fingerprint)! > 1 ? `the key of ${name}` : undefined;
    if (what === undefined) return one;
    const error = artifactError("card_invalid", `More than one host came with ${what}.`, {
      hint: `Each machine has a host.key of its own. \`sealift settings accept ${name} LINE\` takes the line of one that is yours.`,
    });
    return { row: one.row, state: "refused", error };
  });
}

interface Facts extends Judge {
  read: (text: string) => SignedTerms;
  removed: ReadonlyMap<string, string>;
  byKey: ReadonlyMap<string, Enrolled>;
  byName: ReadonlyMap<string, Enrolled>;
}

function stateOf({ host_id: name, card: text, terms: termsText }: HostSettings, facts: Facts): HubState {
  if (text === null) {
    // Without a card at the hub, as after its restore, a name is that of the roll.
    const host = facts.byName.get(name);
    return host === undefined ? { state: "cardless" } : { state: "known", host };
  }
  const fingerprint = fingerprintIn(text);
  if (facts.removed.has(fingerprint)) return { state: "removed" };
  const host = facts.byKey.get(fingerprint);
  if (host !== undefined) {
    if (host.name === name) return { state: "known", host };
    throw renamed(name, `its key is that of ${host.name} in the roll`);
  }
  const former = facts.byName.get(name);
  if (former !== undefined) throw keyChanged(name, former.fingerprint, fingerprint);
  const { card, terms } = invitedCard(text, termsText, facts);
  if (terms === undefined) return { state: "unaccepted" };
  if (card.signed.name !== name) throw renamed(name, `its card has the name ${card.signed.name}`);
  const { x25519, ed25519 } = card.signed;
  const { uses, hosts, labels, expires_at: ends } = terms.signed;
  const named = uses === 1 && hosts?.length === 1;
  // With a line that was found later, a hub could let somebody in long after its end.
  const isExpected = named && Date.parse(ends) > Date.now();
  const enrolled = { x25519, ed25519, labels, named, terms: terms.digest, number: 0 };
  return { state: "arrived", arrival: { isExpected, host: { fingerprint, name, ...enrolled } } };
}

/** Refuses all new cards of an invite that more hosts came with than it lets in: nobody can tell which are forged. */
function withinUses(all: Judged[], roll: Roll, read: (text: string) => SignedTerms): Judged[] {
  const came = new Map<string, number>();
  for (const one of all)
    if (one.state === "arrived") {
      const terms = one.arrival.host.terms!;
      came.set(terms, (came.get(terms) ?? roll.usesOf(terms)) + 1);
    }
  return all.map((one) => {
    if (one.state !== "arrived") return one;
    const count = came.get(one.arrival.host.terms!)!;
    const { uses } = read(one.row.terms!).signed;
    if (count <= uses) return one;
    const message = `The invite of ${one.row.host_id} lets in ${uses}, and ${count} hosts came with it.`;
    const error = artifactError("card_invalid", message, {
      hint: `Somebody has its line. \`sealift settings accept ${one.row.host_id} LINE\` takes the line of a host that is yours.`,
    });
    return { row: one.row, state: "refused", error };
  });
}

const keyChanged = (name: string, before: string, now: string) =>
  artifactError(
    "host_key_changed",
    `${name} has the key ${now.slice(0, 16)}… at the hub, and ${before.slice(0, 16)}… in the roll.`,
    {
      hint: `If it was set up anew, \`sealift host key\` prints its line there: sealift settings accept ${name} LINE`,
    },
  );

const renamed = (name: string, why: string) =>
  artifactError("host_renamed", `${name} is another name of a host: ${why}.`, {
    hint: `If you renamed it, \`sealift host key\` prints its line there: sealift settings accept ${name} LINE`,
  });
