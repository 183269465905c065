import { setImmediate } from "node:timers/promises";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import type { Web } from "../hub/access/web.ts";
import { actAs } from "../hub/access/web-calls.ts";
import { HubError } from "../hub/base/errors.ts";
import { answerTo } from "../hub/http/error-answers.ts";
import { freeBuffer } from "../support/buffer-pacing.ts";
import { HUB_PAGE_POLICY } from "../support/network/content-security.ts";
import { accountPages } from "./account/pages.ts";
import { cataloguePages } from "./catalogue/pages.ts";
import { webFeatures } from "./features.ts";
import type { Page } from "./features/feature.ts";
import { Live } from "./fleets/live.ts";
import { fleetPages } from "./fleets/pages.ts";
import { Api, callerOf } from "./page/api.ts";
import type { Archives } from "./page/archive.ts";
import { ASSETS, assets } from "./page/assets.ts";
import { compressed } from "./page/compression.ts";
import type { PageContext } from "./page/context.ts";
import { linksFor } from "./page/navigation.ts";
import { Refusals, RefusedPage } from "./page/refusals.ts";
import { pagePaths, TARGET_KINDS, type View, withQuery } from "./page/view.ts";
import { Cookies, requireOwnForm } from "./page/visitor.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Token of a session that the answer starts; empty for one that it ends. */
    newSession: string | null;
    /** Attempt to sign in that the answer starts; empty for one that it ends. */
    newAttempt: string | null;
  }
}

/** Largest body of a form, in bytes. */
const MAX_FORM_BYTES = 64 * 1024;

/** Headers of every page: content from its own origin only, no framing, no caching by others. */
const HEADERS = {
  "content-security-policy": HUB_PAGE_POLICY,
  "x-frame-options": "DENY",
  // Not stricter: a form's Origin would be null.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "private, no-store",
  vary: "Cookie, Accept-Encoding",
};

/** Every page and form, those of the core first. */
export const PAGES: readonly Page[] = [
  ...cataloguePages,
  ...fleetPages,
  ...accountPages,
  ...webFeatures.flatMap(({ pages }) => pages),
];
const PUBLIC = new Set(PAGES.filter(({ isPublic }) => isPublic === true).map(({ path }) => path));
const FEATURE_LINKS = webFeatures.flatMap(({ links = [] }) => links);
const TABS = webFeatures.flatMap(({ tabs = [] }) => tabs);

/** Pages of the hub in a browser (docs/hub.md#the-hub-in-a-browser). */
export const pages: Web = async (root, options) => {
  const { hub, authentication, webCalls, unknownPaths, personKeys } = options;
  const cookies = new Cookies(hub.publicUrl);
  const api = new Api(root, webCalls);
  let archives: Promise<Archives> | undefined;
  const context: PageContext = {
    ...{ hub, authentication, personKeys, api, cookies },
    archives: () => (archives ??= import("./page/archive.ts").then(({ Archives }) => new Archives(api))),
  };
  const live = new Live(api);
  // A hub whose pages nobody opens never loads React.
  const rendering = () => import("./page/render.tsx");
  const fleetScreens = () => import("./fleets/fleet-screens.tsx");
  await root.register(assets);
  root.addHook("preClose", (done) => {
    live[Symbol.dispose]();
    done();
  });

  /** Returns the path below which a proxy shows the hub. */
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

    const refusals = new Refusals(app);

    const viewOf = (request: FastifyRequest): View => {
      const { principal = undefined, cookie = "" } = request.visitor ?? {};
      const path = request.url.split("?", 1)[0]!;
      const formToken = hub.webSessions.formToken(cookie);
      const issuer = hub.signIn && new URL(hub.signIn.issuer).host;
      const facts = { assets: ASSETS, now: hub.clock(), hubUrl: hub.publicUrl(), issuer };
      const refused = refusals.of(request);
      return {
        base: base(),
        path,
        principal,
        links: linksFor(principal, FEATURE_LINKS),
        tabs: TABS,
        formToken,
        refused,
        ...facts,
      };
    };

    const send = (request: FastifyRequest, reply: FastifyReply, html: string): FastifyReply => {
      const page = Buffer.allocUnsafeSlow(Buffer.byteLength(html));
      page.write(html);
      const { bytes, encoding } = compressed(request.headers["accept-encoding"], page);
      if (encoding !== undefined) {
        // Otherwise it would wait for a full collection, like those of all other pages.
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
      const answer = answerTo(error, request, reply, hub);
      if (answer === undefined) return undefined;
      const { failure } = await rendering();
      void reply.code(answer.statusCode).headers(answer.headers);
      return send(
        request,
        reply,
        failure(viewOf(request), error instanceof HubError ? error : answer, nextOf(request)),
      );
    };
    app.setErrorHandler<FastifyError>(fail);
    unknownPaths.show = async (error, request, reply) => {
      await greet(request, reply);
      return fail(error, request, reply);
    };

    // Requests of agents are served between any two pages, however many readers there are.
    let turn: Promise<unknown> = Promise.resolve();
    const nextTurn = (): Promise<unknown> => (turn = turn.then(() => setImmediate()));

    for (const { method, path: url, load } of PAGES) {
      app.route({
        method,
        url,
        schema: { hide: true },
        handler: async (request, reply) => {
          await nextTurn();
          const screen = await load();
          const made = await screen(context, request).catch(async (error: unknown) => {
            const again = error instanceof HubError ? await refusals.pageOf(request, error) : undefined;
            if (again === undefined) throw error;
            return again;
          });
          if (made instanceof RefusedPage) {
            void reply.code(made.statusCode).headers(made.headers);
            return send(request, reply, made.html);
          }
          if (request.newSession !== null) cookies.keepSession(request, reply, request.newSession);
          if (request.newAttempt !== null) cookies.keepAttempt(request, reply, request.newAttempt);
          if ("goTo" in made) return reply.redirect(made.isAway === true ? made.goTo : base() + made.goTo, 303);
          await nextTurn();
          const { render } = await rendering();
          return send(request, reply, render(viewOf(request), made));
        },
      });
    }

    for (const kind of TARGET_KINDS) {
      app.get(`/live/${kind}s/:slug`, { schema: { hide: true } }, async (request, reply) => {
        const { watchedTarget } = await fleetScreens();
        await live.stream(reply, callerOf(request), await watchedTarget(context, request, kind));
      });
    }
    app.get("/live/fleets", { schema: { hide: true } }, async (request, reply) => {
      const { watchedFleets } = await fleetScreens();
      await live.stream(reply, callerOf(request), await watchedFleets(context, request));
    });
  });
};

/** Returns the page to continue with after signing in: forms have none. */
const nextOf = ({ method, url }: FastifyRequest): string => (method === "POST" ? "/" : url);
