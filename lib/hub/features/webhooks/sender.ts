import type { Logger } from "../../../support/logging.ts";
import { settledWithin } from "../../../support/within.ts";
import type { Destinations } from "../../base/destinations.ts";
import type { Keyring } from "../../keys/keyring.ts";
import { BY_HUB, insertAudit } from "../../records/audit.ts";
import { type Database, inTransaction } from "../../records/port.ts";
import { type AttemptOutcome, post } from "./exchange.ts";
import { bodyOf, headersOf, openSealed } from "./messages.ts";
import {
  claimDelivery,
  type Claimed,
  disableWebhook,
  dueDeliveries,
  failDelivery,
  findWebhook,
  releaseDelivery,
  settleDelivery,
} from "./records.ts";
import { disablesWebhook, type FailedAttempt, MAX_OVERDUE_MS, pauseAfter } from "./schedule.ts";
import type { WebhooksTable } from "./tables.ts";

const TICK_MS = 1000;
/** Most messages that one hub sends at a time, and most of them to one webhook. */
const MAX_AT_ONCE = 16;
const MAX_OF_ONE = 2;
/** Due messages examined per round. */
const CANDIDATES = 64;
/** Time limit of an attempt, in milliseconds. */
const ATTEMPT_MS = 15_000;
/** Time after which other hubs take over a message from a hub that has died, in milliseconds. */
const CLAIM_MS = 60_000;
/** Time that a closing hub leaves to attempts under way, in milliseconds. */
const CLOSE_MS = 3000;

interface WebhooksOptions {
  database: Database;
  keyring: Keyring;
  destinations: Destinations;
  /** Milliseconds since 1970, by the clock of the database. */
  clock: () => number;
  logger: Logger | undefined;
  onFailure: () => void;
  /** Returns a random number from 0 to 1. */
  random?: () => number;
  attemptMs?: number;
}

const iso = (time: number): string => new Date(time).toISOString();

class Counts {
  readonly #counts = new Map<string, number>();

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** Returns the names counted at least `least` times. */
  from(least: number): string[] {
    return [...this.#counts].filter(([, count]) => count >= least).map(([name]) => name);
  }

  /** Counts one more, until it is disposed. */
  add(name: string): Disposable {
    this.#counts.set(name, this.of(name) + 1);
    return {
      [Symbol.dispose]: () => {
        const left = this.of(name) - 1;
        if (left > 0) this.#counts.set(name, left);
        else this.#counts.delete(name);
      },
    };
  }
}

/** Sends messages to webhooks. Any number of hubs may send: each message is claimed by one hub at a time. */
export class Webhooks implements AsyncDisposable {
  readonly #options: WebhooksOptions;
  readonly #timer: NodeJS.Timeout;
  /** Messages under way, by webhook and by owner. */
  readonly #ofWebhook = new Counts();
  readonly #ofOwner = new Counts();
  readonly #attempts = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #looking: Promise<void> | undefined;

  constructor(options: WebhooksOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.send(), TICK_MS).unref();
  }

  get destinations(): Destinations {
    return this.#options.destinations;
  }

  /** Starts to send due messages, as far as there is room. Never rejects. */
  send(): Promise<void> {
    return (this.#looking ??= this.#look()
      .catch((error: unknown) => {
        this.#options.onFailure();
        this.#options.logger?.error({ err: error }, "could not look for webhooks to call; tried again in a second");
      })
      .finally(() => (this.#looking = undefined)));
  }

  /** Resolves when no attempt is under way. */
  async idle(): Promise<void> {
    do {
      await this.send();
      await Promise.all(this.#attempts);
    } while (this.#attempts.size > 0);
  }

  /** Sends one message to a webhook now, without storing it. @returns undefined while the webhook has no turn */
  async test(webhook: WebhooksTable, id: string, message: string): Promise<AttemptOutcome | undefined> {
    if (!this.#hasTurn(webhook.id, webhook.owner)) return undefined;
    return await this.#turn(webhook.id, webhook.owner, () => this.#post(webhook, id, message));
  }

  async #look(): Promise<void> {
    const { database, clock } = this.#options;
    for (let isFull = true; isFull;) {
      if (this.#closing.signal.aborted || this.#attempts.size >= MAX_AT_ONCE) return;
      const busy = { webhooks: this.#ofWebhook.from(MAX_OF_ONE), owners: this.#ofOwner.from(this.#share) };
      const due = await dueDeliveries(database.kysely, iso(clock()), busy, CANDIDATES);
      let began = 0;
      for (const candidate of due) {
        if (!this.#hasTurn(candidate.webhook_id, candidate.owner)) continue;
        const claimed = await claimDelivery(database.kysely, candidate, iso(clock() + CLAIM_MS));
        if (claimed === undefined) continue;
        began++;
        const attempt = this.#turn(claimed.webhook_id, claimed.owner, () => this.#attempt(claimed));
        this.#attempts.add(attempt);
        void attempt.finally(() => {
          this.#attempts.delete(attempt);
          void this.send();
        });
      }
      // Behind the messages of one owner, who has no turn, there may be those of another.
      isFull = due.length === CANDIDATES && began > 0;
    }
  }

  /** Most messages of one owner under way: as many as are free, so that slow receivers leave some to others. */
  get #share(): number {
    return Math.max(1, MAX_AT_ONCE - this.#attempts.size);
  }

  #hasTurn(webhook: string, owner: string): boolean {
    if (this.#attempts.size >= MAX_AT_ONCE) return false;
    return this.#ofWebhook.of(webhook) < MAX_OF_ONE && this.#ofOwner.of(owner) < this.#share;
  }

  async #turn<T>(webhook: string, owner: string, work: () => Promise<T>): Promise<T> {
    using _ofWebhook = this.#ofWebhook.add(webhook);
    using _ofOwner = this.#ofOwner.add(owner);
    return await work();
  }

  /** Makes one attempt. Never rejects: another attempt follows when the claim expires. */
  async #attempt(claimed: Claimed): Promise<void> {
    const { database, clock, logger, onFailure } = this.#options;
    try {
      if (clock() - Date.parse(claimed.due_at) > MAX_OVERDUE_MS) {
        await this.#fail(claimed, {
          error: "it has waited for too long",
          ...{ isGone: false, isOverdue: true, retryAfterMs: 0 },
        });
        return;
      }
      const webhook = await findWebhook(database.kysely, claimed.webhook_id);
      if (webhook === undefined) return;
      const outcome = await this.#post(webhook, claimed.id, claimed.body);
      if (outcome.kind === "delivered")
        await inTransaction(database.kysely, (transaction) => settleDelivery(transaction, claimed, iso(clock())));
      else if (this.#closing.signal.aborted) await releaseDelivery(database.kysely, claimed, iso(clock()));
      else await this.#fail(claimed, { ...outcome, isOverdue: false });
    } catch (error) {
      onFailure();
      logger?.error(
        { err: error, webhook: claimed.webhook_id },
        "could not finish a call of a webhook; it is repeated",
      );
    }
  }

  async #post({ id: webhookId, format }: WebhooksTable, id: string, message: string): Promise<AttemptOutcome> {
    const { database, keyring, destinations, clock, attemptMs = ATTEMPT_MS } = this.#options;
    const sealed = await openSealed(database.kysely, keyring, webhookId);
    if (sealed === undefined)
      return { kind: "failed", error: "the hub has lost the webhook's secret", isGone: false, retryAfterMs: 0 };
    const body = bodyOf(format, message);
    const headers = headersOf(sealed, id, body, clock());
    const signal = AbortSignal.any([AbortSignal.timeout(attemptMs), this.#closing.signal]);
    return post(destinations, new URL(sealed.url), { headers, body, signal });
  }

  async #fail(claimed: Claimed, { error, ...how }: { error: string } & Omit<FailedAttempt, "attempts">): Promise<void> {
    const { database, clock, logger, random = Math.random } = this.#options;
    const { id, webhook_id: webhook, event } = claimed;
    const attempts = Number(claimed.attempts);
    const now = clock();
    const attempt = { ...how, attempts };
    const pause = pauseAfter(attempt, random());
    const next = pause === undefined ? undefined : iso(now + pause);
    await inTransaction(database.kysely, async (transaction) => {
      const since = await failDelivery(transaction, claimed, { error, now: iso(now), next });
      if (since === undefined || next !== undefined) return;
      if (!disablesWebhook(attempt, now - Date.parse(since))) return;
      if (!(await disableWebhook(transaction, webhook, iso(now)))) return;
      const facts = { reason: error, failing_since: since };
      await insertAudit(transaction, { action: "webhook.disable", ...BY_HUB, subject: webhook, facts }, now);
      logger?.warn({ webhook, reason: error }, "disabled a webhook");
    });
    logger?.info({ webhook, message: id, event, attempts, error, next }, "a webhook was not delivered");
  }

  /** Waits briefly for attempts under way; the next hub takes the others. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    await settledWithin(Promise.all(this.#attempts), CLOSE_MS);
    this.#closing.abort();
    await Promise.all(this.#attempts);
  }
}
