import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { HostAnswer } from "./answer.ts";

/** Returns the fields beside the version in an answer to "latest", as they are on the wire. */
export const answerFields = ({ next, withdrawn, rootVersion, settingsVersion }: HostAnswer) => ({
  ...(next !== undefined && {
    next: { version: next.version, not_before: new Date(next.notBefore).toISOString() },
  }),
  ...(withdrawn !== undefined && { withdrawn }),
  ...(rootVersion !== undefined && { root_version: rootVersion }),
  ...(settingsVersion !== undefined && { settings_version: settingsVersion }),
});

/** Returns the ETag of an answer to "latest"; without a gate, a trust root and settings it is the version alone. */
export function answerEtag(answer: HostAnswer): string {
  const { version, next, withdrawn, rootVersion, settingsVersion } = answer;
  const ahead = next === undefined ? "" : `~next=${next.version}~${next.notBefore}`;
  const back = withdrawn === undefined ? "" : `~withdrawn=${withdrawn}`;
  const root = rootVersion === undefined ? "" : `~root=${rootVersion}`;
  const settings = settingsVersion === undefined ? "" : `~settings=${settingsVersion}`;
  return `"${version}${ahead}${back}${root}${settings}"`;
}

/** Detail record as text, with its ETag. */
interface Detail {
  detail: string;
  etag: string;
}

/** Variants of detail records. A target with a gate has a few, which thousands of hosts request. */
const details = new LRUCache<string, Detail>({
  max: 64,
  maxSize: 16 * 1024 * 1024,
  sizeCalculation: ({ detail }) => detail.length,
});

/** Returns a detail record as one host gets it behind a gate: with the host's own latest version. */
export function detailFor({ detail, etag }: Detail, answer: HostAnswer): Detail {
  const key = `${etag} ${answerEtag(answer)}`;
  let own = details.get(key);
  if (own === undefined) {
    const record = { ...(JSON.parse(detail) as object), latest_version: answer.version ?? "", ...answerFields(answer) };
    const text = JSON.stringify(record);
    own = { detail: text, etag: hash("sha256", text) };
    details.set(key, own);
  }
  return own;
}
