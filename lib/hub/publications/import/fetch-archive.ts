import type { IncomingMessage } from "node:http";
import type { HubContext } from "../../context.ts";
import { HubError, notFound, tooLarge } from "../../http/errors.ts";
import type { SourceHost } from "./sources.ts";

/** A source host redirects to its download server, and perhaps over a renamed repository. */
const MAX_REDIRECTS = 5;
/** For connecting, for the response's headers, and for each silence while the archive comes. */
const TIMEOUT_MS = 30_000;

const badSource = (message: string, cause?: unknown) =>
  new HubError(502, "hub_unavailable", message, cause === undefined ? {} : { cause });

/** One request, its redirect not followed. */
async function ask(
  url: URL,
): Promise<{ response: IncomingMessage; body: AsyncIterable<Buffer> & { destroy(): void } }> {
  // Loaded by the first import only: most hubs never need it.
  const { default: got } = await import("got");
  const stream = got.stream(url, {
    followRedirect: false,
    decompress: false,
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
 * The bytes of an archive from a source host, as they come. Redirects are followed by hand, and only to where the allow-list says.
 *
 * @throws 404 when the host has no such archive, 502 when it does not answer as a source host does, 413 beyond the hub's limit
 */
export async function* fetchArchive(
  { sourceHosts, maxArtifactBytes, logger }: HubContext,
  host: SourceHost,
  reference: string,
): AsyncGenerator<Buffer> {
  const name = new URL(host.origin).host;
  let url = sourceHosts.archiveUrl(host, reference);
  for (let redirects = 0; ; redirects++) {
    const { response, body } = await ask(url).catch((error: unknown) => {
      logger?.warn({ err: error, host: name }, "a source host cannot be reached");
      throw badSource(`The source host ${name} cannot be reached.`, error);
    });
    const status = response.statusCode ?? 0;
    if (status >= 300 && status < 400) {
      body.destroy();
      const next = URL.parse(response.headers.location ?? "", url);
      if (next === null || redirects === MAX_REDIRECTS || !sourceHosts.allowsRedirect(host, next)) {
        throw badSource(`The source host ${name} redirects to where this hub does not go.`);
      }
      url = next;
      continue;
    }
    if (status !== 200) {
      body.destroy();
      if (status === 404) throw notFound(`The source host ${name} has no ${reference}.`);
      throw badSource(`The source host ${name} answered with status ${status}.`);
    }
    let received = 0;
    const declared = Number(response.headers["content-length"] ?? Number.NaN);
    if (declared > maxArtifactBytes) {
      body.destroy();
      throw tooLarge(`The archive is larger than ${maxArtifactBytes} bytes.`);
    }
    try {
      for await (const chunk of body) {
        received += chunk.length;
        if (received > maxArtifactBytes) throw tooLarge(`The archive is larger than ${maxArtifactBytes} bytes.`);
        yield chunk;
      }
    } catch (error) {
      if (error instanceof HubError) throw error;
      throw badSource(`The source host ${name} broke off.`, error);
    } finally {
      body.destroy();
    }
    if (!Number.isNaN(declared) && received !== declared) throw badSource(`The source host ${name} broke off.`);
    return;
  }
}
