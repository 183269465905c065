/** Advice for a plugin and its author about destinations that the sandbox refused. */

/** Words by which such a text is found again in an error. */
const NO_GRANT = "the plugin has no grant for";

const NOT_HTTP =
  "hosts that are granted by name are reached by HTTP alone: another protocol needs network: true in plugin.yaml, " +
  "and in the operator's grant";

/** Codes with which lookups and connections end where the network is empty. */
const EMPTY_NETWORK = new Set(["EAI_AGAIN", "ENETUNREACH"]);

/** Whether this sandbox reaches hosts through the runtime's proxy only. */
let isProxied = false;
export const tellOfProxy = (): void => void (isProxied = true);

/** @param destination `HOST:PORT` */
export const noGrant = (destination: string): string =>
  `${NO_GRANT} ${destination}: name it under network in plugin.yaml, as in network: ["${destination}"], ` +
  "and have the operator grant it under plugins.grants";

/** As {@link noGrant}, where the proxy refused: it also does so for addresses and redirects that a host leads to. */
export const refusedByProxy = (destination: string): string =>
  `${noGrant(destination)}; the reason is in the runtime's log`;

const joined = (host: string, port: number | string): string => `${host.includes(":") ? `[${host}]` : host}:${port}`;

interface DeniedError {
  code?: string;
  permission?: string;
  syscall?: string;
  hostname?: string;
  address?: string;
  port?: number;
}

/**
 * Returns advice about an error of the network that the sandbox itself caused; undefined for any other.
 *
 * @param destination `HOST:PORT` that was meant, if it is known better than the error tells it
 */
export function networkAdvice(error: Error, destination?: string): string | undefined {
  const { code, permission, syscall, hostname, address, port } = error as DeniedError;
  const told = error.message.indexOf(NO_GRANT);
  if (told >= 0) return error.message.slice(told);
  if (code === "ERR_ACCESS_DENIED" && (permission === "Net" || syscall === "connect" || syscall === "getaddrinfo"))
    return noGrant(destination ?? joined(hostname ?? address ?? "HOST", port ?? "PORT"));
  // Of the proxy, in the words of undici.
  if (/Proxy response \(403\)/.test(error.message)) return refusedByProxy(destination ?? "HOST:PORT");
  return isProxied && EMPTY_NETWORK.has(code ?? "") ? NOT_HTTP : undefined;
}

/** Most causes of an error that are looked at: they may form a circle. */
const MAX_CAUSES = 5;

/** Goes from an error to its cause, and so on. */
export function* causesOf(error: unknown): Generator<Error> {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++, cause = cause.cause) yield cause;
}

/** Returns the `HOST:PORT` of a URL; undefined for what is none. */
function destinationOf(url: string | URL): string | undefined {
  const { protocol, hostname, port } = URL.parse(url) ?? {};
  return hostname && `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}

/** Returns what `fetch` throws instead of an error: one that has advice, with the same cause. */
function explained(error: unknown, url: string | URL): unknown {
  for (const cause of causesOf(error)) {
    const advice = networkAdvice(cause, destinationOf(url));
    if (advice !== undefined) return new TypeError(`fetch failed: ${advice}`, { cause: (error as Error).cause });
  }
  return error;
}

/** Makes `fetch` say what a plugin may not reach, where it would say that it failed. */
export function explainFetch(): void {
  const { fetch } = globalThis;
  globalThis.fetch = async (input, init) => {
    try {
      return await fetch(input, init);
    } catch (error) {
      throw explained(error, typeof input === "object" && "url" in input ? input.url : input);
    }
  };
}
