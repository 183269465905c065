import type { Queries } from "./port.ts";

/** Writes down what the hubs of one database have to remember. */
export async function writeState(db: Queries, name: string, value: string): Promise<void> {
  await db
    .insertInto("hub_state")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}

export async function readState(db: Queries, name: string): Promise<string | undefined> {
  const row = await db.selectFrom("hub_state").select("value").where("name", "=", name).executeTakeFirst();
  return row?.value;
}
