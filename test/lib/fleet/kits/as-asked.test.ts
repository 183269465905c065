// Holds: which answers of a hub are the kit that it was asked for (lib/fleet/kits/as-asked.ts)
import t from "tap";
import { hostKeyOf, newHostSeed } from "../../../../lib/artifact/sealed/host-key.ts";
import { requireAsAsked } from "../../../../lib/fleet/kits/as-asked.ts";

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 5, 1);
const iso = (ms: number): string => new Date(ms).toISOString();
const [seven, eight, stranger] = ["pier-7", "pier-8", "pier-9"].map((host_id) => {
  const { x25519, ed25519, fingerprint } = hostKeyOf(newHostSeed());
  return { host: { host_id, x25519, ed25519 }, fingerprint };
}) as [Sealed, Sealed, Sealed];
interface Sealed {
  host: { host_id: string; x25519: string; ed25519: string };
  fingerprint: string;
}

t.test("a kit is for the hosts that were asked for, and for no other", (t) => {
  const answer =
    (...of: Sealed[]) =>
    () =>
      requireAsAsked(
        {
          ...{ hosts: Object.fromEntries(of.map(({ fingerprint }) => [fingerprint, "sealed"])) },
          ...{ made_at: iso(NOW), ends_at: iso(NOW + MINUTE) },
        },
        { hosts: [seven.host, eight.host], lastsS: 60 },
        NOW,
      );
  t.doesNotThrow(answer(eight, seven));
  t.throws(answer(seven), { code: "bad_answer", message: /it is not sealed to pier-8/ });
  t.throws(answer(seven, stranger), { code: "bad_answer", message: /it is not sealed to pier-8/ });
  t.throws(answer(seven, eight, stranger), { code: "bad_answer", message: /it is for 3 hosts, and not for 2/ });
  t.end();
});

t.test("a kit begins now, to the hour, and ends as asked, to the second", (t) => {
  const answer = (madeMs: number, lastsMs: number) => () =>
    requireAsAsked(
      { hosts: { [seven.fingerprint]: "sealed" }, made_at: iso(NOW + madeMs), ends_at: iso(NOW + madeMs + lastsMs) },
      { hosts: [seven.host], lastsS: 60 },
      NOW,
    );
  for (const madeMs of [-60 * MINUTE, 0, 60 * MINUTE])
    for (const lastsMs of [MINUTE - 1000, MINUTE, MINUTE + 1000]) t.doesNotThrow(answer(madeMs, lastsMs));
  for (const madeMs of [-61 * MINUTE, 61 * MINUTE])
    t.throws(answer(madeMs, MINUTE), { code: "bad_answer", message: /it says that it was made at / });
  for (const lastsMs of [MINUTE - 1001, MINUTE + 1001, 0, 9e9])
    t.throws(answer(0, lastsMs), { code: "bad_answer", message: /was asked to last 60 seconds/ });
  t.end();
});
