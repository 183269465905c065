import t from "tap";
import { actionsOf, pressRollout, ROLLOUT_KEYS, type RolloutPlace } from "../../../../lib/tui/rollouts/keys.ts";

const FIRST: RolloutPlace = { helping: false, confirming: undefined };

t.test("an action is carried out after y, and after no other key", (t) => {
  const can = actionsOf({ state: "running", waiting: "approval" });
  t.strictSame(can, ["approve", "pause", "abort"]);
  for (const [key, action] of Object.entries({ a: "approve", p: "pause", x: "abort" })) {
    const asked = pressRollout(FIRST, key, {}, can);
    t.match(asked, { place: { confirming: action }, effect: undefined });
    t.match(pressRollout(asked.place, "y", {}, can), { place: { confirming: undefined }, effect: { act: action } });
    for (const other of ["n", "q", key, "", "Y"])
      t.strictSame(pressRollout(asked.place, other, {}, can), { place: FIRST }, `${key}, then ${other}`);
  }
  t.end();
});

t.test("a key does nothing where its action is not possible, also when that ends while it is asked about", (t) => {
  t.strictSame(actionsOf({ state: "running", waiting: "soak" }), ["pause", "abort"]);
  t.strictSame(actionsOf({ state: "halted", waiting: null }), ["resume", "abort"]);
  t.strictSame(actionsOf({ state: "completed", waiting: null }), []);
  t.strictSame(pressRollout(FIRST, "r", {}, ["pause"]), { place: FIRST });
  t.strictSame(pressRollout({ ...FIRST, confirming: "pause" }, "y", {}, ["resume"]), { place: FIRST });
  t.end();
});

t.test("? shows the keys, any key closes them, and q quits", (t) => {
  const { place } = pressRollout(FIRST, "?", {}, []);
  t.equal(place.helping, true);
  t.equal(pressRollout(place, "p", {}, ["pause"]).place.helping, false);
  t.match(pressRollout(place, "q", {}, []), { effect: { quit: true } });
  t.match(pressRollout(FIRST, "q", {}, []), { effect: { quit: true } });
  t.match(pressRollout({ ...FIRST, confirming: "abort" }, "c", { ctrl: true }, []), { effect: { quit: true } });
  t.strictSame(
    ROLLOUT_KEYS.flatMap(({ action }) => action ?? []),
    ["approve", "pause", "resume", "abort"],
  );
  t.end();
});
