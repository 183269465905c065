import { setTimeout as sleep } from "node:timers/promises";
import { makeCard } from "../../artifact/sealed/card.ts";
import type { HostKey } from "../../artifact/sealed/host-key.ts";
import { termsOfLine } from "../../artifact/sealed/terms.ts";
import { anchoredRoot } from "../../artifact/trust/root.ts";
import type { Transport } from "../../client/http.ts";
import { join } from "../../client/joining.ts";
import { EXIT } from "../../contract/codes.ts";
import { artifactError, deploymentError, SealiftError } from "../../contract/errors.ts";
import type { JoinAnswer } from "../../contract/joining/records.ts";
import { fingerprintOf, type JoinToken, rootFingerprint } from "../../contract/joining/token.ts";
import { labelsText } from "../../contract/labels.ts";
import type { CardUpload } from "../../contract/settings/records.ts";
import type { HostSecrets } from "./host-secrets.ts";

/** Pause between two requests for approval, in milliseconds. */
const PAUSE_MS = 3000;

const HOW_TO_ASK = "Ask whoever invited this host, by another way than the hub. Nothing was joined or kept.";

export interface JoinOptions {
  hubUrl: string;
  invite: JoinToken;
  hostId: string;
  secrets: HostSecrets;
  transport: Transport;
  /** Longest wait for approval, in milliseconds. */
  waitMs: number;
  signal: AbortSignal;
  /** Called once when the host waits for approval. */
  onPending: (answer: JoinAnswer) => void;
  /** Called when the host was removed, and comes back with another key. */
  onReturn: () => void;
}

/** Host that was let in, or waits. */
export interface Joined {
  answer: JoinAnswer;
  /** Card of the host, and the terms that it came with. */
  card: CardUpload;
  /** Operator whom the host is to pin; undefined for an invite without one. */
  operator: string | undefined;
  /** Fingerprint of the host's key. */
  fingerprint: string;
}

/**
 * Joins a project, and waits for approval if it is required. A refusal removes the secrets; an interrupted join keeps
 * them for the next one.
 *
 * @throws ArtifactError `signer_untrusted` for signers or a root that the invite does not name, `terms_invalid` for
 *   terms other than those of its line; DeploymentError `host_pending` when nobody approves it in time; errors of
 *   {@link join}
 */
export async function joinProject(options: JoinOptions): Promise<Joined> {
  const { waitMs, signal, onPending, onReturn } = options;
  let { secrets } = options;
  const end = performance.now() + waitMs;
  for (let [isPending, isBack] = [false, false]; ;) {
    const joined = await ask({ ...options, secrets }).catch(async (error: unknown) => {
      if (!isBack && error instanceof SealiftError && error.hubCode === "host_removed") return "removed";
      const isLasting = !(error instanceof SealiftError) || error.exitCode !== EXIT.tryAgain;
      if (isLasting && !signal.aborted) await secrets.discard();
      if (isLasting || !isPending) throw error;
      return undefined;
    });
    if (joined === "removed") {
      // The key is dead for good: with another one the host comes back.
      isBack = true;
      secrets = await secrets.renewed();
      onReturn();
      continue;
    }
    if (joined?.answer.state === "joined") return joined;
    if (joined !== undefined && !isPending) onPending(joined.answer);
    isPending = true;
    if (performance.now() + PAUSE_MS > end)
      throw deploymentError("host_pending", "Nobody has approved this host yet.", {
        hint: "Run the same command again when `sealift host approve` was done: the host keeps its place.",
      });
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

async function ask({ hubUrl, invite, hostId, secrets, transport, signal }: JoinOptions): Promise<Joined> {
  const { key, credential: deployment_credential } = secrets;
  const request = { token: invite.token, host_id: hostId, key, deployment_credential };
  const answer = await join(hubUrl, request, { ...transport, signal });
  const { root, signers } = answer;
  if ((root === undefined) !== (invite.pins === "signers"))
    throw artifactError(
      "signer_untrusted",
      `The invite names ${invite.pins === "root" ? "a trust root, and the hub none" : "signers, and the hub a trust root"}.`,
      { hint: HOW_TO_ASK },
    );
  const found =
    root === undefined ? fingerprintOf(signers) : rootFingerprint(anchoredRoot(root, "The hub's trust root").digest);
  if (found === invite.fingerprint) return { answer, ...cardOf(answer, invite, secrets.hostKey.key) };
  throw artifactError(
    "signer_untrusted",
    `The hub names ${root === undefined ? "signers" : "a trust root"} with the fingerprint ${found}, and the invite ${invite.fingerprint}.`,
    { hint: HOW_TO_ASK },
  );
}

/**
 * Makes the card of a host from the hub's answer. With an operator in the line, the answer must be what that operator
 * has signed.
 *
 * @throws ArtifactError `terms_invalid`
 */
function cardOf(answer: JoinAnswer, { operator: secret, pins, fingerprint }: JoinToken, key: HostKey) {
  const { project_id: project, host_id: name } = answer;
  if (secret === undefined)
    return {
      card: { card: makeCard({ project, name }, key, undefined) },
      operator: undefined,
      fingerprint: key.fingerprint,
    };
  const { signed, digest, text } = termsOfLine(answer.terms, secret);
  const said = pins === "root" ? `root-${fingerprint}` : fingerprint;
  if (signed.project !== project) throw otherTerms("project", signed.project, project);
  if (signed.pins !== said) throw otherTerms("signers", signed.pins, said);
  if (labelsText(signed.labels) !== labelsText(answer.labels))
    throw otherTerms("labels", labelsText(signed.labels), labelsText(answer.labels));
  if (signed.hosts !== undefined && !signed.hosts.includes(name))
    throw otherTerms("hosts", signed.hosts.join(", "), name);
  const card = makeCard({ project, name }, key, { digest, seed: secret.seed });
  return { card: { card, terms: text }, operator: signed.operator, fingerprint: key.fingerprint };
}

const otherTerms = (what: string, signed: string, found: string) =>
  artifactError(
    "terms_invalid",
    `The operator has signed ${what} ${signed || "none"}, and the hub says ${found || "none"}.`,
    {
      hint: HOW_TO_ASK,
    },
  );
