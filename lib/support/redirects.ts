/** Reason for which a redirect is not followed. */
export type RedirectFault = "invalid" | "insecure" | "loop" | "too_many";

/** Answer whose body may still be unread. */
interface RedirectHead {
  status: number;
  /** `Location` header as received. */
  location: string | undefined;
  /** Discards an unread body. */
  discard(): void;
}

/** One program's rules for redirects; {@link followRedirects} enforces those common to all. */
export interface RedirectRules<T extends RedirectHead> {
  /** Most redirects followed. */
  max: number;
  /** Makes one exchange, without following its redirect. */
  ask(url: URL): Promise<T>;
  /**
   * Decides on the next address, and on what is sent there.
   *
   * @throws the program's error for an address that it refuses
   */
  admit(next: URL, from: URL, status: number): void;
  /** Identifies a request: two with the same mark are a loop. The address, and the method where that changes. */
  mark(url: URL): string;
  /** Returns the error of a redirect that is not followed. */
  refused(fault: RedirectFault, from: URL, status: number): Error;
}

const REDIRECTS = [301, 302, 303, 307, 308];

/**
 * Follows at most `max` redirects by hand, since a library would send credentials along: no loop, only to http and
 * https, and never from https to http.
 *
 * @returns the first answer that is not a redirect, and its address
 * @throws as `ask`, `admit` and `refused`
 */
export async function followRedirects<T extends RedirectHead>(
  first: URL,
  rules: RedirectRules<T>,
): Promise<{ answer: T; url: URL }> {
  const seen = new Set<string>();
  for (let url = first, redirects = 0; ; redirects++) {
    const answer = await rules.ask(url);
    const { status, location } = answer;
    if (!REDIRECTS.includes(status)) return { answer, url };
    answer.discard();
    const refused = (fault: RedirectFault): Error => rules.refused(fault, url, status);
    const next = location === undefined ? null : URL.parse(location, url);
    if (next === null || !/^https?:$/.test(next.protocol)) throw refused("invalid");
    if (url.protocol === "https:" && next.protocol === "http:") throw refused("insecure");
    if (seen.has(rules.mark(next)) || next.href === url.href) throw refused("loop");
    if (redirects === rules.max) throw refused("too_many");
    seen.add(rules.mark(url));
    rules.admit(next, url, status);
    url = next;
  }
}
