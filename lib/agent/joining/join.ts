import { setTimeout as sleep } from "node:timers/promises";
import { anchoredRoot } from "../../artifact/trust/root.ts";
import type { Transport } from "../../client/http.ts";
import { join } from "../../client/joining.ts";
import { EXIT } from "../../contract/codes.ts";
import { artifactError, deploymentError, SealiftError } from "../../contract/errors.ts";
import type { JoinAnswer } from "../../contract/joining/records.ts";
import { fingerprintOf, type JoinToken, rootFingerprint } from "../../contract/joining/token.ts";
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

/**
 * Joins a project, and waits for approval if it is required. A refusal removes the secrets; an interrupted join keeps
 * them for the next one.
 *
 * @throws ArtifactError `signer_untrusted` for signers or a root that the invite does not name; DeploymentError
 *   `host_pending` when nobody approves it in time; errors of {@link join}
 */
export async function joinProject(options: JoinOptions): Promise<JoinAnswer> {
  const { waitMs, signal, onPending, onReturn } = options;
  let { secrets } = options;
  const end = performance.now() + waitMs;
  for (let [isPending, isBack] = [false, false]; ;) {
    const answer = await ask({ ...options, secrets }).catch(async (error: unknown) => {
      if (!isBack && error instanceof SealiftError && error.hubCode === "host_removed") return "removed";
      const isLasting = !(error instanceof SealiftError) || error.exitCode !== EXIT.tryAgain;
      if (isLasting && !signal.aborted) await secrets.discard();
      if (isLasting || !isPending) throw error;
      return undefined;
    });
    if (answer === "removed") {
      // The key is dead for good: with another one the host comes back.
      isBack = true;
      secrets = await secrets.renewed();
      onReturn();
      continue;
    }
    if (answer?.state === "joined") return answer;
    if (answer !== undefined && !isPending) onPending(answer);
    isPending = true;
    if (performance.now() + PAUSE_MS > end)
      throw deploymentError("host_pending", "Nobody has approved this host yet.", {
        hint: "Run the same command again when `sealift host approve` was done: the host keeps its place.",
      });
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

async function ask({ hubUrl, invite, hostId, secrets, transport, signal }: JoinOptions): Promise<JoinAnswer> {
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
  if (found === invite.fingerprint) return answer;
  throw artifactError(
    "signer_untrusted",
    `The hub names ${root === undefined ? "signers" : "a trust root"} with the fingerprint ${found}, and the invite ${invite.fingerprint}.`,
    { hint: HOW_TO_ASK },
  );
}
