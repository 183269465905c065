// Holds: how hosts follow a trust root (lib/agent/watch/followed-trust.ts)
import t from "tap";
import type { AgentEvent } from "../../../../lib/agent/base/events.ts";
import type { Source } from "../../../../lib/agent/sources/source.ts";
import { FollowedTrust } from "../../../../lib/agent/watch/followed-trust.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

/** Source that follows no root. */
const GIVEN = sourceOf("1.0.0", INSTALL);

const refused = (message: string): AgentEvent => ({
  ...{ event: "trust.refused", origin: "the hub", code: "trust_root_undersigned", message },
});
const followed: AgentEvent = { event: "trust.followed", root_id: "rt_0", version: 2, signers: [] };

t.test("a refusal is told once, and again after a version was followed; other places are asked once", async (t) => {
  const told: AgentEvent[] = [];
  const asked: (number | boolean | undefined)[][] = [];
  let next: AgentEvent = refused("too few");
  const source: Source = {
    ...GIVEN,
    followRoot({ emit }, named, asksOthers) {
      asked.push([named, asksOthers]);
      emit(next);
      return Promise.resolve();
    },
  };
  const trust = new FollowedTrust((event) => told.push(event));
  const layout = layoutOf(temporaryFolder(t));
  const check = () => trust.follow(source, layout, 2, new AbortController().signal);
  for (let count = 0; count < 3; count++) await check();
  t.strictSame(told, [refused("too few")]);
  next = refused("none at all");
  await check();
  t.equal(told.length, 2, "another one is told");
  next = followed;
  await check();
  next = refused("none at all");
  await check();
  t.strictSame(told.slice(2), [followed, refused("none at all")]);
  t.strictSame(asked, [[2, true], ...Array.from({ length: 5 }, () => [2, false])]);
});

t.test("a target that follows no root asks nobody", async (t) => {
  const told: AgentEvent[] = [];
  const trust = new FollowedTrust((event) => told.push(event));
  await trust.follow(GIVEN, layoutOf(temporaryFolder(t)), 2, new AbortController().signal);
  t.strictSame(told, []);
});
