// Holds: an end binds honest clocks, and no clock goes back before an accepted kit (lib/agent/sources/kits/host-kit.ts)
import t from "tap";
import { openHostKit } from "../../../../../lib/agent/sources/kits/host-kit.ts";
import { parseTarget, targetName } from "../../../../../lib/contract/target.ts";
import { acceptKit, readAcceptedKit } from "../../../../../lib/releases/kits.ts";
import { layoutOf } from "../../../../../lib/releases/layout.ts";
import { offlineSite } from "../../../../support/host/offline-site.ts";

t.test("clocks of 1970 and 2099", async (t) => {
  const { target, key, root, make, kitText } = await offlineSite(t);
  await target.publish("1.0.0");
  const folder = await make("kit", ["--expires", "1h"]);
  const { id: kit, made_at: madeAt } = (await kitText(folder)) as { id: string; made_at: string };
  const layout = layoutOf(root);
  const named = parseTarget(target.name);
  const events: { event: string }[] = [];
  const open = (allowsEnded = false) =>
    openHostKit({ folder, key, allowsEnded }, named, { layout, emit: (event) => void events.push(event) });
  const at = (time: string) => t.intercept(Date, "now", { value: () => Date.parse(time) });
  at("1970-01-01T00:00:00.000Z");
  const { notBefore } = await open();
  t.equal(notBefore, Date.parse(madeAt), "it cannot be earlier than the kit was made");
  at("2099-01-01T00:00:00.000Z");
  await t.rejects(open(), { code: "kit_ended", message: /it is 2099-01-01/ });
  t.equal((await open(true)).text.id, kit);
  t.match(events, [{ event: "warning" }]);
  at("1970-01-01T00:00:00.000Z");
  await acceptKit(layout, targetName(named), { kit, made_at: madeAt });
  t.equal((await open()).text.id, kit, "the same kit again");
  const later = { kit: `kit_${"0".repeat(32)}`, made_at: "2098-01-01T00:00:00.000Z" };
  await acceptKit(layout, targetName(named), later);
  await t.rejects(open(true), { code: "kit_older" });
  await acceptKit(layout, targetName(named), { kit, made_at: madeAt });
  t.match(await readAcceptedKit(layout, targetName(named)), later, "an older one replaces nothing");
});
