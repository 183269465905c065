// Only in test:all: other tests run with faults put in.
/** Faults of a kind that once passed all tests: each is put into the sources, and the test that guards must fail. */
import { spawnSync } from "node:child_process";
import t from "tap";

const FAULTS = [
  {
    what: "an index that is gone",
    file: "lib/hub/records/version-tables.ts",
    find: `versions_newest: ["project_id", "id"],`,
    replace: "",
    test: "test/golden/query-plans.test.ts",
  },
  {
    what: "a page behind the code",
    file: "lib/contract/audit-actions.ts",
    find: `  "quota.remove": {`,
    replace: `  "quota.double": { meaning: "it was doubled" },\n  "quota.remove": {`,
    test: "test/docs/named.test.ts",
  },
  {
    what: "a mark that is not carried over",
    file: "lib/hub/records/insert-version.ts",
    find: "...Object.keys(UNMARKED)]",
    replace: '...Object.keys(UNMARKED).filter((name) => name !== "is_yanked")]',
    test: "test/lib/hub/versions.test.ts",
  },
  {
    what: "a hook that is forgotten",
    file: "lib/hub/mounts/project-manage.ts",
    find: `await tell({ action: "project.transfer", subject: subjectOf(target), facts });`,
    replace: "",
    test: "test/lib/hub/audited-actions.test.ts",
  },
  {
    what: "a column that is not copied",
    file: "lib/hub/records/copy.ts",
    find: "for (const row of rows) yield { table, row };",
    replace:
      "for (const row of rows) yield { table, row: 'yanked_reason' in row ? { ...row, yanked_reason: null } : row };",
    test: "test/lib/hub/backup/every-column.test.ts",
  },
];

for (const { what, test, ...fault } of FAULTS)
  t.test(`${what} is found by ${test}`, (t) => {
    const hooks = ["./test/support/tsx.ts", "./test/support/programs/put-in-fault.ts"];
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["--disable-warning=ExperimentalWarning", ...hooks.map((hook) => `--import=${hook}`), test],
      { env: { ...process.env, PUT_IN_FAULT: JSON.stringify(fault), TAP_CHILD_ID: "fault" }, encoding: "utf8" },
    );
    t.equal(status, 1, "the test ends with 1");
    if (status !== 1) t.comment(`${stdout}\n${stderr}`.slice(-2000));
    t.ok(/^\s*not ok/m.test(stdout), "because of an assertion");
    t.notOk((stdout + stderr).includes("has not once"), "the fault was put in");
    t.end();
  });
