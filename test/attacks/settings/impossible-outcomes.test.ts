// Holds: which host's word stops an apply (lib/fleet/admission.ts)
import { readFile } from "node:fs/promises";
import t from "tap";
import { liedToOperator, outcome } from "../../support/hub/lied-operator.ts";

const MOST = Number.MAX_SAFE_INTEGER;

t.test("a host that signs an impossible number harms itself alone", async (t) => {
  const world = await liedToOperator(t);
  const { hub, apply, run, file, folder, seven, eight, lockText } = world;
  hub.onUpload = () => world.answer(eight);
  hub.rows.get("pier-7")!.outcome = outcome(seven.key, { number: MOST });
  for (const words of ["", "--replace"]) {
    const said = await apply(words);
    t.match(said, { code: 4, stderr: /pier-7 says that it has settings with the number 9007199254740991/ }, words);
    t.match(said.stderr, /outcome_invalid[^]*settings remove pier-7/);
    t.notMatch(said.stderr, /does not list pier-7|internal/);
    t.match(eight.document, { number: 2, apps: { web: { A: "two" } } }, "the others get theirs");
    t.equal(seven.document?.number, 1);
    t.notMatch(lockText(), /pending|90071992547/);
  }
  const shown = await run(`settings show --fleet ${file}`);
  t.match(shown, { code: 0, stdout: /pier-7 .*refused \(outcome_invalid\)/, stderr: /pier-7 says that it has/ });
  t.equal(shown.stdout.match(/pier-7/g)?.length, 1, "it is one line of the list");
  hub.rows.get("pier-7")!.outcome = null;
  hub.onUpload = () => [seven, eight].forEach((host) => world.answer(host));
  t.match(await apply(), { code: 0, stderr: /pier-7: applied number 2/ }, "a word that it takes back is forgotten");
  t.match(JSON.parse(await readFile(`${folder}/fleet.lock`, "utf8")), { v: 1 });
});

t.test(
  "a host that speaks of settings which nobody knows stops no other, and --replace gives it newer ones",
  async (t) => {
    for (const more of [{ number: 4 }, { number: 1, digest: "cd".repeat(32) }]) {
      const world = await liedToOperator(t);
      const { hub, apply, seven, eight } = world;
      hub.rows.get("pier-7")!.outcome = outcome(seven.key, more);
      const said = await apply();
      t.match(said, { code: 4, stderr: /pier-7 says that it has (?:other )?settings with the number [14]/ });
      t.match(said.stderr, /--replace/);
      t.match([seven.document, eight.document], [{ number: 1 }, { number: 2, apps: { web: { A: "two" } } }]);
      world.change("one");
      t.match(await apply("--replace"), { code: 0 });
      t.match(seven.document, { number: more.number + 1, apps: { web: { A: "one" } } }, "with no change for it");
    }
  },
);
