import type { TargetKind } from "./view.ts";

/** Builds command lines for a new host: each works when pasted beside the files that it names. */

interface Host {
  kind: TargetKind;
  slug: string;
  hubUrl: string;
}

/** Returns the options by which a host deploys a target from this hub. */
const optionsOf = ({ kind, hubUrl }: Host): string[] => [
  ...[`--hub-url ${hubUrl}`, "--api-key-file hub.key"],
  ...(kind === "project"
    ? ["--deployment-credential-file host.credential", "--signer-public-key signer.pub"]
    : ["--signing-secret-file developer.secret", "--install-plan install.yaml"]),
];

const lines = (first: string, options: readonly string[]): string => [first, ...options].join(" \\\n  ");

/** Returns the command that deploys the latest version of a target once. */
export function deployCommand(host: Host): string {
  const { kind, slug } = host;
  const first =
    kind === "project"
      ? `sealift project deploy --project-id ${slug}`
      : `sealift marketplace deploy ${slug}${kind === "service" ? " --kind service" : ""}`;
  return lines(first, optionsOf(host));
}

/** Returns the command that follows the latest version of a target. */
export const watchCommand = (host: Host): string => lines(`sealift watch ${host.kind}:${host.slug}`, optionsOf(host));
