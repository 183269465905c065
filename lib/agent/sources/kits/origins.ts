import { Readable } from "node:stream";
import { openedArchive } from "../../../artifact/kits/sealed-archive.ts";
import type { InstallHeaders } from "../../../client/install-headers.ts";
import type { HubLocation } from "../../../contract/surfaces/deploy.ts";
import type { ArchiveOrigin } from "../marketplace.ts";
import type { ProjectOrigin } from "../project-fetch.ts";
import { type HostKit, versionIn } from "./host-kit.ts";

/** Returns a kit as the origin of a project's version. No request is sent. */
export function projectOrigin({ kit, text, key, roots }: HostKit): ProjectOrigin & Pick<HostKit, "roots"> {
  const { yanked_reason, is_yanked, ...facts } = text.project!;
  const location: HubLocation = {
    ...facts,
    ...(is_yanked === true && { is_yanked, yanked_reason }),
    artifact_sha256: text.digest,
    download_url: "kit:artifact.bin",
  };
  return {
    roots,
    authenticate: () => Promise.resolve(),
    latestVersion: () => Promise.resolve(text.version),
    locate(version) {
      versionIn(text, version);
      return Promise.resolve(location);
    },
    authorize: () => Promise.resolve(key),
    async *download(_version, _location, { onReceived }) {
      let received = 0;
      for await (const chunk of kit.bytes()) {
        received += chunk.length;
        onReceived?.(received, kit.size);
        yield chunk;
      }
    },
  };
}

/** Returns a kit as the origin of a plugin's or service's version. No request is sent. */
export function archiveOrigin({ kit, text, key, roots }: HostKit): ArchiveOrigin & Pick<HostKit, "roots"> {
  const { hmac, signature, signer, named, repo, size_bytes: size, sha256, root_version } = text.archive!;
  const headers: InstallHeaders = {
    ...{ hmac, author: { signature: signature ?? undefined, signer: signer ?? undefined } },
    ...{ named: named ?? undefined, repo: repo ?? undefined, size },
  };
  const headersOf = (version: string): InstallHeaders => {
    versionIn(text, version);
    return headers;
  };
  return {
    roots,
    detail: () =>
      Promise.resolve({
        ...{ latest_version: text.version, root_version, name: undefined, id: undefined },
        ...{ next: undefined, withdrawn: undefined },
        versions: [{ version: text.version, sha256 }],
      } as Awaited<ReturnType<ArchiveOrigin["detail"]>>),
    async install(version, consume) {
      const given = headersOf(version);
      return consume(given, Readable.from(openedArchive(kit.bytes(), key), { objectMode: false }));
    },
    installHeaders: (version) => Promise.resolve(headersOf(version)),
  };
}
