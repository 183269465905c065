import type { BaseContext } from "clipanion";
import type { HubConnection } from "../../lib/client/hub-connection.ts";
import { isAbort, publishError, usageError } from "../../lib/contract/errors.ts";
import type { Print } from "../shell/output/print.ts";

/** Publication whose signer is looked at. */
interface Signed {
  /** Id of the project, plugin or service, or its kind and slug. */
  target: string;
  version: string;
  seed: Uint8Array;
  /** Rule for a signer that is new. */
  newSigner: "warn" | "refuse";
}

interface Shell {
  context: Pick<BaseContext, "stdin" | "stderr">;
  json: boolean;
  /** Whether to go on without a question. */
  yes: boolean;
  print: Print;
  warn: (message: string) => void;
}

const WAYS = "Sign with the key of earlier versions, or replace it with `sealift signer rotate`, which breaks no host.";

/** Characters of a key in messages. */
const SHORT = 16;

/** Tells whether the trust root that a target follows names a signer: its hosts take the key over by themselves. */
async function isNamed(hub: HubConnection, id: string, signer: string): Promise<boolean> {
  const [{ newestRootOf }, { parseRoot }] = await Promise.all([
    import("../../lib/client/trust-roots.ts"),
    import("../../lib/artifact/trust/root.ts"),
  ]);
  // A hub of 0.1.0 has no roots, and some keys may not read them.
  const text = await newestRootOf(hub, id).catch(() => undefined);
  return text !== undefined && parseRoot(text, "The trust root of the hub").signers.includes(signer);
}

/**
 * Says what hosts that pin a signer will do where no version that they may get was signed by this one, and asks at a
 * terminal. Elsewhere it warns and goes on, unless a new signer is to be refused.
 *
 * @throws UsageError `usage` when the person does not want it; PublishError `signer_new`
 */
export async function agreeToSigner(hub: HubConnection, { target, version, seed, newSigner }: Signed, shell: Shell) {
  const [{ publicKeyOf }, { otherSigners }, { projectIdOf }, { keyService }] = await Promise.all([
    import("../../lib/artifact/signatures/ed25519.ts"),
    import("../../lib/client/project-signers.ts"),
    import("../../lib/client/lookup.ts"),
    import("../../lib/client/key-service.ts"),
  ]);
  const own = Buffer.from(publicKeyOf(seed)).toString("hex");
  const client = keyService(hub);
  // The publication itself tells better what is wrong with a hub or key.
  const others = await projectIdOf(client, target)
    .then(async (id) => ((await isNamed(hub, id, own)) ? [] : otherSigners(client, id, own)))
    .catch((error: unknown) => {
      if (isAbort(error) || newSigner === "refuse") throw error;
      return [];
    });
  if (others.length === 0) return;
  const pinned = others.map((key) => `${key.slice(0, SHORT)}…`).join(" or ");
  const message =
    `No earlier version that stands was signed by ${own.slice(0, SHORT)}…: hosts that pin ${pinned} will refuse ` +
    `${version} until they pin this key, too.`;
  if (newSigner === "refuse")
    throw publishError("signer_new", message, {
      hint: `Nothing was published. ${WAYS} To publish all the same, leave out --new-signer refuse.`,
    });
  if (shell.json) {
    shell.print.event({ event: "warning", message });
    return;
  }
  shell.warn(message);
  const { canAnswer, confirm } = await import("../shell/output/confirm.ts");
  if (shell.yes || !canAnswer(shell.context)) return;
  if (await confirm(shell.context, "Publish it?")) return;
  throw usageError("usage", "Nothing was published.", {
    hint: WAYS,
  });
}
