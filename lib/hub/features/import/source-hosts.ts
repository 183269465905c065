import { unprocessable } from "../../base/errors.ts";

/** Form of the archive URLs of a source host. */
export type SourceShape = "github" | "gitlab" | "gitea";

export interface SourceHost {
  shape: SourceShape;
  /** Root URL of the host, such as https://github.com. Plain http only where an operator allows it. */
  origin: string;
  /** Further origins to which the host may redirect downloads. */
  redirects?: readonly string[];
}

/** Hosts that serve archives over https to everyone. */
export const DEFAULT_SOURCE_HOSTS: readonly SourceHost[] = [
  { shape: "github", origin: "https://github.com", redirects: ["https://codeload.github.com"] },
  { shape: "gitlab", origin: "https://gitlab.com" },
  { shape: "gitea", origin: "https://codeberg.org" },
];

interface Reference {
  /** `owner/repo`, or with nested groups. */
  path: string;
  repo: string;
  tag: string;
}

/** Splits `owner/repo@tag`, already validated by the contract. */
export function parseReference(reference: string): Reference {
  const at = reference.indexOf("@");
  const path = reference.slice(0, at);
  return { path, repo: path.slice(path.lastIndexOf("/") + 1), tag: reference.slice(at + 1) };
}

const escaped = (path: string) => path.split("/").map(encodeURIComponent).join("/");

const URLS: Record<SourceShape, (reference: Reference) => string> = {
  github: ({ path, tag }) => `/${escaped(path)}/archive/refs/tags/${escaped(tag)}.zip`,
  gitlab: ({ path, repo, tag }) =>
    `/${escaped(path)}/-/archive/${escaped(tag)}/${encodeURIComponent(`${repo}-${tag.replaceAll("/", "-")}`)}.zip`,
  gitea: ({ path, tag }) => `/${escaped(path)}/archive/${escaped(tag)}.zip`,
};

/** Allow-list of hosts to import archives from, so that nobody can point the hub at its own network. */
export class SourceHosts {
  readonly #hosts: readonly SourceHost[];

  constructor(hosts: readonly SourceHost[] = DEFAULT_SOURCE_HOSTS) {
    this.#hosts = hosts;
  }

  /** Returns a host of the list. @throws 422 for any other */
  find(host: string | undefined): SourceHost {
    const found = this.#hosts.find(({ origin }) => host === undefined || new URL(origin).host === host.toLowerCase());
    if (found !== undefined) return found;
    const known = this.#hosts.map(({ origin }) => new URL(origin).host).join(", ") || "none";
    throw unprocessable(`host: this hub imports from ${known}.`);
  }

  archiveUrl(host: SourceHost, reference: string): URL {
    return new URL(URLS[host.shape](parseReference(reference)), host.origin);
  }

  /** Whether the host may send us there: to itself or to an origin that the list names, never from https to http. */
  allowsRedirect({ origin, redirects = [] }: SourceHost, url: URL): boolean {
    return [origin, ...redirects].some((allowed) => new URL(allowed).origin === url.origin);
  }
}
