import type { IncomingMessage } from "node:http";
import { atLeastRate, LEAST_RATE, type LeastRate } from "../../client/least-rate.ts";
import type { Logger } from "../../support/logging.ts";
import { followRedirects } from "../../support/redirects.ts";
import { HubError, notFound, tooLarge } from "../ground/errors.ts";
import type { SourceHost, SourceHosts } from "./source-hosts.ts";

/** A source host redirects to its download server, and perhaps over a renamed repository. */
const MAX_REDIRECTS = 5;
/** For connecting, for the response's headers, and for each silence while the archive comes. */
const TIMEOUT_MS = 30_000;

/** The parts of the hub that fetching an archive needs. */
export interface SourceParts {
  sourceHosts: SourceHosts;
  maxArtifactBytes: number;
  logger: Logger | undefined;
}

const badSource = (message: string, cause?: unknown) =>
  new HubError(502, "hub_unavailable", message, cause === undefined ? {} : { cause });

/** One request, its redirect not followed. */
async function ask(
  url: URL,
  signal: AbortSignal,
): Promise<{ response: IncomingMessage; body: AsyncIterable<Buffer> & { destroy(): void } }> {
  // Loaded by the first import only: most hubs never need it.
  const { default: got } = await import("got");
  const stream = got.stream(url, {
    followRedirect: false,
    decompress: false,
    signal,
    throwHttpErrors: false,
    retry: { limit: 0 },
    timeout: { connect: TIMEOUT_MS, secureConnect: TIMEOUT_MS, socket: TIMEOUT_MS, response: TIMEOUT_MS },
    headers: { accept: "application/zip, application/octet-stream;q=0.9, */*;q=0.1" },
  });
  return new Promise((resolve, reject) => {
    stream.once("response", (response: IncomingMessage) => {
      // From here on the body's reader hears of errors.
      stream.off("error", reject);
      resolve({ response, body: stream });
    });
    stream.once("error", reject);
  });
}

/**
 * Streams an archive from a source host. Redirects are followed only to where the allow-list says.
 *
 * @param signal gives the archive up
 * @param leastRate a host that is slower is given up
 * @throws 404 for no such archive, 502 for a host that does not answer as one, 413 beyond the hub's limit
 */
export async function* fetchArchive(
  { sourceHosts, maxArtifactBytes, logger }: SourceParts,
  host: SourceHost,
  reference: string,
  { signal, leastRate = LEAST_RATE }: { signal: AbortSignal; leastRate?: LeastRate },
): AsyncGenerator<Buffer> {
  const name = new URL(host.origin).host;
  const elsewhere = () => badSource(`The source host ${name} redirects to an address that is not on this hub's list.`);
  const { answer } = await followRedirects(sourceHosts.archiveUrl(host, reference), {
    max: MAX_REDIRECTS,
    async ask(url) {
      const { response, body } = await ask(url, signal).catch((error: unknown) => {
        logger?.warn({ err: error, host: name }, "a source host cannot be reached");
        throw badSource(`The source host ${name} cannot be reached.`, error);
      });
      const { statusCode: status = 0, headers } = response;
      return { status, headers, body, location: headers.location, discard: () => body.destroy() };
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
    body.destroy();
  }
}
