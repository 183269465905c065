import type { Source } from "../../lib/agent/sources/source.ts";
import type { ComparedVersions } from "../../lib/agent/version-diff.ts";
import { limitsOf } from "../../lib/artifact/limits.ts";
import { usageError } from "../../lib/contract/errors.ts";
import type { Target } from "../../lib/contract/target.ts";
import { versionComparison } from "../../lib/options/devkeys.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection, MARKETPLACE_TIMEOUT_MS } from "../shell/connection.ts";
import { deployLines } from "../shell/output/deploy-lines.ts";
import { differenceLine } from "../shell/output/differences.ts";
import { managed } from "./managed.ts";

/** Label of a version; undefined for the latest one. */
type Label = string | undefined;

/** Command that compares two versions of a hub. */
export abstract class ComparingCommand extends withOptions(versionComparison) {
  /** Prints the differences between two versions; one that is undefined is the latest. @returns the exit code */
  protected async compare(called: string, first: string | undefined, second: string | undefined): Promise<number> {
    const { targetCalled } = await import("../../lib/client/lookup.ts");
    const target = await targetCalled(hubConnection(this.options, DEPLOY_TIMEOUT_MS), called);
    const { from, to, differences } = await this.#compared(target, [first, second]);
    if (this.json) {
      for (const difference of differences) this.print.event({ event: "difference", ...difference });
      return this.done({ from, to, differences: differences.length });
    }
    const { sizeText } = await import("../../lib/support/size-text.ts");
    for (const difference of differences) this.print.line(differenceLine(difference, sizeText));
    if (differences.length === 0) this.note(`${from} and ${to} are the same.`);
    return this.done({});
  }

  async #compared({ kind, slug }: Target, versions: readonly [Label, Label]): Promise<ComparedVersions> {
    const { versionDifferences } = await import("../../lib/agent/version-diff.ts");
    const { signingKey, deploymentCredential } = this.options;
    if (kind === "project" && signingKey !== undefined && deploymentCredential === undefined)
      return this.#compareIndexes(slug, versions, signingKey);
    const source = kind === "project" ? await this.#project(slug) : await this.#marketplace(kind, slug);
    using interrupt = interruptible();
    const lines = await deployLines(this.context.stderr);
    const emit = this.json ? () => undefined : lines.emit;
    try {
      const pair = [source(versions[0] ?? "latest"), source(versions[1] ?? "latest")] as const;
      return await versionDifferences(pair, { limits: limitsOf(this.options), emit, signal: interrupt.signal });
    } finally {
      lines.close();
    }
  }

  async #compareIndexes(
    projectId: string,
    [from, to]: readonly [Label, Label],
    key: Uint8Array,
  ): Promise<ComparedVersions> {
    const [{ indexDifferences }, { signingSeed }] = await Promise.all([
      import("../../lib/agent/version-diff.ts"),
      import("../shell/signer.ts"),
    ]);
    const seed = await signingSeed(key, this.layers);
    const target = { ...hubConnection(this.options, DEPLOY_TIMEOUT_MS), projectId };
    const named = [from ?? (await this.#latest(projectId)), to ?? (await this.#latest(projectId))] as const;
    return indexDifferences(target, named, seed);
  }

  async #latest(projectId: string): Promise<string> {
    const { client, idOf } = await managed(this.options);
    for await (const { version, is_latest } of client.listVersions({ params: { id: await idOf(projectId) } }))
      if (is_latest) return version;
    throw usageError("usage", `No version of ${projectId} is the latest: name the second one.`);
  }

  async #project(projectId: string): Promise<(version: string) => Source> {
    const { signerPublicKey, deploymentCredential, gitToken, signingSecret } = this.options;
    if (deploymentCredential === undefined || signerPublicKey === undefined)
      throw usageError("usage", "A project needs --deployment-credential and --signer-public-key to be compared.", {
        hint: "Its signer compares the indexes alone with --signing-key-file.",
      });
    const [{ projectSource }, { publicKeysFrom }] = await Promise.all([
      import("../../lib/agent/sources/project.ts"),
      import("../shell/signer.ts"),
    ]);
    const shared = {
      ...hubConnection(this.options, DEPLOY_TIMEOUT_MS),
      ...{ projectId, deploymentCredential, delta: false },
      trust: { pinned: await publicKeysFrom(signerPublicKey) },
      sources: { gitTokens: new Map(gitToken), ...(signingSecret !== undefined && { signingSecret }) },
    };
    return (version) => projectSource({ ...shared, version });
  }

  async #marketplace(kind: "plugin" | "service", slug: string): Promise<(version: string) => Source> {
    const { signingSecret, signerPublicKey, symlinks, allowVersionMismatch } = this.options;
    if (signingSecret === undefined)
      throw usageError("usage", `A ${kind} needs its developer's --signing-secret to be compared.`, {
        hint: "Give it as SEALIFT_SIGNING_SECRET or --signing-secret-file.",
      });
    const [{ marketplaceSource }, { publicKeysFrom }] = await Promise.all([
      import("../../lib/agent/sources/marketplace.ts"),
      import("../shell/signer.ts"),
    ]);
    const trust = signerPublicKey && { pinned: await publicKeysFrom(signerPublicKey) };
    const connection = hubConnection(this.options, MARKETPLACE_TIMEOUT_MS);
    const shared = { ...connection, kind, slug, signingSecret, trust, symlinks, allowVersionMismatch };
    return (version) => marketplaceSource({ ...shared, version });
  }
}
