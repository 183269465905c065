import { readTerms, type SignedTerms } from "../../../artifact/sealed/terms.ts";
import type { TrustRoot } from "../../../artifact/trust/root.ts";
import type { InviteRequest } from "../../../contract/joining/records.ts";
import { fingerprintOf, rootFingerprint } from "../../../contract/joining/token.ts";
import type { InviteTerms } from "../../../contract/settings/texts.ts";
import { canonicalJson } from "../../../support/documents/canonical-json.ts";
import { checked, HubError, unprocessable } from "../../base/errors.ts";
import type { HostInvitesTable } from "./tables.ts";

/** Circumstances of an invite that its terms repeat. */
interface Invited {
  /** The signed terms. */
  text: string;
  projectId: string;
  /** Trust root that its hosts pin; undefined for signers. */
  pinned: TrustRoot | undefined;
}

/** Returns what the terms of an invite say, as the invite itself has it. Times are equal that name one moment. */
function saidBy(
  { uses = 1, expires_at, labels = {}, signers = [] }: InviteRequest,
  { projectId, pinned }: Invited,
): Pick<InviteTerms, "project" | "labels" | "uses" | "expires_at" | "pins"> {
  const pins = pinned === undefined ? fingerprintOf(signers) : `root-${rootFingerprint(pinned.digest)}`;
  return { project: projectId, labels, uses, expires_at: new Date(expires_at).toISOString(), pins };
}

/**
 * Reads the terms of an invite, and requires that they say what the invite does: its hosts refuse it otherwise.
 *
 * @throws HubError 422 `terms_invalid` for terms that their operator has not signed; 422 for others than the invite's
 */
export function termsFor(request: InviteRequest, invited: Invited): SignedTerms {
  const terms = checked(() => readTerms(invited.text));
  const { signed } = terms;
  const stated = { ...signed, expires_at: new Date(signed.expires_at).toISOString() };
  for (const [name, value] of Object.entries(saidBy(request, invited)))
    if (canonicalJson(stated[name as keyof InviteTerms]) !== canonicalJson(value))
      throw unprocessable(`terms: their ${name} is another than that of the invite, and hosts would refuse it.`);
  return terms;
}

/** Requires that the terms of an invite, if any, admit a host of this name. @throws HubError 403 `invite_other_host` */
export function requireNamed({ terms }: HostInvitesTable, hostId: string): void {
  const { hosts } = terms === null ? { hosts: undefined } : readTerms(terms).signed;
  if (hosts === undefined || hosts.includes(hostId)) return;
  throw new HubError(403, "invite_other_host", `The invite admits only hosts that its terms name, and not ${hostId}.`);
}
