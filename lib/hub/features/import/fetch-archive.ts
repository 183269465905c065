import { atLeastRate, LEAST_RATE, type LeastRate } from "../../../client/least-rate.ts";
import type { Logger } from "../../../support/logging.ts";
import { exchange, ImproperAnswerError } from "../../../support/network/exchange.ts";
import { followRedirects } from "../../../support/redirects.ts";
import { HubError, notFound, tooLarge } from "../../base/errors.ts";
import type { SourceHost, SourceHosts } from "./source-hosts.ts";

/** Most redirects: to a download server, and perhaps for a renamed repository. */
const MAX_REDIRECTS = 5;
const TIMEOUT_MS = 30_000;

const HEADERS = {
  "user-agent": "sealift",
  accept: "application/zip, application/octet-stream;q=0.9, */*;q=0.1",
  "accept-encoding": "identity",
};

/** Parts of the hub that fetching an archive needs. */
export interface SourceParts {
  sourceHosts: SourceHosts;
  maxArtifactBytes: number;
  logger: Logger | undefined;
}

const badSource = (message: string, cause?: unknown) =>
  new HubError(502, "hub_unavailable", message, cause === undefined ? {} : { cause });

/**
 * Streams an archive from a source host. Follows redirects only to allowed origins.
 *
 * @param signal aborts the download
 * @param leastRate slowest accepted rate
 * @param timeoutMs limit for connecting, for the head of the response, and for each silence
 * @throws 404 for an unknown archive, 502 for an improper answer, 413 beyond the hub's limit
 */
export async function* fetchArchive(
  { sourceHosts, maxArtifactBytes, logger }: SourceParts,
  host: SourceHost,
  reference: string,
  {
    signal,
    leastRate = LEAST_RATE,
    timeoutMs = TIMEOUT_MS,
  }: { signal: AbortSignal; leastRate?: LeastRate; timeoutMs?: number },
): AsyncGenerator<Buffer> {
  const name = new URL(host.origin).host;
  const elsewhere = () => badSource(`The source host ${name} redirects to an address that is not on this hub's list.`);
  const { answer } = await followRedirects(sourceHosts.archiveUrl(host, reference), {
    max: MAX_REDIRECTS,
    async ask(url) {
      const found = await exchange(url, { headers: HEADERS, timeoutMs, signal }).catch((error: unknown) => {
        logger?.warn({ err: error, host: name }, "a source host cannot be reached");
        const why = error instanceof ImproperAnswerError ? error.message : "cannot be reached";
        throw badSource(`The source host ${name} ${why}.`, error);
      });
      const { headers, body } = found;
      return { ...found, location: headers.location, discard: () => void body.on("error", () => {}).destroy() };
    },
    admit(next) {
      if (!sourceHosts.allowsRedirect(host, next)) throw elsewhere();
    },
    mark: ({ href }) => href,
    refused: elsewhere,
  });
  const { status, headers, body } = answer;
  try {
    if (status === 404) throw notFound(`The source host ${name} has no ${reference}.`);
    if (status !== 200) throw badSource(`The source host ${name} answered with status ${status}.`);
    const declared = Number(headers["content-length"] ?? Number.NaN);
    if (declared > maxArtifactBytes) throw tooLarge(`The archive is larger than ${maxArtifactBytes} bytes.`);
    let received = 0;
    const tooSlow = () => badSource(`The source host ${name} sends the archive too slowly.`);
    for await (const chunk of atLeastRate(body, tooSlow, leastRate)) {
      received += chunk.length;
      if (received > maxArtifactBytes) throw tooLarge(`The archive is larger than ${maxArtifactBytes} bytes.`);
      yield chunk;
    }
    if (!Number.isNaN(declared) && received !== declared) throw badSource(`The source host ${name} broke off.`);
  } catch (error) {
    if (error instanceof HubError) throw error;
    throw badSource(`The source host ${name} broke off.`, error);
  } finally {
    body.on("error", () => {}).destroy();
  }
}
