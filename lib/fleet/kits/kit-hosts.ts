import { isUsableReader } from "../../artifact/sealed/age.ts";
import { readCard } from "../../artifact/sealed/card.ts";
import { hostFingerprint, type HostPublicKeys } from "../../artifact/sealed/host-key.ts";
import type { HubConnection } from "../../client/hub-connection.ts";
import { SettingsClient } from "../../client/settings.ts";
import { artifactError, usageError } from "../../contract/errors.ts";
import { hostId } from "../../contract/identifiers.ts";
import type { KitHost } from "../../contract/kits/records.ts";
import { hostLineIn } from "../../contract/settings/host-line.ts";
import type { Roll } from "../roll.ts";

/** Places where the keys of hosts are looked up. */
export interface KeyPlaces {
  hub: HubConnection;
  /** Project whose cards the hub has; undefined where every host must come with its line. */
  projectId: string | undefined;
  /** Roll with which every key is compared; undefined where the hub is believed. */
  roll: Roll | undefined;
}

/**
 * Finds the keys of hosts that people name as `pier-7`, or as `pier-7=LINE` with the line of `sealift host key`.
 *
 * @throws UsageError `usage` for a host without a key; ArtifactError `host_key_changed` where the roll has another one
 */
export async function kitHosts(named: readonly string[], places: KeyPlaces): Promise<KitHost[]> {
  const hosts: KitHost[] = [];
  for (const given of named) {
    const at = given.indexOf("=");
    const name = at < 0 ? given : given.slice(0, at);
    if (!hostId.safeParse(name).success)
      throw usageError("usage", `--host ${JSON.stringify(name)} is not a name of a host.`);
    const keys = at < 0 ? await keysAt(name, places) : keysIn(given.slice(at + 1), name);
    if (places.roll !== undefined) requireEnrolled(name, keys, places.roll);
    hosts.push({ host_id: name, x25519: keys.x25519, ed25519: keys.ed25519 });
  }
  return hosts;
}

function keysIn(line: string, name: string): HostPublicKeys {
  const keys = hostLineIn(line);
  if (keys !== undefined && isUsableReader(Buffer.from(keys.x25519, "hex"))) return keys;
  throw usageError("usage", `--host ${name}=… is not the line of a host.`, {
    hint: "`sealift host key` on the host prints it: shk1., 64 hexadecimal digits, a full stop, and 64 more.",
  });
}

/** Returns the keys in the roll, or those of the card that the hub has. */
async function keysAt(name: string, { hub, projectId, roll }: KeyPlaces): Promise<HostPublicKeys> {
  const enrolled = roll?.hosts().find((host) => host.name === name);
  if (enrolled !== undefined) return enrolled;
  if (projectId !== undefined)
    for await (const { host_id, card } of new SettingsClient(hub, projectId).list(name))
      if (host_id === name && card !== null) return readCard(card).signed;
  throw usageError("usage", `The hub has no key of the host ${name}, so nothing can be sealed to it.`, {
    hint: `\`sealift host key\` on the host prints its line: --host ${name}=LINE. ${projectId === undefined ? "--project PROJECT says whose host it is." : "A host that has joined sends its key when its watch runs."}`,
  });
}

function requireEnrolled(name: string, keys: HostPublicKeys, roll: Roll): void {
  const fingerprint = hostFingerprint(keys);
  const enrolled = roll.hosts().find((host) => host.name === name);
  if (enrolled?.fingerprint === fingerprint) return;
  const why = roll.removed().has(fingerprint)
    ? "its key was removed for good"
    : enrolled === undefined
      ? "it is not in the roll"
      : `the roll has ${enrolled.fingerprint}`;
  throw artifactError("host_key_changed", `${name} has the key ${fingerprint}, and ${roll.file} disagrees: ${why}.`, {
    hint: `Nothing was made. If the key is right, \`sealift settings accept ${name} LINE\` takes it into the roll.`,
  });
}
