import { Readable } from "node:stream";
import { artifactError, usageError } from "../contract/errors.ts";
import { printableJson } from "../support/printable.ts";
import { statusError } from "./answers.ts";
import { bodyOf, header, type HttpRequest, send, type Transport, transportError } from "./http.ts";
import { withRetries } from "./retry.ts";

/**
 * Builds the URL at which a source host serves the ZIP of a repository at a ref: GitHub and Gitea use
 * `/archive/<ref>.zip`, GitLab `/-/archive/<ref>/<repo>-<ref>.zip`.
 *
 * @throws ArtifactError `manifest_invalid` for an address without a repository, or an unknown ref
 */
export function gitArchiveUrl(repository: string, ref: string): URL {
  const url = new URL(repository);
  const path = url.pathname.replace(/\/+$/, "").replace(/\.git$/, "");
  const repo = path.slice(path.lastIndexOf("/") + 1);
  if (path.split("/").length < 3 || url.search !== "" || url.username !== "" || url.password !== "") {
    throw artifactError("manifest_invalid", `${url.origin}${url.pathname} is not the address of a repository.`);
  }
  // Git allows no such names, and with them the URL would address another repository.
  if (ref.split("/").some((part) => part === "" || part === "." || part === ".."))
    throw artifactError("manifest_invalid", `${printableJson(ref.slice(0, 200))} is not the name of a ref.`);
  const escaped = ref.split("/").map(encodeURIComponent).join("/");
  const file = encodeURIComponent(`${repo}-${ref.replaceAll("/", "-")}`);
  const gitlab = /(^|\.)gitlab\./.test(url.hostname);
  return new URL(gitlab ? `${path}/-/archive/${escaped}/${file}.zip` : `${path}/archive/${escaped}.zip`, url.origin);
}

/** True for an address of this machine, which no network carries. */
const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);

/**
 * Fetches the ZIP of a repository; `consume` gets its bytes and is called again from the start when the connection is
 * lost. Sends the host's token to that host only, and never over a network without https.
 *
 * @throws ArtifactError; UsageError `usage` when a token would go over http
 */
export async function fetchGitArchive<T>(
  repository: string,
  ref: string,
  options: Transport & { tokens: ReadonlyMap<string, string> },
  consume: (size: number | undefined, body: Readable) => Promise<T>,
): Promise<T> {
  const url = gitArchiveUrl(repository, ref);
  const token = options.tokens.get(url.host);
  if (token !== undefined && url.protocol !== "https:" && !isLoopback(url.hostname))
    throw usageError(
      "usage",
      `The token for ${url.host} is not sent over http: ${url.origin} would show it to the network.`,
      {
        hint: "Ask the publisher to name the source with https, or take its --git-token away.",
      },
    );
  const request: HttpRequest = {
    operation: "install",
    method: "GET",
    url: url.href,
    ...(token !== undefined && {
      credentials: { authorization: `token ${token}`, "private-token": token },
      secrets: [token],
    }),
  };
  return withRetries(request, options, async () => {
    const response = await send(request, options);
    if (response.status !== 200) throw await statusError(response, request);
    try {
      const length = header(response, "content-length");
      return await consume(
        length === undefined ? undefined : Number(length),
        Readable.from(bodyOf(response, request), { objectMode: false }),
      );
    } catch (error) {
      throw transportError(error, request, response.url, options);
    } finally {
      response.body.on("error", () => {});
      response.body.destroy();
    }
  });
}
