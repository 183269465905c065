/** An identity provider on a real socket: OpenID Connect, authorization code with PKCE. */
import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";
import type { Test } from "tap";

export const CLIENT_SECRET = "c1ient-secret";

export interface Issuer {
  url: string;
  /** Claims of everybody who signs in. */
  claims: JWTPayload;
  /** Changes a token before it is signed. */
  change: (claims: JWTPayload) => JWTPayload;
  /** Signs in with a key that is not in the published set. */
  forges: boolean;
  /** Addresses that were asked for. */
  asked: string[];
  /** Signs a token of any claims, as for a workflow run. @param how another key, algorithm or header */
  sign(claims: JWTPayload, how?: { alg?: string; kid?: string; key?: Uint8Array | CryptoKey }): Promise<string>;
  /** Answers a path in place of what is usual. */
  answers: Map<string, (response: ServerResponse) => void>;
  /** The public key of its tokens, as it publishes it. */
  jwk: JWK;
  /** Signs somebody in at the address that a hub leads to. @returns the path of the hub to go back to */
  answer(address: string): string;
}

/** @param host another name of this machine is another site for a browser */
export async function startIssuer(t: Test, host = "127.0.0.1"): Promise<Issuer> {
  const [key, other] = [await generateKeyPair("RS256"), await generateKeyPair("RS256")];
  const jwk = { ...(await exportJWK(key.publicKey)), kid: "1", alg: "RS256", use: "sig" };
  const codes = new Map<string, URLSearchParams>();

  async function token(request: IncomingMessage): Promise<object | undefined> {
    const form = new URLSearchParams(await text(request));
    const asked = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isRight =
      asked?.get("code_challenge") === challenge &&
      asked.get("code_challenge_method") === "S256" &&
      asked.get("redirect_uri") === form.get("redirect_uri") &&
      form.get("client_secret") === CLIENT_SECRET;
    if (!isRight) return undefined;
    const now = Math.floor(Date.now() / 1000);
    const claims = issuer.change({
      ...{ iss: issuer.url, aud: asked.get("client_id")!, nonce: asked.get("nonce"), iat: now, exp: now + 60 },
      ...issuer.claims,
    });
    const signed = new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "1" });
    const id_token = await signed.sign(issuer.forges ? other.privateKey : key.privateKey);
    return { access_token: randomBytes(8).toString("hex"), token_type: "Bearer", id_token };
  }

  const issuer: Issuer = {
    url: "",
    claims: { sub: "alice", groups: ["ops"] },
    change: (claims) => claims,
    forges: false,
    asked: [],
    answers: new Map(),
    jwk,
    sign: (claims, { alg = "RS256", kid = "1", key: signer = key.privateKey } = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg, kid, typ: "JWT" }).sign(signer),
    answer(address) {
      const asked = new URL(address).searchParams;
      const code = randomBytes(8).toString("hex");
      codes.set(code, asked);
      const { pathname } = new URL(asked.get("redirect_uri")!);
      const query = new URLSearchParams({ code, state: asked.get("state")!, iss: issuer.url });
      return `${pathname}?${query.toString()}`;
    },
  };
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    issuer.asked.push(path);
    const send = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const other = issuer.answers.get(path);
    if (other !== undefined) other(response);
    else if (path === "/.well-known/openid-configuration")
      send(200, {
        issuer: issuer.url,
        authorization_endpoint: `${issuer.url}/authorize`,
        token_endpoint: `${issuer.url}/token`,
        jwks_uri: `${issuer.url}/keys`,
        response_types_supported: ["code"],
        authorization_response_iss_parameter_supported: true,
        id_token_signing_alg_values_supported: ["RS256"],
      });
    else if (path === "/keys") send(200, { keys: [jwk] });
    else if (path.startsWith("/authorize")) {
      const { href } = new URL(path, issuer.url);
      const back = new URL(href).searchParams.get("redirect_uri")!;
      response.writeHead(302, { location: new URL(issuer.answer(href), back).href }).end();
    } else
      void token(request).then(
        (made) => (made === undefined ? send(400, { error: "invalid_grant" }) : send(200, made)),
        () => send(500, {}),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  issuer.url = `http://${host}:${(server.address() as AddressInfo).port}`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return issuer;
}
