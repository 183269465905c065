import { HourlyNotes } from "./hourly-notes.ts";
import { isPostgres, type Queries } from "./port.ts";

/** Records when keys were last used. */
export class KeyUse extends HourlyNotes<string> {
  readonly #db: Queries;

  /** @param clock returns milliseconds since 1970 */
  constructor(db: Queries, clock: () => number) {
    super(clock);
    this.#db = db;
  }

  /** Records the use of a key. */
  note(keyId: string): void {
    this.noteOnce(keyId, () => keyId);
  }

  protected override async store(ids: readonly string[], now: number): Promise<void> {
    const last_used_at = new Date(now).toISOString();
    const db = this.#db;
    // In the order in which all transactions lock keys (locked.ts).
    const inOrder = db.selectFrom("api_keys").select("id").where("id", "in", ids).orderBy("id");
    await db
      .updateTable("api_keys")
      .set({ last_used_at })
      .where("id", "in", isPostgres(db) ? inOrder.forNoKeyUpdate() : inOrder)
      .execute();
  }
}
