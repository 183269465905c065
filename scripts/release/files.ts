import packageJson from "../../package.json" with { type: "json" };
import { PLATFORMS, type Processor } from "../build/platforms.ts";

/** File that people install Sealift from. */
export interface Artifact {
  name: string;
  kind: "package" | "executable" | "debian" | "image";
  /** Processors that it is for; none for a package that runs on each. */
  processors: readonly Processor[];
}

const { version } = packageJson;

export const PROCESSORS = Object.keys(PLATFORMS) as Processor[];

/** Version of the Debian package: a pre-release is older than its release, and the 1 counts packages of one version. */
export const DEBIAN_VERSION = `${version.replace("-", "~")}-1`;

/** Everything that a release is installed from. */
export const ARTIFACTS: readonly Artifact[] = [
  { name: `sealift-${version}.tgz`, kind: "package", processors: [] },
  ...PROCESSORS.flatMap((processor): Artifact[] => [
    { name: `sealift-${version}-linux-${processor}`, kind: "executable", processors: [processor] },
    {
      ...{ kind: "debian", processors: [processor] },
      name: `sealift_${DEBIAN_VERSION}_${PLATFORMS[processor].debian}.deb`,
    },
    { name: `sealift-${version}-oci-linux-${processor}.tar`, kind: "image", processors: [processor] },
  ]),
  { name: `sealift-${version}-oci.tar`, kind: "image", processors: PROCESSORS },
];

/** Ends the names of what is said of an artifact: its components, twice, and where it was built. */
export const ABOUT = { cyclonedx: ".cdx.json", spdx: ".spdx.json", provenance: ".intoto.json" } as const;

/** Names in a release's folder. */
export const SUMS = "SHA256SUMS";
export const SUMS_SIGNATURE = "SHA256SUMS.asc";
export const PUBLIC_KEY = "sealift-release.asc";
