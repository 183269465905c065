import { readFileSync } from "node:fs";
import type { Test } from "tap";
import { startPostgresServer } from "../hub/postgres-server.ts";
import type { Past } from "./fixture.ts";

/** Puts the database of 0.1.0 into a PostgreSQL whose clock stands where that of the fixture does. @returns its URL */
export async function restoreDump(t: Test, { path, made_at: madeAt }: Past): Promise<string> {
  const server = await startPostgresServer(t);
  if (server === undefined) throw new Error("PostgreSQL is missing");
  await server.run(readFileSync(path("postgres/dump.sql"), "utf8"));
  const offsetMs = Date.parse(madeAt) - Date.now();
  await server.run(
    `create function public.clock_timestamp() returns timestamptz language sql volatile as
      $$ select pg_catalog.clock_timestamp() + interval '${offsetMs} milliseconds' $$`,
    "alter role hub set search_path = public, pg_catalog",
  );
  return server.url;
}
