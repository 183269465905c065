import type { FleetHost } from "../../lib/client/fleet.ts";
import { counted } from "../../lib/support/counted.ts";

/** Hosts of a fleet that follow one version of a trust root. */
interface RootCount {
  version: number;
  digest: string;
  hosts: number;
}

/** Characters of a digest in messages. */
const SHORT = 16;

/** Counts hosts by the version of the trust root that they follow. */
export class RootCounts {
  readonly #counts = new Map<string, RootCount>();
  #without = 0;

  note({ root_version: version, root_digest: digest = "" }: FleetHost): void {
    if (version === undefined) {
      this.#without++;
      return;
    }
    const key = `${version} ${digest}`;
    const count = this.#counts.get(key) ?? { version, digest, hosts: 0 };
    this.#counts.set(key, { ...count, hosts: count.hosts + 1 });
  }

  /** Versions that hosts follow, newest first; none where no host follows a root. */
  get all(): RootCount[] {
    return [...this.#counts.values()].toSorted((a, b) => b.version - a.version || b.hosts - a.hosts);
  }

  /** Describes who follows what, and versions of which there are two; no line where no host follows a root. */
  lines(): string[] {
    const all = this.all;
    if (all.length === 0) return [];
    const versions = [...Map.groupBy(all, ({ version }) => version)];
    const parts = versions.map(
      ([version, forms]) => `version ${version} on ${forms.reduce((sum, { hosts }) => sum + hosts, 0)}`,
    );
    const without = this.#without === 0 ? [] : [`none on ${this.#without}`];
    return [
      `trust root: ${[...parts, ...without].join(", ")}`,
      ...versions.flatMap(([version, forms]) => (forms.length > 1 ? [forkLine(version, forms)] : [])),
    ];
  }
}

function forkLine(version: number, forms: readonly RootCount[]): string {
  const each = forms.map(({ digest, hosts }) => `${digest.slice(0, SHORT)}… on ${counted(hosts, "host")}`);
  return `warning: version ${version} of the trust root is forked: ${each.join(", ")}. Version ${version + 1} heals it.`;
}
