/** A trust root that says two things: which of them counts would depend on the reader. */
import t from "tap";
import { forgedRoot, heldKey, rootChain, rootIdOf } from "../../support/forged/roots.ts";
import { createProject, startHub } from "../../support/hub/harness.ts";
import { isRefusedRoot } from "../../support/hub/refused-roots.ts";

t.test("a key that stands twice is refused, whichever of the two was signed", async (t) => {
  const hub = await startHub(t);
  const { id: project } = await createProject(hub);
  const [id, holders, signers, thief] = [rootIdOf(), [heldKey()], [heldKey()], heldKey()];
  const { text, document } = forgedRoot({ id, version: 1, holders, signers });
  const stolen = forgedRoot({ id, version: 1, holders: [thief], signers: [thief] }).document;
  for (const [what, twice] of [
    ["signed", text.replace('"signed":', `"signed":${JSON.stringify(stolen.signed)},"signed":`)],
    ["signed, written by escapes", text.replace(/\}$/, `,"\\u0073igned":${JSON.stringify(stolen.signed)}}`)],
    ["version", text.replace('"version":1', '"version":2,"version":1')],
    ["a key of a holder", text.replace(`"${holders[0]!.id}":{`, `"${holders[0]!.id}":${JSON.stringify(thief.key)},$&`)],
    ["roles", text.replace('"roles":', `"roles":${JSON.stringify(stolen.signed.roles)},"roles":`)],
    ["signatures", text.replace('"signatures":', `"signatures":${JSON.stringify(stolen.signatures)},"signatures":`)],
  ] as const) {
    t.not(twice, text);
    t.same(Object.keys(JSON.parse(twice) as object).sort(), Object.keys(document).sort(), "other readers see nothing");
    await isRefusedRoot(t, hub, project, twice, what);
  }
});

t.test("a key that signs twice is refused", async (t) => {
  const hub = await startHub(t);
  const { id: project } = await createProject(hub);
  const chain = rootChain();
  const [ada] = chain.holders;
  await isRefusedRoot(t, hub, project, chain.version(1, [heldKey()], { by: [ada!, ada!] }), "2 signatures of one");
});
