import t from "tap";
import { type CallOptions, isErrorBody, startHub } from "../../support/hub/harness.ts";
import { invited, ownSecrets, soon } from "../../support/hub/joining.ts";

/** Tokens of another hub, keys in the place of tokens, tokens in the place of keys, and guesses. */

t.test("a hub knows no token of another hub, and takes no other secret for one", async (t) => {
  const [hub, other] = [await startHub(t), await startHub(t)];
  const { project, join, list } = await invited(hub);
  const elsewhere = await invited(other);
  const { token } = await elsewhere.invite({ uses: 10 });
  const guesses = [
    token,
    project.key,
    project.credential,
    hub.adminKey,
    `${token.slice(0, -1)}_`,
    "sjt_",
    "' OR 1=1 --",
  ];
  for (const guess of guesses) isErrorBody(t, await join(guess, "pier-7"), 401, "key_rejected");
  isErrorBody(t, await join("", "pier-7"), 422, "unprocessable");
  t.strictSame(await list(), []);
  const { items } = (await other.call("GET", `${elsewhere.at}/host-invites`)).body;
  t.match(items, [{ used: 0 }]);
});

t.test("a token is not a key: it reads, polls and manages nothing", async (t) => {
  const hub = await startHub(t);
  const { project, at, invite, enter, signers } = await invited(hub);
  const { token } = await invite({ uses: 10 });
  t.equal(await enter(token), 401);
  const tries: [string, string, CallOptions?][] = [
    ["GET", "/devkeys/key"],
    ["GET", `${at}/joined-hosts`],
    ["POST", `${at}/host-invites`, { json: { signers, expires_at: soon() } }],
    ["POST", "/devkeys/api-keys", { json: { name: "more" } }],
    ["GET", `/app/deploy/v1/projects/${project.id}/hosts`],
  ];
  for (const [method, path, rest] of tries)
    isErrorBody(t, await hub.call(method, path, { ...rest, key: token }), 401, "key_rejected");
});

t.test("guesses are limited, and no answer repeats a token or the key beside it", async (t) => {
  const hub = await startHub(t, { rateLimits: { failuresPerMinute: 3 } });
  const { invite, join } = await invited(hub);
  const { token } = await invite({ uses: 10 });
  const statuses: number[] = [];
  for (let guess = 0; guess < 5; guess++) statuses.push((await join(`sjt_guess${"x".repeat(37)}${guess}`, "a")).status);
  t.strictSame(statuses, [401, 401, 401, 429, 429]);
  const own = ownSecrets();
  const answers = [await join(token, "two words", own), await join(token, "pier-7", own)];
  for (const secret of [token, own.key, own.deployment_credential]) t.notMatch(JSON.stringify(answers), secret);
});
