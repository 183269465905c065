import t from "tap";
import { startStaging } from "../../support/hub/staging.ts";

t.test(
  "a key that issues others does not approve what they have staged, nor they what it has, nor each other",
  async (t) => {
    const { hub, newKey, upload, approve, approver } = await startStaging(t);
    const parent = await newKey(["keys", "publish"]);
    const issue = async (by: string) => {
      const json = { name: "child", scopes: ["keys", "publish"] };
      return (await hub.call("POST", "/devkeys/api-keys", { key: by, json })).body.key as string;
    };
    const [first, second] = [await issue(parent.key), await issue(parent.key)];
    const grandchild = await issue(first);
    const family = [parent.key, first, second, grandchild];
    for (const [index, key] of family.entries()) {
      const version = `1.${index}.0`;
      await upload(key, version, "true");
      for (const other of family)
        t.match(await approve(other, version), { status: 403, body: { code: "own_approval" } }, version);
      t.equal((await approve(approver.key, version)).status, 200, "a key of somebody else approves it");
    }
  },
);
