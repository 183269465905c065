import type { TLSSocket } from "node:tls";

/** Longest time for which a check of a certificate counts for later connections, in milliseconds. */
const LONGEST_MS = 24 * 60 * 60 * 1000;
/** Most servers whose sessions are kept: a hub imports from many. */
const MAX_SERVERS = 100;

/** TLS session with a server whose certificate was checked when the session began. */
interface KnownSession {
  /** Newest ticket of the server. */
  ticket: Buffer;
  /** Time at which the certificate is checked again, by `performance.now()`. */
  untilMs: number;
}

const known = new Map<string, KnownSession>();

/** Forgets all sessions: every certificate is checked at the next connection, as it must be once others are trusted. */
export const forgetSessions = (): void => known.clear();

/**
 * Lets a new connection resume the session of one before. Such a handshake carries no certificate, which saves a third
 * of its bytes, and Node checks none: the check that began the session counts, for a day at most, and never longer than
 * the certificate is valid.
 */
export class Resumption {
  /** Session for the new connection; undefined where the certificate must be checked. */
  readonly session: Buffer | undefined;
  readonly #origin: string;
  #untilMs: number | undefined;

  constructor({ origin }: URL) {
    this.#origin = origin;
    const found = known.get(origin);
    if (found === undefined) return;
    if (performance.now() < found.untilMs) {
      this.session = found.ticket;
      this.#untilMs = found.untilMs;
    } else known.delete(origin);
  }

  /** Keeps the session of the connection for the next one, once the certificate has been accepted. */
  follow(socket: TLSSocket): void {
    let isAccepted = false;
    let newest: Buffer | undefined;
    const accept = (): void => {
      isAccepted = true;
      if (!socket.isSessionReused()) this.#untilMs = checkedUntil(socket);
      if (newest !== undefined) keep(newest);
    };
    const keep = (ticket: Buffer): void => {
      newest = ticket;
      if (isAccepted) this.#keep(ticket);
    };
    if (socket.authorized) accept();
    else socket.once("secureConnect", accept);
    // TLS 1.3 sends tickets after the handshake, TLS 1.2 before its end.
    socket.on("session", keep);
    socket.once("close", () => {
      // Whatever was wrong, the next connection begins anew.
      if (!isAccepted) known.delete(this.#origin);
    });
  }

  #keep(ticket: Buffer): void {
    if (this.#untilMs === undefined) return;
    known.delete(this.#origin);
    known.set(this.#origin, { ticket, untilMs: this.#untilMs });
    if (known.size > MAX_SERVERS) known.delete(known.keys().next().value!);
  }
}

/** Returns how long a check that was made just now counts, by `performance.now()`. */
function checkedUntil(socket: TLSSocket): number {
  const ends = socket.getPeerX509Certificate()?.validToDate.getTime() ?? 0;
  return performance.now() + Math.min(LONGEST_MS, ends - Date.now());
}
