import { generateKeyPairSync } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, SignJWT } from "jose";
import t from "tap";
import { type Host, startHost, trusted } from "../../../support/runtime/host.ts";

const GUARDED = `export default { routes: [
  { method: "GET", path: "/open", handler: () => "open" },
  { method: "GET", path: "/token", permissions: [], handler: (request) => request.claims.sub },
  { method: "GET", path: "/items", permissions: ["items:read"], handler: () => "items" },
  { method: "POST", path: "/items", permissions: ["items:read", "items:write"], handler: () => { globalThis.handled = true; return "written"; } },
] };`;

async function tokens(host: Host, key: Parameters<SignJWT["sign"]>[0], alg: string) {
  const token = (
    claims: Record<string, unknown> = {},
    change: (jwt: SignJWT) => SignJWT = (jwt) => jwt,
    kid?: string,
  ) =>
    change(
      new SignJWT({ sub: "me", ...claims })
        .setProtectedHeader({ alg, ...(kid !== undefined && { kid }) })
        .setIssuer("https://issuer")
        .setAudience("runtime")
        .setExpirationTime("5m"),
    ).sign(key);
  const ask = async (method: string, path: string, jwt?: string) =>
    host.request(
      method,
      `/plugin/plug${path}`,
      jwt === undefined ? {} : { headers: { authorization: `Bearer ${jwt}` } },
    );
  return { token, ask };
}

t.test("a route's permissions are checked against the bearer token before its handler runs", async (t) => {
  const secret = "0123456789abcdef0123456789abcdef";
  const host = await startHost(t, {
    plugins: { plug: trusted("plug", GUARDED) },
    files: { "jwt.secret": `${secret}\n` },
    configuration: {
      auth: {
        jwt: { algorithms: ["HS256"], issuer: "https://issuer", audience: "runtime", secret_file: "jwt.secret" },
      },
    },
  });
  const key = new TextEncoder().encode(secret);
  const { token, ask } = await tokens(host, key, "HS256");
  t.equal((await ask("GET", "/open")).text, "open");
  t.match(await ask("GET", "/items"), { status: 401, body: { code: "token_missing" } });
  const bad: Record<string, string> = {
    garbage: "abc.def.ghi",
    "another key": await new SignJWT({})
      .setProtectedHeader({ alg: "HS256" })
      .setIssuer("https://issuer")
      .setAudience("runtime")
      .setExpirationTime("5m")
      .sign(new TextEncoder().encode("another key of thirty-two letters")),
    expired: await token({}, (jwt) => jwt.setExpirationTime("-1m")),
    "no expiry": await new SignJWT({ iss: "https://issuer", aud: "runtime", permissions: ["items:read"] })
      .setProtectedHeader({ alg: "HS256" })
      .sign(key),
    issuer: await token({}, (jwt) => jwt.setIssuer("https://other")),
    audience: await token({}, (jwt) => jwt.setAudience("other")),
    "not yet": await token({}, (jwt) => jwt.setNotBefore("5m")),
    algorithm: await tokens(host, new TextEncoder().encode(secret.repeat(2)), "HS512").then((other) =>
      other.token({ permissions: ["items:read"] }),
    ),
    none: `${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from(JSON.stringify({ iss: "https://issuer", aud: "runtime", exp: 9e9, permissions: ["items:read"] })).toString("base64url")}.`,
  };
  for (const [name, jwt] of Object.entries(bad)) {
    t.match(await ask("GET", "/items", jwt), { status: 401, body: { code: "token_invalid" } }, name);
  }
  t.match(await ask("GET", "/items", await token()), { status: 403, body: { code: "forbidden", msg: /items:read/ } });
  t.equal((await ask("GET", "/token", await token())).text, "me");
  t.equal((await ask("GET", "/token")).status, 401, "no permissions named still asks for a token");
  for (const claims of [{ permissions: ["items:read"] }, { roles: ["items:read"] }, { scope: "other items:read" }]) {
    t.equal((await ask("GET", "/items", await token(claims))).status, 200, JSON.stringify(claims));
  }
  t.match(await ask("POST", "/items", await token({ permissions: ["items:read"] })), { status: 403 });
  t.notOk("handled" in globalThis, "the handler has not run");
  t.equal(
    (await ask("POST", "/items", await token({ permissions: ["items:write"], scope: "items:read" }))).text,
    "written",
  );
  delete (globalThis as { handled?: boolean }).handled;
});

t.test("tokens verify with a public key file, and never with that file as a shared secret", async (t) => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = String(publicKey.export({ type: "spki", format: "pem" }));
  const host = await startHost(t, {
    plugins: { plug: trusted("plug", GUARDED) },
    files: { "jwt.pem": pem },
    configuration: {
      auth: {
        jwt: { algorithms: ["ES256"], issuer: "https://issuer", audience: "runtime", public_key_file: "jwt.pem" },
      },
    },
  });
  const { token, ask } = await tokens(host, privateKey, "ES256");
  t.equal((await ask("GET", "/items", await token({ permissions: ["items:read"] }))).status, 200);
  const confused = await tokens(host, new TextEncoder().encode(pem), "HS256");
  t.match(await ask("GET", "/items", await confused.token({ permissions: ["items:read"] })), { status: 401 });
});

t.test("tokens verify with a JWKS, and are refused while it cannot be fetched", async (t) => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const jwk = { ...(await exportJWK(publicKey)), kid: "k1", alg: "EdDSA", use: "sig" };
  let up = true;
  const server = createHttpServer((_request, response) => {
    response.writeHead(up ? 200 : 503, { "content-type": "application/json" });
    response.end(JSON.stringify({ keys: [jwk] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
  const configuration = {
    auth: { jwt: { algorithms: ["EdDSA"], issuer: "https://issuer", audience: "runtime", jwks_url: url } },
  };
  const host = await startHost(t, { plugins: { plug: trusted("plug", GUARDED) }, configuration });
  const { token, ask } = await tokens(host, privateKey, "EdDSA");
  up = false;
  t.match(await ask("GET", "/items", await token({ permissions: ["items:read"] }, undefined, "k1")), { status: 401 });
  up = true;
  t.equal((await ask("GET", "/items", await token({ permissions: ["items:read"] }, undefined, "k1"))).status, 200);
});

t.test("a route with permissions is closed while no auth.jwt is configured", async (t) => {
  const host = await startHost(t, { plugins: { plug: trusted("plug", GUARDED) } });
  t.match(await host.request("GET", "/plugin/plug/items"), { status: 401, body: { code: "auth_not_configured" } });
  t.equal((await host.request("GET", "/plugin/plug/open")).status, 200);
});
