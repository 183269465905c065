import type { TargetKind } from "./view.ts";

/** Command lines that hosts begin with: each works as it is pasted, beside the files that it names. */

interface Host {
  kind: TargetKind;
  slug: string;
  hubUrl: string;
}

/** Options by which a host takes a target from this hub. */
const optionsOf = ({ kind, hubUrl }: Host): string[] => [
  ...[`--hub-url ${hubUrl}`, "--api-key-file hub.key"],
  ...(kind === "project"
    ? ["--deployment-credential-file host.credential", "--signer-public-key signer.pub"]
    : ["--signing-secret-file developer.secret", "--install-plan install.yaml"]),
];

const lines = (first: string, options: readonly string[]): string => [first, ...options].join(" \\\n  ");

/** Deploys the latest version of a target once. */
export function deployCommand(host: Host): string {
  const { kind, slug } = host;
  const first =
    kind === "project"
      ? `sealift project deploy --project-id ${slug}`
      : `sealift marketplace deploy ${slug}${kind === "service" ? " --kind service" : ""}`;
  return lines(first, optionsOf(host));
}

/** Follows the latest version of a target. */
export const watchCommand = (host: Host): string => lines(`sealift watch ${host.kind}:${host.slug}`, optionsOf(host));
