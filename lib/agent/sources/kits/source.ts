import { changedKit } from "../../../artifact/kits/kit-folder.ts";
import { blamesVersion } from "../../../contract/blame.ts";
import { EXIT } from "../../../contract/codes.ts";
import { asSealiftError } from "../../../contract/errors.ts";
import type { KitText } from "../../../contract/kits/texts.ts";
import { type Target, targetName } from "../../../contract/target.ts";
import { acceptKit } from "../../../releases/kits.ts";
import { marketplaceSource, type MarketplaceSourceOptions } from "../marketplace.ts";
import { marketplaceReportOf } from "../marketplace-report.ts";
import { projectReportOf, projectSource, type ProjectSourceOptions } from "../project.ts";
import type { Fetched, Source } from "../source.ts";
import { type HostKit, type KitChoice, openHostKit, versionIn } from "./host-kit.ts";
import { archiveOrigin, projectOrigin } from "./origins.ts";
import { kitReporter } from "./reporter.ts";

/** Hub in the options of a source that asks none. */
const NO_HUB = { hubUrl: "", apiKey: "", timeoutMs: 0 };

/** Returns a source of a project's version that came on a stick. It opens no socket. */
export function projectKitSource(
  options: Omit<ProjectSourceOptions, "deploymentCredential" | "hubUrl" | "apiKey" | "timeoutMs" | "origin">,
  choice: KitChoice,
): Source {
  const target: Target = { kind: "project", slug: options.projectId };
  const all = { ...options, ...NO_HUB, deploymentCredential: "" };
  return kitSource(choice, target, {
    base: projectSource(all),
    sourceOf: (kit) => projectSource({ ...all, origin: projectOrigin(kit) }),
    report: (report) => projectReportOf(report, options),
  });
}

/** Returns a source of a plugin's or service's version that came on a stick. It opens no socket. */
export function marketplaceKitSource(
  options: Omit<MarketplaceSourceOptions, "hubUrl" | "apiKey" | "timeoutMs" | "origin">,
  choice: KitChoice,
): Source {
  const { kind, slug } = options;
  const all = { ...options, ...NO_HUB };
  return kitSource(
    choice,
    { kind, slug },
    {
      base: marketplaceSource(all),
      sourceOf: (kit) => marketplaceSource({ ...all, origin: archiveOrigin(kit) }),
      report: (report) => marketplaceReportOf(report, options),
    },
  );
}

interface KitParts {
  /** Source as it is without a kit, of which whatever asks a hub is left out. */
  base: Source;
  sourceOf: (kit: HostKit) => Source;
  report: Parameters<typeof kitReporter>[0]["wireReport"];
}

/**
 * Blames the kit for whatever does not verify. Anybody who has had the stick may have written it beside genuine bytes,
 * so it says nothing of the version.
 */
function rethrowAsChanged(error: unknown): never {
  const failure = asSealiftError(error, "ArtifactError");
  if (failure.exitCode !== EXIT.verification || !blamesVersion(failure.code)) throw error;
  throw changedKit(`${failure.message.replace(/\.$/, "")} (${failure.code})`, failure);
}

/** Requires the digest of what was opened to be that of kit.json, by which a watch knows versions. */
function requireSaid({ project, archive }: KitText, { contentSha256, artifactSha256 }: Fetched): void {
  if (project !== undefined && project.content_sha256 !== contentSha256)
    throw changedKit("kit.json has another content_sha256 than the manifest");
  if (archive !== undefined && archive.sha256 !== artifactSha256)
    throw changedKit("kit.json has another sha256 than the archive");
}

function kitSource(choice: KitChoice, target: Target, { base, sourceOf, report }: KitParts): Source {
  let opened: HostKit | undefined;
  const { kind, slug, requestedVersion, trust } = base;
  return {
    ...{ kind, slug, target: base.target, requestedVersion },
    ...(trust !== undefined && { trust }),
    precheck: async (supervisor) => base.precheck?.(supervisor),
    acceptedSigners: async (layout) => (await base.acceptedSigners?.(layout)) ?? null,
    async followRoot(context, named) {
      if (trust === undefined || !("follow" in trust)) return;
      // What keeps the kit from counting was told by the poll; without the stick no root is brought.
      const kit = await openHostKit(choice, target, { ...context, emit: () => undefined }).catch(() => undefined);
      if (kit !== undefined) await sourceOf(kit).followRoot?.(context, named, false);
    },
    statements() {
      if (opened === undefined) throw new Error("the kit was not opened");
      const { facts, provenance, hub_signature: signature } = opened.text;
      return {
        answer: facts,
        hubKey: signature.key,
        provenance: provenance === null ? undefined : Buffer.from(provenance, "base64"),
        kitMadeAt: opened.terms.made_at,
        notBefore: opened.notBefore,
      };
    },
    async resolve(context) {
      const kit = await openHostKit(choice, target, context);
      opened = kit;
      versionIn(kit.text, requestedVersion);
      const resolved = await sourceOf(kit).resolve(context).catch(rethrowAsChanged);
      return {
        ...resolved,
        // Only its bytes tell whether whoever made the kit could open the version.
        mustVerify: kit.isNewer,
        async fetch(fetching): Promise<Fetched> {
          const fetched = await resolved.fetch(fetching).catch(rethrowAsChanged);
          requireSaid(kit.text, fetched);
          return {
            ...fetched,
            async remember() {
              await fetched.remember?.();
              const { kit: id, made_at, to } = kit.terms;
              await acceptKit(fetching.layout, targetName(target), { kit: id, made_at, to });
            },
          };
        },
      };
    },
    ...kitReporter({
      key: choice.key,
      target,
      folder: choice.folder,
      openedKit: () => opened?.text.id,
      wireReport: report,
    }),
  };
}
