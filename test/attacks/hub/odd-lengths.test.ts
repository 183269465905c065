import t from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";

t.test(
  "an object with a length that cannot be compared, in the place of a text, is refused as any other",
  async (t) => {
    const hub = await startHub(t);
    const odd = { length: [{ toString: "x" }] };
    isErrorBody(
      t,
      await hub.call("POST", "/devkeys/projects", { json: { name: odd, kind: "project" } }),
      422,
      "unprocessable",
    );
    isErrorBody(
      t,
      await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", scopes: odd } }),
      422,
      "unprocessable",
    );
    const session = { xdevkey: odd, project_id: "prj_0123456789" };
    isErrorBody(t, await hub.call("POST", "/app/deploy/v1/auth", { key: null, json: session }), 422, "unprocessable");
  },
);
