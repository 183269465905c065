// Holds: which failures blame a version (lib/contract/blame.ts)
import t from "tap";
import {
  BLAMELESS,
  blamesVersion,
  causeOfMessage,
  CUT_SHORT,
  HELD_APPLICATION,
  HELD_POLICY,
  HELD_RIGHTS,
  INTERRUPTED,
} from "../../../lib/contract/blame.ts";
import { CODES, EXIT } from "../../../lib/contract/codes.ts";
import { artifactError, asSealiftError, deploymentError } from "../../../lib/contract/errors.ts";
import { isFailing, reportedState, waitCause } from "../../../lib/contract/surfaces/host-record.ts";
import { condemns } from "../../../lib/releases/quarantine.ts";

const FAILED = { version: "2.0.0", running_version: "1.0.0", status: "failed", error_message: "no" } as const;

t.test("a code that is not in the table blames the version, also one that nobody here knows", (t) => {
  for (const code of ["unhealthy", "supervisor_failed", "migration_failed", "signature_invalid", "plan_invalid"])
    t.equal(blamesVersion(code), true, code);
  for (const code of ["deadline_exceeded", "internal", "quarantined", "not_found", "code_of_0_9_0", "constructor"])
    t.equal(blamesVersion(code), true, code);
  t.match(isFailing({ ...FAILED, code: "code_of_0_9_0" }), true);
  t.match(isFailing(FAILED), true, "so does a report without a code");
  t.end();
});

t.test("bytes that fail a check, and what a release does once it runs, are never excused", (t) => {
  // What a stick says of itself is as little the version's as what a hub says.
  const ofRelease = Object.entries(CODES).filter(([code]) => !code.startsWith("kit_"));
  for (const [code, { exit }] of ofRelease)
    if (exit === EXIT.verification || exit === EXIT.rolledBack) t.equal(blamesVersion(code), true, code);
  t.end();
});

t.test("no code that blames no version quarantines one", (t) => {
  for (const code of Object.keys(BLAMELESS) as (keyof typeof BLAMELESS)[])
    for (const switched of [true, false]) t.equal(condemns(deploymentError(code, ""), switched), false, code);
  t.equal(condemns(artifactError("signature_invalid", ""), false), true);
  t.equal(condemns(deploymentError("unhealthy", ""), true), true);
  t.end();
});

t.test("a host that waits is not failing, in words and counts, whatever ran before", (t) => {
  for (const [code, cause] of Object.entries(BLAMELESS)) {
    for (const status of ["failed", "rolled_back"] as const) {
      const record = { ...FAILED, status, code };
      t.same([waitCause(record), isFailing(record), reportedState(record)], [cause, false, "held"], code);
    }
  }
  const sick = {
    ...FAILED,
    code: "interrupted",
    health: { state: "unhealthy", since: "2026-11-29T10:00:00Z" },
  } as const;
  t.same(
    [waitCause(sick), isFailing(sick), reportedState(sick)],
    [undefined, true, "failed"],
    "but an unhealthy one is",
  );
  const past = { ...FAILED, code: "interrupted", superseded: true };
  t.same([waitCause(past), isFailing(past), reportedState(past)], [undefined, false, "ok"]);
  t.end();
});

t.test("hosts of earlier releases name no code: the agent's own sentences stand for it", (t) => {
  for (const [message, cause] of [
    [INTERRUPTED, "interrupted"],
    [asSealiftError(new DOMException("", "AbortError")).message, "interrupted"],
    [CUT_SHORT, "interrupted"],
    ["No space left on the disk of /srv/sealift. The previous release is back.", "host"],
    ["The project root is in use by process 7.", "host"],
    ["The hub answered 503: it is full (downloading).", "hub"],
    [`${HELD_RIGHTS}network: all`, "rights"],
    [`${HELD_POLICY}no SBOM`, "policy"],
    [`${HELD_APPLICATION}web is not allowed`, "application"],
  ] as const)
    t.equal(causeOfMessage(message), cause, message);
  for (const message of [
    "",
    "unhealthy: Interrupted by a signal.",
    "apps/web: Interrupted by a signal.",
    "web says: No space left on the disk",
    "tide-table answered 500: The hub answered 503.",
  ])
    t.equal(causeOfMessage(message), undefined, message);
  t.equal(isFailing({ ...FAILED, code: "unhealthy", error_message: INTERRUPTED }), true, "a code decides alone");
  t.end();
});
