// Holds: which cards an operator believes (lib/fleet/admission.ts)
import t from "tap";
import { makeCard } from "../../../lib/artifact/sealed/card.ts";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import {
  BOTH,
  forgedCard,
  hearLies,
  type LiedToOperator,
  type OperatorLie,
  outcome,
  told,
} from "../../support/hub/lied-operator.ts";
import { DOUBLE_PROJECT } from "../../support/hub/settings-double.ts";
import { termsOf } from "../../support/hub/settings-fleet.ts";

/** Hub that shows a newcomer. */
const shows =
  (card: (world: LiedToOperator) => string, terms: (world: LiedToOperator) => string | null = () => null) =>
  (world: LiedToOperator): unknown =>
    world.hub.put("pier-9", card(world), terms(world));

const LIES: readonly OperatorLie[] = [
  told("its own key under a known name", 4, /host_key_changed/, ["pier-8"], ({ hub, evil }) =>
    Object.assign(hub.rows.get("pier-7")!, { card: forgedCard(evil, { name: "pier-7" }) }),
  ),
  told(
    "its own key in the card of a known host, with the host's signature",
    4,
    /host_key_changed/,
    ["pier-8"],
    ({ hub, evil, seven }) =>
      Object.assign(hub.rows.get("pier-7")!, {
        card: forgedCard(evil, { name: "pier-7", ed25519: seven.key.ed25519 }),
      }),
  ),
  told("the names of two hosts the other way round", 4, /host_renamed/, [], ({ hub }) => {
    const [a, b] = BOTH.map((name) => hub.rows.get(name)!);
    [a!.card, b!.card] = [b!.card, a!.card];
  }),
  told("a known key under another name, too", 4, /host_renamed/, BOTH, ({ hub }) =>
    hub.put("pier-9", hub.rows.get("pier-7")!.card!, hub.rows.get("pier-7")!.terms),
  ),
  told(
    "a newcomer without an invite",
    0,
    undefined,
    BOTH,
    shows(({ evil }) => forgedCard(evil)),
  ),
  told(
    "a newcomer by the invite of another host",
    4,
    /card_invalid/,
    BOTH,
    shows(
      ({ evil, terms }) => forgedCard(evil, { terms: terms.seven.digest }),
      ({ terms }) => terms.seven.text,
    ),
  ),
  told(
    "a newcomer by a used invite, whose line it has found",
    4,
    /card_invalid/,
    BOTH,
    shows(
      ({ evil, terms }) =>
        makeCard({ project: DOUBLE_PROJECT, name: "pier-9" }, evil, {
          digest: terms.seven.digest,
          seed: terms.seven.secret.seed,
        }),
      ({ terms }) => terms.seven.text,
    ),
  ),
  told(
    "a newcomer by terms of its own",
    4,
    /card_invalid/,
    BOTH,
    shows(
      ({ evil }) => {
        const own = termsOf(Buffer.alloc(32, 7));
        return makeCard({ project: DOUBLE_PROJECT, name: "pier-9" }, evil, {
          digest: own.digest,
          seed: own.secret.seed,
        });
      },
      () => termsOf(Buffer.alloc(32, 7)).text,
    ),
  ),
  told(
    "a newcomer with terms that were changed",
    4,
    /(?:terms|card)_invalid/,
    BOTH,
    shows(
      ({ evil, terms }) => forgedCard(evil, { terms: terms.seven.digest }),
      ({ terms }) => terms.seven.text.replace("pier-7", "pier-9"),
    ),
  ),
  told(
    "a newcomer whose terms it has lost",
    4,
    /card_invalid/,
    BOTH,
    shows(({ evil, terms }) => forgedCard(evil, { terms: terms.seven.digest })),
  ),
  told(
    "a newcomer with the public keys of another",
    4,
    /card_invalid/,
    BOTH,
    shows(({ evil, seven }) =>
      forgedCard({ ...evil, ed25519: hostKeyOf(newHostSeed()).ed25519, x25519: seven.key.x25519 }),
    ),
  ),
  told(
    "a newcomer to whom what is sealed is open to everybody",
    4,
    /card_invalid/,
    BOTH,
    shows(({ evil }) => forgedCard(evil, { x25519: "00".repeat(32) })),
  ),
  told(
    "a newcomer with a key of low order",
    4,
    /card_invalid/,
    BOTH,
    shows(({ evil }) => forgedCard(evil, { ed25519: `01${"00".repeat(31)}` })),
  ),
  told(
    "a newcomer of another project",
    4,
    /card_invalid/,
    BOTH,
    shows(({ evil }) => forgedCard(evil, { project: `prj_${"f".repeat(32)}` })),
  ),
  told(
    "a newcomer whose card has a key twice",
    4,
    /card_invalid/,
    BOTH,
    shows(({ evil }) => forgedCard(evil).replace('"v":1', '"v":1,"v":1')),
  ),
  told(
    "a newcomer with a card of a megabyte",
    4,
    /card_invalid/,
    BOTH,
    shows(({ evil }) => forgedCard(evil) + " ".repeat(1 << 20)),
  ),
  told(
    "a newcomer with an outcome for a card",
    4,
    /card_invalid/,
    BOTH,
    shows(({ evil }) => outcome(evil, {})),
  ),
  told("a newcomer by an invite that has ended", 0, /1 new host got nothing/, BOTH, ({ seed, join: joins }) =>
    joins("pier-9", termsOf(seed, { hosts: ["pier-9"], uses: 1, expires_at: "2026-01-01T00:00:00Z" })),
  ),
  told(
    "two newcomers by an invite for one",
    4,
    /card_invalid/,
    BOTH,
    ({ seed, join: joins }) => {
      const one = termsOf(seed, { uses: 1 });
      joins("pier-9", one);
      joins("pier-10", one);
    },
    "--accept-new",
  ),
  told(
    "one card under two names",
    4,
    /host_renamed|card_invalid/,
    ["pier-7", "pier-8", "pier-9"],
    ({ seed, hub, join: joins }) => {
      const one = termsOf(seed, { uses: 5 });
      joins("pier-9", one);
      hub.put("pier-10", hub.rows.get("pier-9")!.card!, one.text);
    },
    "--accept-new",
  ),
];

t.test("an operator gives nothing to anybody whom a lying hub invents", async (t) => {
  t.ok(LIES.length >= 20);
  await hearLies(t, LIES);
});
