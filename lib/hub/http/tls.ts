import { createPrivateKey, X509Certificate } from "node:crypto";
import { stat } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { createServer, type Server } from "node:https";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { usageError } from "../../contract/errors.ts";
import { readFault, readKeyFile } from "../../support/files.ts";
import type { Logger } from "../../support/logging.ts";

/** Files of a certificate, followed by its chain, and of its private key; both PEM. */
export interface TlsFiles {
  certFile: string;
  keyFile: string;
}

interface Pair {
  cert: Buffer;
  key: Buffer;
  certificate: X509Certificate;
}

/** Time limit of a TLS handshake, in milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 20_000;
/**
 * Time for which a client may resume its session, in seconds: a day, so that the hourly poll of a watch sends no
 * certificates. Node's default is five minutes.
 */
const SESSION_TIMEOUT_S = 24 * 60 * 60;
/** Permission bits of others: read, write and search. */
const EVERYONE = 0o007;

const invalid = (message: string, hint: string, cause?: unknown) =>
  usageError("tls_invalid", message, { hint, ...(cause !== undefined && { cause }) });

const unreadable = (option: string, file: string, error: unknown) =>
  invalid(
    `The file ${file} cannot be read: ${readFault(error)}.`,
    `Check the path of ${option}, and that the hub's user may read it.`,
    error,
  );

async function readKey(file: string): Promise<Buffer> {
  let mode: number;
  let bytes: Buffer;
  try {
    ({ mode } = await stat(file));
    bytes = await readKeyFile(file);
  } catch (error) {
    throw unreadable("--tls-key", file, error);
  }
  if ((mode & EVERYONE) !== 0 && process.platform !== "win32")
    throw invalid(`Everyone on this machine may open the private key ${file}.`, `Run: chmod o= ${file}`);
  return bytes;
}

/** Reads certificate and key. @throws UsageError `tls_invalid` */
async function readPair({ certFile, keyFile }: TlsFiles): Promise<Pair> {
  const cert = await readKeyFile(certFile).catch((error: unknown) => {
    throw unreadable("--tls-cert", certFile, error);
  });
  const key = await readKey(keyFile);
  const parsed = <T>(parse: () => T, message: string, hint: string): T => {
    try {
      return parse();
    } catch (error) {
      throw invalid(message, hint, error);
    }
  };
  const certificate = parsed(
    () => new X509Certificate(cert),
    `The file ${certFile} holds no certificate.`,
    "--tls-cert takes a PEM file: the hub's certificate, then those of its issuers.",
  );
  const privateKey = parsed(
    () => createPrivateKey(key),
    `The file ${keyFile} holds no private key that can be read.`,
    "--tls-key takes a PEM file without a passphrase.",
  );
  if (!certificate.checkPrivateKey(privateKey))
    throw invalid(
      `The key ${keyFile} does not belong to the certificate ${certFile}.`,
      "Give the two files that were made together; the hub's own certificate comes first in its file.",
    );
  parsed(
    () => createSecureContext({ cert, key }),
    `TLS cannot use the certificate ${certFile}.`,
    "Check that its chain is whole, and that its key is not too short: openssl x509 -text -in FILE.",
  );
  return { cert, key, certificate };
}

/** Certificate of a hub that speaks TLS itself, and the servers that use it. */
export class TlsServers {
  readonly #files: TlsFiles;
  readonly #logger: Logger | undefined;
  readonly #servers: Server[] = [];
  #pair: Pair;

  private constructor(files: TlsFiles, pair: Pair, logger: Logger | undefined) {
    this.#files = files;
    this.#pair = pair;
    this.#logger = logger;
    this.#tell();
  }

  /**
   * Reads the certificate. @throws UsageError `tls_invalid` when the files are not a certificate and its key, or others
   * can read the key
   */
  static async open(files: TlsFiles, logger: Logger | undefined): Promise<TlsServers> {
    return new TlsServers(files, await readPair(files), logger);
  }

  /** Creates a server that uses the certificate, also after {@link reload}. */
  create(handler: RequestListener): Server {
    const server = createServer({ ...this.#context(), handshakeTimeout: HANDSHAKE_TIMEOUT_MS }, handler);
    this.#servers.push(server);
    return server;
  }

  /** Reads the files again. Logs a pair that cannot be used, and keeps the old one. Never rejects. */
  async reload(): Promise<void> {
    try {
      this.#pair = await readPair(this.#files);
      // Each gets new keys for its tickets, too: clients see the new certificate at their next connection.
      for (const server of this.#servers) server.setSecureContext(this.#context());
      this.#tell();
    } catch (error) {
      this.#logger?.error({ err: error }, "the TLS certificate could not be read again; the old one stays");
    }
  }

  #context(): SecureContextOptions {
    const { cert, key } = this.#pair;
    return { cert, key, sessionTimeout: SESSION_TIMEOUT_S };
  }

  #tell(): void {
    const { subject, validFromDate: from, validToDate: to, fingerprint256: fingerprint } = this.#pair.certificate;
    const facts = { file: this.#files.certFile, subject, from, to, fingerprint };
    const now = new Date();
    if (to < now) this.#logger?.warn(facts, "the TLS certificate has expired: clients will refuse it");
    else if (from > now) this.#logger?.warn(facts, "the TLS certificate is not valid yet: clients will refuse it");
    else this.#logger?.info(facts, "this TLS certificate is in use");
  }
}
