import fc from "fast-check";
import t from "tap";
import { keyPresses } from "../../../lib/tui/key-presses.ts";
import { FIRST_VIEW, type Navigation, press, type Shown } from "../../../lib/tui/navigation.ts";

const SHOWN: Shown = {
  ...{ targets: ["a"], rows: 100, page: 10 },
  ...{ deploying: false, watching: true, acting: true, paused: false },
};

t.test("what comes in one read does the same as what comes key by key", async () => {
  const after = (presses: ReturnType<typeof keyPresses>): Navigation =>
    presses.reduce<Navigation>((nav, { input, key }) => press(nav, input, key, SHOWN).nav, {
      ...FIRST_VIEW,
      selected: "a",
    });
  const characters = fc.array(fc.constantFrom(...["/", "a", "1", "f", "é", "👩", "\r", "\t", "j", "?", " "]), {
    maxLength: 20,
  });
  fc.assert(
    fc.property(characters, (typed) => {
      const atOnce = after(keyPresses(typed.join(""), {}));
      const named = { "\r": { return: true }, "\t": { tab: true } } as Record<
        string,
        { return?: boolean; tab?: boolean }
      >;
      const oneByOne = after(
        typed.map((input) => (input in named ? { input: "", key: named[input]! } : { input, key: {} })),
      );
      return typed.length < 2 || JSON.stringify(atOnce) === JSON.stringify(oneByOne);
    }),
  );
});

t.test("a search that arrives at once with its slash is a search", async (t) => {
  let nav: Navigation = { ...FIRST_VIEW, selected: "a" };
  for (const { input, key } of keyPresses("/nobody\r", {})) nav = press(nav, input, key, SHOWN).nav;
  t.match(nav, { tab: "fleet", search: "nobody", searching: false });
});

t.test("keys with a name of their own stay whole", async (t) => {
  t.strictSame(keyPresses("c", { ctrl: true }), [{ input: "c", key: { ctrl: true } }]);
});
