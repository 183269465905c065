// Holds: which words of hosts an operator reads (lib/contract/settings/texts.ts)
import t from "tap";
import { settingsOutcome } from "../../../lib/contract/settings/texts.ts";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { liedToOperator, outcome } from "../../support/hub/lied-operator.ts";
import { withSettings } from "../../support/hub/settings.ts";

const LINE = "✓ pier-9: applied number 7";
const FORGED = [
  { name: `web.X (settings_undeclared)\n${LINE}`, code: "settings_undeclared" },
  { name: "web.X", code: `settings_undeclared)\n${LINE}` },
  { name: "web.X\u202e", code: "settings_undeclared" },
  { name: "web.X", code: "Not A Code" },
  { name: "web.9X", code: "settings_undeclared" },
  { name: ".X", code: "settings_undeclared" },
  { name: "", code: "app_stopped" },
];

t.test("a host writes no line of its own on the operator's terminal", async (t) => {
  for (const ignored of FORGED) {
    const { hub, answer, apply, run, file, seven, eight } = await liedToOperator(t);
    eight.answers = undefined;
    hub.onUpload = (documents) => {
      answer(seven);
      for (const { host_id: host, number } of documents)
        if (host === "pier-8") hub.rows.get(host)!.outcome = outcome(eight.key, { number, ignored: [ignored] });
    };
    const said = await apply("--wait 50ms");
    t.match(said, { code: 75, stderr: /settings_unfinished/ }, "nothing was said that counts");
    const shown = await run(`settings show --fleet ${file}`);
    for (const text of [said.stdout, said.stderr, shown.stdout, shown.stderr]) t.notMatch(text, "pier-9");
  }
});

t.test("nor does a hub, by labels that it says of hosts", async (t) => {
  const { hub, run, file } = await liedToOperator(t);
  hub.labels = { "pier-7": { env: `test.\n${LINE}` } };
  const { stderr } = await run(`settings show --fleet ${file}`);
  t.notMatch(stderr, /^✓ pier-9/m);
});

t.test("a hub keeps no such outcome", async (t) => {
  const hub = await startHub(t);
  const { host, sendCard, say, upload } = await withSettings(hub);
  const seven = await host("pier-7");
  await sendCard(seven);
  await upload([seven.document(1, null)]);
  for (const ignored of FORGED)
    isErrorBody(t, await say(seven.api, seven.outcome(1, { ignored: [ignored] })), 422, "outcome_invalid");
});

t.test("what hosts say in earnest has the form", async (t) => {
  const facts = { t: "sealift-outcome", v: 1, project: "prj_harbour00001", to: "ab".repeat(32), number: 1 };
  const said = { ...facts, digest: "ab".repeat(32), state: "applied", code: null, at: new Date().toISOString() };
  const ignored = [
    { name: "web.LOG_LEVEL", code: "settings_undeclared" },
    { name: "9.shop-api_v2._x", code: "settings_foreign" },
    { name: `${"a".repeat(128)}.${"B".repeat(128)}`, code: "settings_reserved" },
    { name: "web", code: "app_stopped" },
    { name: "web.v2", code: "no_version" },
  ];
  t.strictSame(settingsOutcome.parse({ ...said, ignored }).ignored, ignored);
});
