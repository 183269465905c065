import { isUsableReader } from "../artifact/sealed/age.ts";
import { hostFingerprint, type HostPublicKeys } from "../artifact/sealed/host-key.ts";
import { isUsablePublicKey } from "../artifact/signatures/ed25519.ts";
import { usageError } from "../contract/errors.ts";
import type { Labels } from "../contract/labels.ts";
import { hostLineIn } from "../contract/settings/host-line.ts";
import { closestTo } from "../support/suggestion.ts";
import type { Enrolled, Roll } from "./roll.ts";

/** Acceptance of a host whose line a person has read on it. */
export interface Acceptance {
  host: Enrolled;
  /** Former entry of the name, whose key is removed now; undefined for none, or for the same key. */
  replaced: Enrolled | undefined;
  /** Former name of the key. */
  renamedFrom: string | undefined;
}

const isUsable = ({ x25519, ed25519 }: HostPublicKeys): boolean =>
  isUsablePublicKey(Buffer.from(ed25519, "hex")) && isUsableReader(Buffer.from(x25519, "hex"));

/**
 * Takes a host into the roll by the line that `sealift host key` prints on it.
 *
 * @param given labels; those of the host's former entry without any
 * @throws UsageError `usage` for another line, and for a key that was removed
 */
export function acceptHost(roll: Roll, name: string, line: string, given: Labels | undefined): Acceptance {
  const keys = hostLineIn(line);
  // What is sealed to a key of low order opens to everybody.
  if (keys === undefined || !isUsable(keys))
    throw usageError("usage", "That is not the line of a host.", {
      hint: "`sealift host key` on the host prints it: shk1., 64 hexadecimal digits, a full stop, and 64 more.",
    });
  const fingerprint = hostFingerprint(keys);
  if (roll.removed().has(fingerprint))
    throw usageError("usage", `The key of ${name} was removed for good: ${fingerprint}.`, {
      hint: "Delete host.key on the host, and join again: it makes a new one.",
    });
  const hosts = roll.hosts();
  const same = hosts.find((host) => host.fingerprint === fingerprint);
  const former = hosts.find((host) => host.name === name && host.fingerprint !== fingerprint);
  if (former !== undefined) roll.remove(former);
  const facts = same ?? { ...keys, fingerprint, terms: null, number: 0 };
  const host = { ...facts, name, named: true, labels: given ?? same?.labels ?? former?.labels ?? {} };
  roll.put(host);
  return { host, replaced: former, renamedFrom: same?.name === name ? undefined : same?.name };
}

/** Returns the host of a name. @throws UsageError `usage` for a name that is not in the roll, with a near one */
export function enrolledAs(roll: Roll, name: string): Enrolled {
  const hosts = roll.hosts();
  const host = hosts.find((each) => each.name === name);
  if (host !== undefined) return host;
  const near = closestTo(
    name,
    hosts.map((each) => each.name),
  );
  throw usageError("usage", `There is no host ${name} in ${roll.file}.`, {
    hint: near === undefined ? "`sealift settings show` lists those that are." : `Did you mean ${near}?`,
  });
}
