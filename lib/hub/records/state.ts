import type { Queries } from "./port.ts";

/** Keeps a value that the hubs of one database share. */
export async function writeState(db: Queries, name: string, value: string): Promise<void> {
  await db
    .insertInto("hub_state")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}
