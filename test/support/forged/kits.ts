/** Kits as somebody makes them anew who can open the version: with other facts, and everything beside made to fit. */
import { type HostKey, hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { openKitTerms, readKitText, sealKitTerms, signHubsWord } from "../../../lib/artifact/sealed/kit.ts";
import type { KitTerms } from "../../../lib/contract/kits/texts.ts";

type KitJson = Record<string, unknown>;

/** Seals and signs a kit anew for one host, under a hub key of one's own. @param more terms that are not the kit's */
export function remadeKit(text: KitJson, change: KitJson, reader: HostKey, more: Partial<KitTerms> = {}): KitJson {
  const kit = { ...text, ...change };
  const { said, id, hub, target, version, digest, made_at, ends_at } = readKitText(JSON.stringify(kit));
  const word = { kit: id, hub, target, version, digest, made_at, ends_at, said };
  const key = more.key ?? openKitTerms((text["hosts"] as Record<string, string>)[reader.fingerprint]!, reader).key;
  return {
    ...kit,
    hub_signature: signHubsWord(word, hostKeyOf(newHostSeed()).seed),
    hosts: { [reader.fingerprint]: sealKitTerms({ ...word, to: reader.fingerprint, ...more, key }, reader.x25519) },
  };
}
