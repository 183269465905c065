/** A trust root whose keys have names that objects of JavaScript already have. */
import t from "tap";
import { parseRoot } from "../../../lib/artifact/trust/root.ts";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { createProject, startHub } from "../../support/hub/harness.ts";
import { isRefusedRoot } from "../../support/hub/refused-roots.ts";

t.test("__proto__, constructor and the like are no ids of keys, roles or names", async (t) => {
  const hub = await startHub(t);
  const { id: project } = await createProject(hub);
  const thief = heldKey();
  const chain = rootChain();
  const [ada] = chain.holders;
  const text = chain.version(1, [heldKey()], { names: { [ada!.id]: "ada" } });
  const key = JSON.stringify(thief.key);
  for (const name of ["__proto__", "\\u005f_proto__", "constructor", "toString", "hasOwnProperty"])
    for (const [what, forged] of [
      ["a key", text.replace('"keys":{', `"keys":{"${name}":${key},`)],
      ["a key that a role names", text.replaceAll(ada!.id, name)],
      ["a role", text.replace('"roles":{', `"roles":{"${name}":{"keyids":["${ada!.id}"],"threshold":1},`)],
      ["a name", text.replace('"x-sealift-names":{', `"x-sealift-names":{"${name}":"thief",`)],
      ["a field", text.replace('"signed":{', `"signed":{"${name}":{"version":2},`)],
      ["a field of the document", text.replace("{", `{"${name}":{},`)],
    ] as const) {
      t.not(forged, text);
      await isRefusedRoot(t, hub, project, forged, `${what} called ${name}`);
    }
  t.ok(parseRoot(text, "root"));
  t.notOk("version" in {}, "and no object has got anything by it");
});
