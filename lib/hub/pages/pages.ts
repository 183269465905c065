import { setImmediate } from "node:timers/promises";
import type { FastifyError, FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import { freeBuffer } from "../../support/buffer-pacing.ts";
import type { MountOptions } from "../access/authentication.ts";
import type { PersonKeys } from "../access/person-keys.ts";
import { actAs, type WebCalls } from "../access/web-calls.ts";
import { HubError } from "../ground/errors.ts";
import { answerTo, type UnknownPaths } from "../http/error-answers.ts";
import { Api, callerOf } from "./api.ts";
import type { Archives } from "./archive.ts";
import { ASSETS, assets } from "./assets.ts";
import { compressed } from "./compression.ts";
import type { Desk, PagesParts, Screen } from "./desk.ts";
import { Live } from "./live.ts";
import type { Screens } from "./screens.tsx";
import { pagePaths, type View, withQuery } from "./view.ts";
import { Cookies, requireOwnForm } from "./visitor.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The token of a session that the answer begins; empty for one that it ends. */
    newSession: string | null;
    /** The attempt to sign in that the answer begins; empty for one that it ends. */
    newAttempt: string | null;
  }
}

/** Bytes of a form. */
const MAX_FORM_BYTES = 64 * 1024;

/** Nothing of a page is from elsewhere, and no other site shows it. */
const HEADERS = {
  "content-security-policy": [
    "default-src 'none'",
    ...["script-src", "style-src", "img-src", "connect-src", "form-action"].map((each) => `${each} 'self'`),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; "),
  "x-frame-options": "DENY",
  // Not less: a form's Origin would be null.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "private, no-store",
  vary: "Cookie, Accept-Encoding",
};

const KINDS = ["plugin", "service", "project"] as const;
/** Pages that need no session. */
const PUBLIC = new Set(["/sign-in", pagePaths.signOn(), pagePaths.signedOn(), "/plugins/:slug", "/services/:slug"]);

type ScreenOf = (all: Screens) => Screen;
const get = (url: string, screenOf: ScreenOf) => ({ method: "GET" as const, url, screenOf });
const post = (url: string, screenOf: ScreenOf) => ({ method: "POST" as const, url, screenOf });

const ROUTES = [
  get("/", ({ catalogue }) => catalogue),
  get("/sign-in", ({ askForKey }) => askForKey),
  post("/sign-in", ({ signIn }) => signIn),
  get(pagePaths.signOn(), ({ beginSignOn }) => beginSignOn),
  get(pagePaths.signedOn(), ({ finishSignOn }) => finishSignOn),
  post("/sign-out", ({ signOut }) => signOut),
  ...(["plugin", "service"] as const).flatMap((kind) => [
    get(`/${kind}s/:slug`, ({ target }) => target(kind)),
    get(`/${kind}s/:slug/compare`, ({ compare }) => compare(kind)),
  ]),
  get("/projects", ({ projects }) => projects),
  get("/projects/:slug", ({ project }) => project),
  get("/projects/:slug/hosts", ({ joinedHosts }) => joinedHosts),
  post("/projects/:slug/hosts/invites", ({ inviteHosts }) => inviteHosts),
  post("/projects/:slug/hosts/invites/:invite/revoke", ({ revokeInvite }) => revokeInvite),
  post("/projects/:slug/hosts/:host/approve", ({ approveHost }) => approveHost),
  post("/projects/:slug/hosts/:host/rename", ({ renameHost }) => renameHost),
  post("/projects/:slug/hosts/:host/remove", ({ removeHost }) => removeHost),
  get("/fleets", ({ allFleets }) => allFleets),
  ...KINDS.flatMap((kind) => [
    get(`/${kind}s/:slug/fleet`, ({ fleet }) => fleet(kind)),
    get(`/${kind}s/:slug/fleet/:host`, ({ host }) => host(kind)),
    post(`/${kind}s/:slug/fleet/:host/forget`, ({ forget }) => forget(kind)),
    get(`/${kind}s/:slug/rollouts`, ({ rollouts }) => rollouts(kind)),
    post(`/${kind}s/:slug/yank`, ({ yank }) => yank(kind, "yank")),
    post(`/${kind}s/:slug/unyank`, ({ yank }) => yank(kind, "unyank")),
    post(`/${kind}s/:slug/release`, ({ release }) => release(kind)),
    post(`/${kind}s/:slug/rollouts/:rollout/:action`, ({ actOnRollout }) => actOnRollout(kind)),
  ]),
  get("/keys", ({ keys }) => keys),
  post("/keys", ({ createKey }) => createKey),
  post("/keys/:id/revoke", ({ revokeKey }) => revokeKey),
  get("/webhooks", ({ webhooks }) => webhooks),
  post("/webhooks", ({ addWebhook }) => addWebhook),
  get("/webhooks/:webhook", ({ webhook }) => webhook),
  post("/webhooks/:webhook/test", ({ testWebhook }) => testWebhook),
  post("/webhooks/:webhook/redeliver", ({ redeliver }) => redeliver),
  post("/webhooks/:webhook/rotate", ({ rotateWebhook }) => rotateWebhook),
  post("/webhooks/:webhook/enable", ({ enableWebhook }) => enableWebhook),
  post("/webhooks/:webhook/remove", ({ removeWebhook }) => removeWebhook),
  get("/publishers", ({ publishers }) => publishers),
  post("/publishers", ({ addPublisher }) => addPublisher),
  post("/publishers/:publisher/remove", ({ removePublisher }) => removePublisher),
  get("/quotas", ({ quotas }) => quotas),
  get("/audit", ({ audit }) => audit),
  get("/hub", ({ health }) => health),
];

/** The hub in a browser (docs/web.md). */
export const pages: FastifyPluginAsync<
  MountOptions<PagesParts> & { webCalls: WebCalls; unknownPaths: UnknownPaths; personKeys: PersonKeys }
> = async (root, options) => {
  const { hub, authentication, webCalls, unknownPaths, personKeys } = options;
  const cookies = new Cookies(hub.publicUrl);
  const api = new Api(root, webCalls);
  let archives: Promise<Archives> | undefined;
  const desk: Desk = {
    ...{ hub, authentication, personKeys, api, cookies },
    archives: () => (archives ??= import("./archive.ts").then(({ Archives }) => new Archives(api))),
  };
  const live = new Live(api);
  // A hub whose pages nobody opens does without React.
  const screens = async () => (await import("./screens.tsx")).screens;
  await root.register(assets);
  root.addHook("preClose", (done) => {
    live[Symbol.dispose]();
    done();
  });

  /** The path below which a proxy shows the hub. */
  const base = () => new URL(hub.publicUrl()).pathname.replace(/\/+$/, "");

  await root.register(async (app) => {
    app.decorateRequest("visitor", null);
    app.decorateRequest("newSession", null);
    app.decorateRequest("newAttempt", null);
    app.addContentTypeParser(
      "application/x-www-form-urlencoded",
      { parseAs: "string", bodyLimit: MAX_FORM_BYTES },
      (_request, body, done) => done(null, new URLSearchParams(body as string)),
    );

    const viewOf = (request: FastifyRequest): View => {
      const { principal = undefined, cookie = "" } = request.visitor ?? {};
      const path = request.url.split("?", 1)[0]!;
      const formToken = hub.webSessions.formToken(cookie);
      const issuer = hub.signIn && new URL(hub.signIn.issuer).host;
      const facts = { assets: ASSETS, now: hub.clock(), hubUrl: hub.publicUrl(), issuer };
      return { base: base(), path, principal, formToken, ...facts };
    };

    const send = (request: FastifyRequest, reply: FastifyReply, html: string): FastifyReply => {
      const page = Buffer.allocUnsafeSlow(Buffer.byteLength(html));
      page.write(html);
      const { bytes, encoding } = compressed(request.headers["accept-encoding"], page);
      if (encoding !== undefined) {
        // It would wait for a full collection, with those of all other pages.
        freeBuffer(page);
        void reply.header("content-encoding", encoding);
      }
      return reply.header("content-type", "text/html; charset=utf-8").send(bytes);
    };

    // Only the cookie counts, whatever else a request carries.
    const greet = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      void reply.headers(HEADERS);
      const token = cookies.session(request);
      const session = token === undefined ? undefined : hub.webSessions.read(token);
      const principal = session && (await authentication.live(session.keyHash));
      const keyHash = principal && session.keyHash;
      const subject = principal && session.subject;
      actAs(request, keyHash, subject === undefined ? null : { subject, issuer: hub.signIn!.issuer });
      if (principal !== undefined) authentication.accepted(request, principal);
      const cookie = principal === undefined ? cookies.visit(request, reply) : token!;
      request.visitor = { principal, keyHash, cookie };
    };
    app.addHook("onRequest", greet);

    app.addHook("preHandler", async (request, reply) => {
      if (request.method === "POST") {
        const token = request.body instanceof URLSearchParams ? request.body.get("form_token") : undefined;
        requireOwnForm(request, token, { sessions: hub.webSessions, publicUrl: hub.publicUrl() });
      }
      if (request.visitor?.principal !== undefined || PUBLIC.has(request.routeOptions.url ?? "")) return;
      return reply.redirect(base() + withQuery(pagePaths.signIn(), { next: nextOf(request) }), 303);
    });

    const fail = async (
      error: FastifyError | HubError,
      request: FastifyRequest,
      reply: FastifyReply,
    ): Promise<FastifyReply | undefined> => {
      const told = answerTo(error, request, reply, hub);
      if (told === undefined) return undefined;
      const { failure } = await screens();
      void reply.code(told.statusCode).headers(told.headers);
      return send(request, reply, failure(viewOf(request), error instanceof HubError ? error : told, nextOf(request)));
    };
    app.setErrorHandler<FastifyError>(fail);
    unknownPaths.show = async (error, request, reply) => {
      await greet(request, reply);
      return fail(error, request, reply);
    };

    // Agents ask between any two pages, however many readers come at once.
    let turn: Promise<unknown> = Promise.resolve();
    const nextTurn = (): Promise<unknown> => (turn = turn.then(() => setImmediate()));

    for (const { method, url, screenOf } of ROUTES) {
      app.route({
        method,
        url,
        schema: { hide: true },
        handler: async (request, reply) => {
          await nextTurn();
          const all = await screens();
          const made = await screenOf(all)(desk, request);
          if (request.newSession !== null) cookies.keepSession(request, reply, request.newSession);
          if (request.newAttempt !== null) cookies.keepAttempt(request, reply, request.newAttempt);
          if ("goTo" in made) return reply.redirect(made.isAway === true ? made.goTo : base() + made.goTo, 303);
          await nextTurn();
          return send(request, reply, all.render(viewOf(request), made));
        },
      });
    }

    for (const kind of KINDS) {
      app.get(`/live/${kind}s/:slug`, { schema: { hide: true } }, async (request, reply) => {
        const { watchedTarget } = await screens();
        await live.stream(reply, callerOf(request), await watchedTarget(desk, request, kind));
      });
    }
    app.get("/live/fleets", { schema: { hide: true } }, async (request, reply) => {
      const { watchedFleets } = await screens();
      await live.stream(reply, callerOf(request), await watchedFleets(desk, request));
    });
  });
};

/** The page to go on with after signing in: forms have none. */
const nextOf = ({ method, url }: FastifyRequest): string => (method === "POST" ? "/" : url);
