/** A hub with the plugin {@link SLUG}, whose versions an author may have signed. */
import type { Test } from "tap";
import type { HubOptions } from "../../../lib/hub/hub.ts";
import { descriptorEntry, forgedZip } from "../forged/zip.ts";
import type { Author } from "../host/author.ts";
import { SLUG } from "../host/marketplace-host.ts";
import { type Answer, type RunningHub, startHub } from "./harness.ts";
import { DEVELOPER_SECRET, signatureOf } from "./marketplace-hub.ts";

export const pluginOf = (version: string): Buffer =>
  forgedZip([descriptorEntry(SLUG, version), { name: "src/main.js", content: version }]);

/** The two fields of an author's signature, as forms and bodies have them. */
export function signatureFields(author: Author, bytes: Uint8Array): Record<string, string> {
  const { "x-signature-ed25519": signature, "x-signer": signer } = author.headers(bytes);
  return { signature_ed25519: signature!, signer_public_key: signer! };
}

export interface AuthorHub {
  hub: RunningHub;
  publish: (version: string, author?: Author) => Promise<Answer>;
  /** Sends a form whose fields may be there more than once. */
  publishForm: (version: string, fields: readonly (readonly [name: string, value: string])[]) => Promise<Answer>;
  /** Adds a signature to a published version. */
  sign: (version: string, fields: Record<string, unknown>) => Promise<Answer>;
  signer: (verb: "add" | "retire" | "revoke", author: Author) => Promise<Answer>;
}

export async function authorHub(t: Test, options: Partial<HubOptions> = {}): Promise<AuthorHub> {
  const hub = await startHub(t, { rateLimits: false, ...options });
  const created = await hub.call("POST", "/devkeys/projects", { json: { name: "Tides", kind: "plugin", slug: SLUG } });
  await hub.call("POST", "/devkeys/signing-key", { json: { secret: DEVELOPER_SECRET } });
  const base = `/devkeys/projects/${created.body.id}`;
  const publishForm: AuthorHub["publishForm"] = (version, fields) => {
    const form = new FormData();
    const bytes = pluginOf(version);
    form.set("version", version);
    form.set("signature", signatureOf(bytes));
    for (const [name, value] of fields) form.append(name, value);
    form.set("archive", new Blob([new Uint8Array(bytes)], { type: "application/zip" }), "archive.zip");
    return hub.call("POST", `/app/marketplace/plugins/${SLUG}/versions`, { form });
  };
  return {
    ...{ hub, publishForm },
    publish: (version, author) =>
      publishForm(version, author === undefined ? [] : Object.entries(signatureFields(author, pluginOf(version)))),
    sign: (version, json) => hub.call("PUT", `${base}/versions/${version}/signature`, { json }),
    signer(verb, { publicKey }) {
      const key = publicKey.toString("hex");
      return verb === "add"
        ? hub.call("POST", `${base}/signers`, { json: { public_key: key } })
        : hub.call("POST", `${base}/signers/${key}/${verb}`, { json: {} });
    },
  };
}
