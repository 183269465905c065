import t from "tap";
import { usageError } from "../../../../lib/contract/errors.ts";
import { concernsConnection, storageError } from "../../../../lib/hub/base/storage-error.ts";
import { createHub } from "../../../../lib/hub/hub.ts";
import { startPostgres } from "../../../support/hub/postgres-server.ts";

const failed = (facts: object) => Object.assign(new Error("it failed."), facts);

t.test("what is merely away is tried again, what is wrong is told to a person", async (t) => {
  const away = [
    { code: "ECONNREFUSED" },
    { code: "EAI_AGAIN" },
    { code: "57P03" },
    { code: "08006" },
    { name: "TimeoutError" },
    { name: "SlowDown", $metadata: { httpStatusCode: 503 } },
    { message: "timeout exceeded when trying to connect" },
  ];
  for (const facts of away)
    t.match(
      storageError("It", failed(facts), "hint"),
      { code: "connection_failed", exitCode: 75 },
      JSON.stringify(facts),
    );
  const wrong = [
    { code: "28P01" },
    { code: "3D000" },
    { name: "NoSuchBucket", $metadata: { httpStatusCode: 404 } },
    { name: "CredentialsProviderError" },
  ];
  for (const facts of wrong)
    t.match(
      storageError("It", failed(facts), "hint"),
      { code: "usage", exitCode: 2, hint: "hint" },
      JSON.stringify(facts),
    );
});

t.test("the message says what, without a full stop too many", async (t) => {
  t.equal(
    storageError("The bucket", failed({ name: "NoSuchBucket" }), "").message,
    "The bucket cannot be used: NoSuchBucket: it failed.",
  );
  const several = Object.assign(new AggregateError([], ""), { code: "ECONNREFUSED" });
  t.equal(storageError("It", several, "").message, "It cannot be reached: ECONNREFUSED.");
  const known = usageError("usage", "known");
  t.equal(storageError("It", known, ""), known);
});

t.test("an error of a statement is none of the connection", async (t) => {
  for (const code of ["42601", "23505", undefined]) t.notOk(concernsConnection(failed({ code })), String(code));
  for (const code of ["ECONNRESET", "28000", "53300"]) t.ok(concernsConnection(failed({ code })), code);
});

t.test("a PostgreSQL that is not there is told without its password", async (t) => {
  const start = createHub({ dataDir: t.testdir({}), databaseUrl: "postgres://hub:verysecret@127.0.0.1:1/hub" });
  const error = await start.catch((thrown: unknown) => thrown);
  t.match(error, {
    code: "connection_failed",
    exitCode: 75,
    message: /PostgreSQL database cannot be reached: .*ECONNREFUSED/,
  });
  t.notMatch(JSON.stringify(error), /verysecret/);
});

t.test("a database that does not exist is for a person to correct", async (t) => {
  const url = await startPostgres(t);
  if (url === undefined) {
    t.plan(0, "PostgreSQL is not installed");
    return;
  }
  const databaseUrl = url.replace(/postgres$/, "missing");
  const wrong = { code: "usage", exitCode: 2, message: /"missing" does not exist/, hint: /--database-url/ };
  await t.rejects(createHub({ dataDir: t.testdir({}), databaseUrl }), wrong);
});
