import fc from "fast-check";
import t from "tap";
import { FIRST_VIEW, type Navigation, pasted, press, type Shown, TABS } from "../../../lib/tui/navigation.ts";

const SHOWN: Shown = {
  ...{ targets: ["a", "b", "c"], rows: 100, page: 10, deploying: false, watching: true, acting: true, paused: false },
  ...{ overlay: { rows: 30, page: 10 } },
};
const HERE: Navigation = { ...FIRST_VIEW, selected: "a" };

t.test("arrows select targets and stop at the ends", async (t) => {
  const down = (nav: Navigation) => press(nav, "", { downArrow: true }, SHOWN).nav;
  t.equal(down(HERE).selected, "b");
  t.equal(down(down(down(down(HERE)))).selected, "c");
  t.equal(press(HERE, "", { upArrow: true }, SHOWN).nav.selected, "a");
});

t.test("with one target alone arrows scroll", async (t) => {
  const one = { ...SHOWN, targets: ["a"] };
  t.equal(press({ ...HERE, tab: "fleet" }, "", { downArrow: true }, one).nav.scroll.fleet, 1);
});

t.test("Tab goes round the views, and numbers go straight there", async (t) => {
  let nav = HERE;
  for (const tab of [...TABS.slice(1), TABS[0]]) {
    nav = press(nav, "", { tab: true }, SHOWN).nav;
    t.equal(nav.tab, tab);
  }
  t.equal(press(HERE, "", { tab: true, shift: true }, SHOWN).nav.tab, "events");
  t.equal(press(HERE, "3", {}, SHOWN).nav.tab, "history");
});

t.test("scrolling stays within the rows", async () => {
  const key = fc.constantFrom(
    { input: "j", key: {} },
    { input: "k", key: {} },
    { input: "", key: { pageDown: true } },
    { input: "", key: { pageUp: true } },
    { input: "", key: { home: true } },
    { input: "", key: { end: true } },
  );
  fc.assert(
    fc.property(
      fc.array(key),
      fc.constantFrom(...TABS),
      fc.nat(50),
      fc.integer({ min: 1, max: 30 }),
      (keys, tab, rows, page) => {
        let nav: Navigation = { ...HERE, tab };
        for (const { input, key } of keys) nav = press(nav, input, key, { ...SHOWN, rows, page }).nav;
        return nav.scroll[tab] >= 0 && nav.scroll[tab] <= Math.max(0, rows - page);
      },
    ),
  );
});

t.test("events scroll back from their end", async (t) => {
  const events: Navigation = { ...HERE, tab: "events" };
  t.equal(press(events, "k", {}, SHOWN).nav.scroll.events, 1);
  t.equal(press(events, "", { home: true }, SHOWN).nav.scroll.events, 90);
});

t.test("what is typed into the search is text and no command", async (t) => {
  let nav = press(HERE, "/", {}, SHOWN).nav;
  t.match(nav, { searching: true, tab: "fleet" });
  for (const letter of "qrp") {
    const { nav: next, effect } = press(nav, letter, {}, SHOWN);
    t.equal(effect, undefined);
    nav = next;
  }
  t.equal(nav.search, "qrp");
  nav = press(nav, "", { backspace: true }, SHOWN).nav;
  t.equal(nav.search, "qr");
  t.match(press(nav, "", { return: true }, SHOWN).nav, { searching: false, search: "qr" });
  t.match(press(nav, "", { escape: true }, SHOWN).nav, { searching: false, search: "" });
});

t.test("keys ask for what they say, for the selected target", async (t) => {
  t.strictSame(press(HERE, "c", {}, SHOWN).effect, { act: "check", target: "a" });
  t.strictSame(press(HERE, "t", {}, SHOWN).effect, { act: "retry", target: "a" });
  t.strictSame(press(HERE, "p", {}, SHOWN).effect, { act: "pause", target: "a" });
  t.strictSame(press(HERE, "p", {}, { ...SHOWN, paused: true }).effect, { act: "resume", target: "a" });
  t.equal(
    press(HERE, "c", {}, { ...SHOWN, watching: false, acting: false }).effect,
    undefined,
    "a fleet alone has nothing to ask for",
  );
});

t.test("a dashboard that only looks asks for nothing", async (t) => {
  const looking = { ...SHOWN, acting: false };
  for (const key of ["c", "r", "b", "t", "p"]) {
    const { nav, effect } = press(HERE, key, {}, looking);
    t.equal(effect, undefined, key);
    t.equal(nav.confirming, undefined, key);
  }
  t.equal(press(HERE, "s", {}, looking).nav.order, "state", "it sorts all the same");
  t.equal(press(HERE, "l", {}, looking).nav.overlay?.kind, "log", "and shows logs");
});

t.test("a redeployment asks first", async (t) => {
  const { nav, effect } = press(HERE, "r", {}, SHOWN);
  t.equal(effect, undefined);
  t.equal(nav.confirming, "redeploy");
  t.strictSame(press(nav, "y", {}, SHOWN).effect, { act: "redeploy", target: "a" });
  t.match(press(nav, "n", {}, SHOWN), { effect: undefined, nav: { confirming: undefined } });
});

t.test("going back asks first", async (t) => {
  const { nav, effect } = press(HERE, "b", {}, SHOWN);
  t.equal(effect, undefined);
  t.equal(nav.confirming, "rollback");
  t.strictSame(press(nav, "y", {}, SHOWN).effect, { act: "rollback", target: "a" });
  t.match(press(nav, "b", {}, SHOWN), { effect: undefined, nav: { confirming: undefined } });
});

t.test("o changes the order of the hosts, from their first row on", async (t) => {
  const nav = press({ ...HERE, scroll: { ...HERE.scroll, fleet: 9 } }, "o", {}, SHOWN).nav;
  t.match(nav, { tab: "fleet", hosts: "name", scroll: { fleet: 0 } });
  let last = nav;
  for (let times = 0; times < 3; times++) last = press(last, "o", {}, { ...SHOWN, watching: false }).nav;
  t.equal(last.hosts, "failing");
});

t.test("q quits at once, but asks while something is being deployed", async (t) => {
  t.strictSame(press(HERE, "q", {}, SHOWN).effect, { quit: true });
  const asked = press(HERE, "q", {}, { ...SHOWN, deploying: true });
  t.equal(asked.effect, undefined);
  t.strictSame(press(asked.nav, "y", {}, SHOWN).effect, { quit: true });
  t.equal(press(asked.nav, "n", {}, SHOWN).effect, undefined);
  t.strictSame(
    press(HERE, "c", { ctrl: true }, { ...SHOWN, deploying: true }).effect,
    { quit: true },
    "Ctrl+C does not ask",
  );
});

t.test("the help goes away with any key, which does nothing else", async (t) => {
  const { nav } = press(HERE, "?", {}, SHOWN);
  t.equal(nav.overlay?.kind, "help");
  t.match(press(nav, "p", {}, SHOWN), { nav: { overlay: undefined }, effect: undefined });
});

t.test("Enter opens the details, which scroll, are copied with y, and close with Enter, Esc or q", async (t) => {
  const { nav } = press(HERE, "", { return: true }, SHOWN);
  t.strictSame(nav.overlay, { kind: "detail", at: 0 });
  t.equal(press(nav, "j", {}, SHOWN).nav.overlay?.at, 1);
  t.equal(press(nav, "", { downArrow: true }, SHOWN).nav.overlay?.at, 1, "arrows scroll here, and select nothing");
  t.equal(press(nav, "", { end: true }, SHOWN).nav.overlay?.at, 20);
  t.strictSame(press(nav, "y", {}, SHOWN).effect, { copy: true });
  t.equal(press(nav, "p", {}, SHOWN).effect, undefined, "no other key does anything to a target");
  for (const [input, key] of [
    ["", { return: true }],
    ["", { escape: true }],
    ["q", {}],
  ] as const) {
    t.match(press(nav, input, key, SHOWN), { nav: { overlay: undefined }, effect: undefined });
  }
});

t.test("l opens the log of the selected target, which scrolls back from its end", async (t) => {
  const { nav } = press(HERE, "l", {}, SHOWN);
  t.strictSame(nav.overlay, { kind: "log", at: 0 });
  const back = press(nav, "", { upArrow: true }, SHOWN).nav;
  t.match(back, { selected: "a", overlay: { kind: "log", at: 1 } });
  t.equal(press(back, "", { end: true }, SHOWN).nav.overlay?.at, 0);
  t.equal(press(back, "l", {}, SHOWN).nav.overlay, undefined);
  t.equal(press(HERE, "l", {}, { ...SHOWN, watching: false }).nav.overlay, undefined, "a fleet alone has no logs");
});

t.test("a log is searched: every key is text until Enter keeps it or Esc clears it", async (t) => {
  let { nav } = press(HERE, "l", {}, SHOWN);
  for (const key of ["/", "q", "l", "j"]) nav = press(nav, key, {}, SHOWN).nav;
  t.match(nav.overlay, { kind: "log", find: "qlj", finding: true });
  nav = press(nav, "", { backspace: true }, SHOWN).nav;
  nav = pasted(nav, " 500\nrm");
  nav = press(nav, "", { return: true }, SHOWN).nav;
  t.match(nav.overlay, { kind: "log", find: "ql 500", finding: false });
  nav = press(nav, "k", {}, SHOWN).nav;
  t.match(nav.overlay, { at: 1, find: "ql 500" }, "scrolling keeps it");
  nav = press(nav, "", { escape: true }, SHOWN).nav;
  t.match(nav.overlay, { kind: "log", find: "" }, "Esc clears the search first");
  t.equal(press(nav, "", { escape: true }, SHOWN).nav.overlay, undefined, "and then closes the log");
});

t.test("a paste is text for an open search, and does nothing elsewhere", async (t) => {
  t.equal(pasted(HERE, "rq\ny"), HERE);
  const { nav } = press(HERE, "/", {}, SHOWN);
  t.match(pasted(nav, "web-\u001b3\nrm -rf"), { searching: true, search: "web-3" });
});

t.test("s sorts the targets, round and round", async (t) => {
  let nav = HERE;
  for (const order of ["state", "name", "listed"]) {
    nav = press(nav, "s", {}, SHOWN).nav;
    t.equal(nav.order, order);
  }
});
