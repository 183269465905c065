import pino from "pino";
import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";

t.test("what is not a token is refused, and stands in no answer and no log", async (t) => {
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(line) });
  const { hub, trust, run, exchange } = await startWorkflow(t, { logger });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await trust({ target: "plugin:tide" });
  const good = await run();
  const [header = "", payload = "", signature = ""] = good.split(".");
  const deep = Buffer.from(`{"a":${"[".repeat(5000)}`).toString("base64url");
  const tokens = [
    ...[
      "x",
      "a.b.c",
      "..",
      `${header}.${payload}`,
      `${header}.${payload}.${signature}.x`,
      `${header}.${deep}.${signature}`,
    ],
    ...[
      `${header}.bnVsbA.${signature}`,
      `${payload}.${header}.${signature}`,
      `${header}.${payload}.${signature.slice(1)}`,
    ],
  ];
  for (const token of tokens) {
    const answer = await exchange("plugin:tide", token);
    t.match([401, 403].includes(answer.status), true, `${token.slice(0, 40)}: ${answer.status}`);
  }
  t.equal((await exchange("plugin:tide", "y".repeat(20_000))).status, 422);
  t.equal((await exchange("plugin:", "y")).status, 422);
  t.equal((await exchange("plugin:tide", good)).status, 201);
  t.notOk(
    lines.some((line) => line.includes(signature)),
    "no token in the log",
  );
});

t.test("a signed token with a claim of another kind is refused, and the answer names the claim", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  await trust({ target: "plugin:tide" });
  const refused = async (changes: Record<string, unknown>, detail: RegExp): Promise<void> => {
    const answer = await exchange("plugin:tide", await run(changes));
    t.match(answer, { status: 401, body: { code: "key_rejected", detail } }, JSON.stringify(changes));
  };
  for (const sub of [{ a: 1 }, ["a"], 7, true, null]) await refused({ sub }, /a subject \(sub\) that is not text/);
  for (const claim of ["iat", "exp"]) await refused({ [claim]: undefined }, new RegExp(`lacks the claim ${claim}`));
  for (const claim of ["iat", "exp", "nbf"]) await refused({ [claim]: "x" }, new RegExp(`malformed claim ${claim}`));
  t.equal((await exchange("plugin:tide", await run({ sub: undefined }))).status, 201, "none at all is no fault");
});
