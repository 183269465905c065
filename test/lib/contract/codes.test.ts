import t from "tap";
import { CODES, EXIT } from "../../../lib/contract/codes.ts";
import { asSealiftError, isAbort, SealiftError } from "../../../lib/contract/errors.ts";

t.test("every code has a meaning and one of the documented exit codes", async (t) => {
  const exits = new Set<number>(Object.values(EXIT));
  for (const [code, { exit, meaning }] of Object.entries(CODES)) {
    t.ok(exits.has(exit), code);
    t.notOk(exit === 0, `${code}: an error never ends with 0`);
    t.match(code, /^[a-z][a-z0-9_]*$/);
    t.match(meaning, /^[A-Z].*\.$/s, code);
  }
});

t.test("exit codes are the table of docs/errors.md", async (t) => {
  t.strictSame(EXIT, {
    ...{ done: 0, failed: 1, usage: 2, rejected: 3, verification: 4, refused: 5, rolledBack: 6 },
    ...{ notApproved: 7, unsettled: 70, tryAgain: 75, interrupted: 130 },
  });
  const of = (exit: number) =>
    Object.entries(CODES)
      .filter(([, entry]) => entry.exit === exit)
      .map(([code]) => code);
  t.strictSame(of(6), ["rolled_back"]);
  t.strictSame(of(130), ["interrupted"]);
  t.strictSame(of(3).toSorted(), [
    ...["forbidden", "host_removed", "invite_ended", "invite_other_host", "key_missing", "key_rejected"],
    ...["other_host", "own_approval", "publisher_differs"],
  ]);
  for (const code of ["connection_failed", "timed_out", "rate_limited", "hub_unavailable", "root_busy"])
    t.ok(of(75).includes(code), code);
  for (const code of ["signature_invalid", "decryption_failed", "member_unsafe", "manifest_mismatch", "plan_invalid"])
    t.ok(of(4).includes(code), code);
});

t.test("an error says its kind, code and exit code, and its JSON has no more than it was given", async (t) => {
  const error = new SealiftError("ArtifactError", "zstd_invalid", "It is broken.", {
    hint: "Build it again.",
    status: 200,
  });
  t.equal(error.name, "ArtifactError");
  t.equal(error.exitCode, 4);
  t.strictSame(JSON.parse(JSON.stringify(error)), {
    ...{ kind: "ArtifactError", code: "zstd_invalid", message: "It is broken." },
    ...{ hint: "Build it again.", status: 200 },
  });
});

t.test("whatever is thrown becomes an error with a code", async (t) => {
  const own = new SealiftError("UsageError", "usage", "x");
  t.equal(asSealiftError(own), own);
  const errno = (code: string) => Object.assign(new Error(code), { code });
  t.match(asSealiftError(errno("ENOSPC")), { code: "disk_full", exitCode: 75 });
  t.match(asSealiftError(errno("EDQUOT")), { code: "disk_full" });
  t.match(asSealiftError(errno("EACCES")), { code: "root_unusable" });
  t.match(asSealiftError(errno("EROFS")), { code: "root_unusable" });
  t.match(asSealiftError(new TypeError("x is not a function")), { code: "internal", exitCode: 1 });
  t.match(asSealiftError("a string"), { code: "internal", message: "a string" });
  const abort = new DOMException("aborted", "AbortError");
  t.ok(isAbort(abort));
  t.match(asSealiftError(abort), { code: "interrupted", exitCode: 130 });
});
