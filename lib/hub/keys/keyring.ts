import { registerKeks, underKek } from "../records/keks.ts";
import type { Queries, TransactedIn } from "../records/port.ts";
import type { SealedSecret } from "../records/secrets.ts";
import type { Kek } from "./kek-file.ts";
import type { KekSource } from "./kek-source.ts";
import { seal, unseal } from "./sealing.ts";

/** Shortest interval between two checks of the source, in milliseconds, unless forced. */
const CHECK_INTERVAL_MS = 1000;

/** KEKs of a running hub, read again when the file has changed or a row names an unknown one. */
export class Keyring {
  readonly #source: KekSource;
  readonly #clock: () => number;
  #keks = new Map<string, Kek>();
  #newest: Kek | undefined;
  #version = "";
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(source: KekSource, clock: () => number) {
    this.#source = source;
    this.#clock = clock;
  }

  /** Reads the keys again when they may have changed. @throws `credential_unreadable` when they cannot be read */
  async refresh({ force = false } = {}): Promise<void> {
    const now = this.#clock();
    if (!force && now - this.#checkedAt < CHECK_INTERVAL_MS && now >= this.#checkedAt) return;
    const version = await this.#versionNow(force);
    if (version !== this.#version || version === "missing") {
      const keks = await this.#source.read();
      this.#keks = new Map(keks.map((kek) => [kek.id, kek]));
      this.#newest = keks.at(-1);
      this.#version = version;
    }
    this.#checkedAt = now;
  }

  async #versionNow(force: boolean): Promise<string> {
    if (this.#source.version !== undefined) return this.#source.version().catch(() => "missing");
    return force ? `asked ${this.#clock()}` : this.#version;
  }

  /** Time when the newest KEK was made, ISO 8601. */
  get newestSince(): string | undefined {
    return this.#newest?.createdAt;
  }

  get ids(): string[] {
    return [...this.#keks.keys()];
  }

  /** Seals a secret under the newest KEK. */
  async seal(secret: Uint8Array, context: readonly string[], { force = false } = {}): Promise<SealedSecret> {
    await this.refresh({ force });
    if (this.#newest === undefined) throw new Error("the keyring holds no KEK");
    return seal(secret, this.#newest, context);
  }

  /**
   * Unseals the secret that `read` finds. For an unknown KEK, reads the file and then the row again, since a rotation
   * may have changed them.
   *
   * @returns undefined when there is no such row
   */
  async open(read: () => Promise<SealedSecret | undefined>, context: readonly string[]): Promise<Buffer | undefined> {
    await this.refresh();
    for (let attempt = 0; attempt < 3; attempt++) {
      const row = await read();
      if (row === undefined) return undefined;
      const kek = this.#keks.get(row.kekId);
      if (kek !== undefined) return unseal(row, kek, context);
      await this.refresh({ force: true });
      const reread = this.#keks.get(row.kekId);
      if (reread !== undefined) return unseal(row, reread, context);
    }
    throw new Error("a record names a KEK that is not among the keys");
  }
}

/** Retries of sealing when the KEK was retired meanwhile. */
const RETRIES = 5;

/** Runs `work` in a transaction with a secret sealed under the newest KEK, or the next if that was retired. */
export async function sealInTransaction<T>(
  { db, keyring, now }: { db: Queries; keyring: Keyring; now: string },
  secret: Uint8Array,
  context: readonly string[],
  work: <In>(transaction: TransactedIn<In>, sealed: SealedSecret) => Promise<T>,
): Promise<T> {
  for (let attempt = 0; attempt < RETRIES; attempt++) {
    const sealed = await keyring.seal(secret, context, { force: attempt > 0 });
    if (attempt > 0) await registerKeks(db, keyring.ids, now);
    const outcome = await underKek(db, sealed.kekId, (transaction) => work(transaction, sealed));
    if (outcome !== undefined) return outcome.result;
  }
  throw new Error("the newest of the hub's KEKs is retired");
}
